//===- KernelPhase.cpp - Kernels, library calls and views on tensors ------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the interpreter does with the exec dialect between the kernel and the
// memory phase. Values are tensors, without a layout; only a view looks at the
// bytes of its source, in the layout that the source is stored in.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/Interpreter.h"
#include "dialects/Reference/KernelEvaluation.h"
#include "dialects/Reference/LibraryEvaluation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc::reference {

/// Element i of the result is the source's element `places[i]`.
template <typename T>
static void copyPlaces(ArrayRef<T> source, MutableArrayRef<T> result,
                       ArrayRef<int64_t> places) {
  for (auto [element, place] : llvm::zip_equal(result, places))
    element = source[place];
}

/// For each element of a view, the source's element that it is.
static std::vector<int64_t> placesOf(exec::ViewOp view) {
  auto source = cast<RankedTensorType>(view.getSource().getType());
  auto type = cast<RankedTensorType>(view.getType());
  SmallVector<int64_t> strides = exec::getStrides(view.getSource());
  std::vector<int64_t> elementAt(exec::getSpan(source.getShape(), strides));
  for (IndexWalk walk(source.getShape()); walk; ++walk)
    elementAt[dot(*walk, strides)] = walk.linear();
  std::vector<int64_t> places;
  for (IndexWalk walk(type.getShape()); walk; ++walk)
    places.push_back(
        elementAt[view.getOffset() + dot(*walk, view.getStrides())]);
  return places;
}

static Tensor viewed(const Tensor &source, RankedTensorType type,
                     ArrayRef<int64_t> places) {
  Tensor result(type);
  if (source.isFloat())
    copyPlaces(source.floats(), result.mutableFloats(), places);
  else if (source.isInteger())
    copyPlaces(source.integers(), result.mutableIntegers(), places);
  else
    copyPlaces(source.complexes(), result.mutableComplexes(), places);
  result.round(); // Of other integers, the same bits.
  return result;
}

/// Runs `evaluate` for every rank on the operands' tensors.
static LogicalResult
forEachRank(ArrayRef<RankTensors> operands, int64_t ranks,
            MutableArrayRef<RankTensors> results,
            function_ref<LogicalResult(ArrayRef<BoundedTensor>,
                                       SmallVectorImpl<BoundedTensor> &)>
                evaluate) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<BoundedTensor> inputs, computed;
    for (const RankTensors &operand : operands)
      inputs.push_back({operand[operand.size() == 1 ? 0 : rank], {}});
    if (failed(evaluate(inputs, computed)))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(results, computed))
      result.push_back(tensor.tensor);
  }
  return success();
}

LogicalResult Interpreter::visitExec(Operation *op) {
  SmallVector<RankTensors> operands, results(op->getNumResults());
  for (Value operand : op->getOperands())
    operands.push_back(take(operand));
  LogicalResult done =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](exec::KernelOp kernel) {
            return forEachRank(operands, countRanks(operands), results,
                               [&](auto inputs, auto &computed) {
                                 return evaluateKernel(kernel.getBody(), inputs,
                                                       computed);
                               });
          })
          .Case([&](exec::LibraryOp library) {
            LibraryCallSite site{
                library, library.getCall(), library.getSettings(), {}};
            for (Type type : library.getResultTypes())
              site.results.push_back(cast<RankedTensorType>(type));
            return forEachRank(operands, countRanks(operands), results,
                               [&](auto inputs, auto &computed) {
                                 return evaluateLibraryCall(site, inputs, table,
                                                            computed);
                               });
          })
          .Case([&](exec::ViewOp view) {
            std::vector<int64_t> places = placesOf(view);
            for (const Tensor &source : operands[0])
              results[0].push_back(viewed(
                  source, cast<RankedTensorType>(view.getType()), places));
            return success();
          })
          .Default([](Operation *other) {
            return emitNumberedError(other, "E0142")
                   << "the reference interpreter has no meaning for "
                   << other->getName();
          });
  if (failed(done))
    return failure();
  for (auto [result, tensors] : llvm::zip_equal(op->getResults(), results))
    define(result, std::move(tensors));
  return success();
}

} // namespace shardc::reference
