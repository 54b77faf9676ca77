//===- ReferenceStep.cpp - The unsharded step in the interpreter ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executions, and what is read from the state after them.
//===----------------------------------------------------------------------===//

#include "tools/verify/ReferenceStep.h"

#include "dialects/Fsdp/Fsdp.h"

#include <cmath>
#include <utility>

using namespace mlir;

namespace shardc::verify {

using reference::ShardedState;
using reference::Tensor;

ReferenceStep::ReferenceStep(ModuleOp module, int64_t ranks,
                             int64_t microBatches, double learningRate,
                             uint64_t seed)
    : interpreter(module, ranks), ranks(ranks) {
  getState().microBatches = microBatches;
  getState().learningRate = learningRate;
  getState().seed = seed;
  SymbolTable symbols(module);
  module.walk([&](fsdp::TakeShardOp take) {
    auto group = symbols.lookup<fsdp::GroupOp>(take.getGroup());
    auto segments = group.getBody().getOps<fsdp::SegmentOp>();
    auto segment = *std::next(segments.begin(), take.getSegment());
    for (auto member : segment.getBody().getOps<fsdp::MemberOp>())
      matrices.push_back(member.getParameter().str());
  });
}

static Observed observe(const Twine &what, int64_t rank, const Tensor &tensor) {
  Observed observed{what.str(), rank, {}, 0};
  observed.unitRoundoff = reference::unitRoundoff(tensor.getElementType());
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (!tensor.isComplex()) {
      observed.values.push_back(tensor.number(i));
      continue;
    }
    observed.values.push_back(tensor.complexes()[i].real());
    observed.values.push_back(tensor.complexes()[i].imag());
  }
  return observed;
}

/// Of each rank, over micro-batches.
FailureOr<std::vector<Observed>>
ReferenceStep::sumLosses(const StepInputs &inputs, StringRef name, Run run) {
  std::vector<Observed> losses(ranks);
  for (const SmallVector<reference::RankTensors> &microBatch : inputs) {
    FailureOr<reference::Execution> execution = run(microBatch);
    if (failed(execution))
      return failure();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Observed loss = observe(name, rank, (*execution->losses)[rank]);
      if (!losses[rank].values.empty())
        loss.values[0] += losses[rank].values[0];
      losses[rank] = loss;
    }
  }
  return losses;
}

FailureOr<std::vector<Observed>>
ReferenceStep::evaluate(const StepInputs &inputs,
                        std::optional<reference::Perturbation> perturbation) {
  interpreter.setPerturbation(perturbation);
  return sumLosses(inputs, "evaluation loss",
                   [&](ArrayRef<reference::RankTensors> batch) {
                     return interpreter.evaluate(batch);
                   });
}

FailureOr<std::vector<Observed>>
ReferenceStep::accumulate(const StepInputs &inputs,
                          std::optional<reference::Perturbation> perturbation) {
  const ShardedState before = getState();
  interpreter.setPerturbation(perturbation);
  FailureOr<std::vector<Observed>> losses =
      sumLosses(inputs, "loss", [&](ArrayRef<reference::RankTensors> batch) {
        return interpreter.accumulate(batch);
      });
  if (failed(losses))
    return failure();
  std::vector<Observed> all = std::move(*losses);
  const ShardedState &state = getState();
  for (const std::string &name : state.getNames()) {
    if (state.isTrained(name)) {
      all.push_back(observe("gradient " + name, -1,
                            state.getKept(ShardedState::gradientKey, name)));
      double narrow = reference::unitRoundoff(state.getGradientType(name));
      if (narrow > all.back().unitRoundoff)
        all.back().narrowRoundoff = narrow;
    }
    for (int64_t rank = 0; state.isBuffer(name) && rank < ranks; ++rank)
      all.push_back(observe("buffer " + name, rank, state.get(name, rank)));
  }
  getState() = before;
  return all;
}

LogicalResult ReferenceStep::update() {
  interpreter.setPerturbation(std::nullopt);
  return success(succeeded(interpreter.update()));
}

FailureOr<std::vector<Observed>> ReferenceStep::updateMatrices(
    std::optional<reference::Perturbation> perturbation) {
  const ShardedState before = getState();
  interpreter.setPerturbation(perturbation);
  if (failed(interpreter.update()))
    return failure();
  std::vector<Observed> updated;
  // Computed in f32 and rounded last: a step may be less than what bf16 tells
  // of the largest element.
  constexpr double f32Roundoff = 0x1p-24;
  for (const std::string &name : matrices) {
    updated.push_back(
        observe("parameter " + name, -1,
                getState().getKept(ShardedState::parameterKey, name)));
    double &roundoff = updated.back().unitRoundoff;
    if (roundoff > f32Roundoff)
      updated.back().narrowRoundoff = std::exchange(roundoff, f32Roundoff);
  }
  getState() = before;
  return updated;
}

bool hasDiverged(ArrayRef<Observed> tensors) {
  constexpr double f32Roundoff = 0x1p-24, root = 0x1p63;
  return llvm::any_of(tensors, [&](const Observed &tensor) {
    return tensor.unitRoundoff >= f32Roundoff &&
           llvm::any_of(tensor.values, [&](double value) {
             return !(std::abs(value) < root);
           });
  });
}

} // namespace shardc::verify
