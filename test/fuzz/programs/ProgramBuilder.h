//===- ProgramBuilder.h - A random program under construction -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the entries of the operator table build with: the values that a program
// has so far, operands of a wanted shape, parameters, buffers and inputs. Every
// operation is evaluated on one sample of data as soon as it is built, so that
// an entry can see what its operands hold: values keep a tame magnitude, and
// what would divide by a variance of zero is not built.
//
// Programs are flat, as translation leaves them: each operation names the
// modules that it ran under, and the import phase makes regions of them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMBUILDER_H
#define SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMBUILDER_H

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/EvaluationTable.h"
#include "passes/Import/ModuleStack.h"
#include "test/fuzz/programs/RandomSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseSet.h"

namespace shardc::fuzz {

using Shape = llvm::SmallVector<int64_t>;

class ProgramBuilder {
public:
  /// No tensor of a program has more elements or dimensions.
  static constexpr int64_t maxElements = 3000;
  static constexpr int64_t maxRank = 5;

  /// Begins a program whose parameters and inputs have `element`.
  ProgramBuilder(mlir::MLIRContext &context, RandomSource random,
                 mlir::FloatType element, int64_t batch);

  RandomSource &getRandom() { return random; }
  mlir::FloatType getElement() const { return element; }
  int64_t getBatch() const { return batch; }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  /// Builds an operator, its types inferred, in the current module.
  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    auto op =
        Op::create(builder, location, std::forward<Arguments>(arguments)...);
    record(op);
    return op;
  }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::FloatAttr floatAttribute(double value) {
    return builder.getF64FloatAttr(value);
  }

  /// What `value` is for the sample.
  const reference::Tensor &sampleOf(mlir::Value value) const {
    return samples.find(value)->second;
  }
  /// Whether a gradient flows to `value`: it depends on a trainable parameter.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Whether the sample of `value` is not constant along `dims`, anywhere.
  bool isVaried(mlir::Value value, llvm::ArrayRef<int64_t> dims) const;

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// A value of the program's element type, rather a late one; fails only when
  /// none satisfies `isWanted`.
  mlir::Value
  pick(llvm::function_ref<bool(mlir::RankedTensorType)> isWanted = {});
  /// Any value, or null.
  mlir::Value pickActive();

  /// A value of `shape`, found, cut or put together from others, or a new
  /// parameter, input or constant.
  mlir::Value operand(llvm::ArrayRef<int64_t> shape);
  /// Puts no operand together from parts.
  void avoidJoins() { isJoining = false; }

  /// Lets later operations use `value`, scaled where its magnitude is far from
  /// 1. Nothing happens, and false is returned, when its sample is zero
  /// everywhere or not finite.
  bool offer(mlir::Value value);

  /// The values on offer; a scope shrinks them again.
  llvm::ArrayRef<mlir::Value> getValues() const { return values; }
  void setValues(llvm::ArrayRef<mlir::Value> list) {
    values.assign(list.begin(), list.end());
  }

  //===--------------------------------------------------------------------===//
  // State and inputs
  //===--------------------------------------------------------------------===//

  /// A parameter of `shape` that is read: a new one, trainable or frozen, or
  /// one that is used elsewhere too.
  mlir::Value parameter(llvm::ArrayRef<int64_t> shape);
  /// Declares a parameter that nothing reads.
  void addUnusedParameter();
  /// A read of a new buffer; its name is appended to the module's.
  mlir::Value buffer(llvm::StringRef name, mlir::RankedTensorType type);
  /// The read that gave `value` its buffer; null for another value.
  fsdp::ReadOp bufferOf(mlir::Value value) const;
  /// Writes `value` to the buffer that `read` read.
  void write(fsdp::ReadOp read, mlir::Value value);
  /// A floating-point input [batch, ...]; a new one or an earlier one.
  mlir::Value input(llvm::ArrayRef<int64_t> shape);
  /// An input of class or row numbers below `bound`, of `shape` [batch, ...].
  mlir::Value indexInput(llvm::ArrayRef<int64_t> shape, int64_t bound);

  /// A number of the run that is an i64; 0 in the sample.
  mlir::Value runNumber(fsdp::Scalar name);

  //===--------------------------------------------------------------------===//
  // Modules
  //===--------------------------------------------------------------------===//

  void enterModule(llvm::StringRef name, llvm::StringRef type);
  void leaveModule() { frames.pop_back(); }
  /// The path of the current module, empty for the root.
  std::string modulePath() const;

  /// Ends the program with `loss`.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::Value loss);

private:
  RandomSource random;
  mlir::FloatType element;
  int64_t batch;
  bool isJoining = true;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location location;
  reference::EvaluationTable table;
  llvm::SmallVector<ModuleFrame> frames;
  llvm::SmallVector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, reference::Tensor> samples;
  llvm::DenseSet<mlir::Value> active;
  llvm::SmallVector<fsdp::ParameterOp> parameters;
  llvm::SmallVector<reference::Tensor> parameterSamples;
  llvm::StringMap<int64_t> calls;

  void record(mlir::Operation *op);
  mlir::Value record(mlir::Operation *op, reference::Tensor sample);
  reference::Tensor drawSample(mlir::RankedTensorType type, double low,
                               double high, int64_t bound);
  std::string uniqueName(llvm::StringRef name);
  fsdp::ParameterOp declareParameter(llvm::ArrayRef<int64_t> shape);
  mlir::Value read(llvm::StringRef symbol, mlir::RankedTensorType type,
                   reference::Tensor sample);
  mlir::Value addInput(mlir::RankedTensorType type, reference::Tensor sample);
  mlir::RankedTensorType tensorOf(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Value reshaped(llvm::ArrayRef<int64_t> shape);
  mlir::Value expanded(llvm::ArrayRef<int64_t> shape);
  mlir::Value cut(llvm::ArrayRef<int64_t> shape);
  mlir::Value joined(llvm::ArrayRef<int64_t> shape);
};

inline int64_t elementsOf(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_PROGRAMBUILDER_H
