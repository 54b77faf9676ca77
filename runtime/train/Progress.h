//===- Progress.h - Where a training run is -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a run needs besides its states to go on with the same bits, as strings
// in the metadata of a safetensors file: how many steps are done, how many
// samples they took, and the seed. Options that the next run may choose anew
// are kept too, so that a difference can be pointed out.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_PROGRESS_H
#define SHARDC_RUNTIME_TRAIN_PROGRESS_H

#include "runtime/format/Safetensors.h"

#include <optional>

namespace shardc::runtime {

struct Progress {
  /// Whole steps since training began.
  int64_t step = 0;
  /// Samples that they took from the data.
  int64_t samples = 0;
  uint64_t seed = 0;

  /// Of the last run.
  double learningRate = 0;
  double weightDecayScale = 1;
  /// Ranks times micro-batches of each, in a step.
  int64_t slices = 1;
  std::string data;

  /// "training.step", "training.samples", ….
  void writeTo(format::Metadata &metadata) const;

  /// None if the file is not of a run that can go on. Fails with E0404,
  /// beginning with `name`.
  static StatusOr<std::optional<Progress>>
  read(const format::Metadata &metadata, const std::string &name);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_PROGRESS_H
