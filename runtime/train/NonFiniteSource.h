//===- NonFiniteSource.h - Where a step's first NaN is from ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step that stops because its loss is not finite is run once more, and what
// each command wrote is looked at: the first NaN names the module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_NONFINITESOURCE_H
#define SHARDC_RUNTIME_TRAIN_NONFINITESOURCE_H

#include "runtime/train/FiniteCheck.h"
#include "runtime/train/FloatKinds.h"

namespace shardc::runtime {

/// The first of a rank's values that are NaN or, if none is, infinite.
struct NonFiniteSource {
  FloatKind kind = FloatKind::Finite;
  /// In the order of the step: sections that were run, then commands. States
  /// and inputs come before commands.
  std::pair<int64_t, int64_t> place;
  /// For users: "the first NaN is made in module 'head', in 'log'". Of no
  /// search, what else may be the reason.
  std::string text = "a loss is also NaN where PyTorch raises: at an index out "
                     "of range, an integer divided by 0, a failed assertion";

  /// Whether it says more of why a step failed.
  bool precedes(const NonFiniteSource &other) const {
    return kind != other.kind ? kind > other.kind : place < other.place;
  }
};

/// One rank's search; the device runs commands when they are enqueued.
class NonFiniteSearch {
public:
  NonFiniteSearch(const format::Artifact &artifact, const RankMemory &memory)
      : artifact(artifact), memory(memory) {}

  /// Looks at parameters and buffers, before the step.
  void lookAtStates(const FiniteCheck &parameters);
  /// Looks at the inputs of the micro-batch that section run `run` takes.
  void lookAtInputs(int64_t run);
  /// Looks at what a command wrote that has just run.
  void lookAtCommand(int64_t run, int64_t number);

  const NonFiniteSource &source() const { return found; }

private:
  FloatKind kindOf(DeviceAddress begin, int64_t count,
                   format::Dtype dtype) const;
  FloatKind kindOf(const format::TensorReference &tensor) const;
  FloatKind worstRead(const format::Command &command,
                      const std::vector<format::Access> &accesses) const;
  const format::Command *
  falseCondition(int64_t number,
                 const std::vector<format::Access> &accesses) const;
  void note(FloatKind kind, int64_t run, int64_t number, std::string text);

  const format::Artifact &artifact;
  const RankMemory &memory;
  NonFiniteSource found;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_NONFINITESOURCE_H
