//===- Progress.cpp - Where a training run is -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers have as many digits as it takes to read back the same value.
//===----------------------------------------------------------------------===//

#include "runtime/train/Progress.h"

#include <array>
#include <charconv>

namespace shardc::runtime {

static constexpr const char *stepKey = "training.step";

template <typename T>
static std::string textOf(T number) {
  std::array<char, 64> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), end);
}

void Progress::writeTo(format::Metadata &metadata) const {
  metadata[stepKey] = textOf(step);
  metadata["training.samples"] = textOf(samples);
  metadata["training.seed"] = textOf(seed);
  metadata["training.learning_rate"] = textOf(learningRate);
  metadata["training.weight_decay_scale"] = textOf(weightDecayScale);
  metadata["training.slices"] = textOf(slices);
  metadata["training.data"] = data;
}

/// Reads one number, or says which is missing or malformed.
template <typename T>
static Status readNumber(const format::Metadata &metadata, const char *key,
                         const std::string &name, T &target) {
  const auto found = metadata.find(key);
  const auto malformed = [&](const std::string &what) {
    return Status(ErrorCode::E0404,
                  "'" + name + "': metadata '" + key + "' " + what);
  };
  if (found == metadata.end())
    return malformed("is missing");
  const std::string &text = found->second;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), target);
  if (error != std::errc() || end != text.data() + text.size() || target < 0)
    return malformed("is '" + text +
                     "', expected a number that is not "
                     "negative");
  return Status();
}

StatusOr<std::optional<Progress>>
Progress::read(const format::Metadata &metadata, const std::string &name) {
  if (metadata.find(stepKey) == metadata.end())
    return std::optional<Progress>();
  Progress progress;
  Status status = readNumber(metadata, stepKey, name, progress.step);
  const auto next = [&](const char *key, auto &target) {
    if (status.ok())
      status = readNumber(metadata, key, name, target);
  };
  next("training.samples", progress.samples);
  next("training.seed", progress.seed);
  next("training.learning_rate", progress.learningRate);
  next("training.weight_decay_scale", progress.weightDecayScale);
  next("training.slices", progress.slices);
  if (!status.ok())
    return status;
  if (const auto data = metadata.find("training.data"); data != metadata.end())
    progress.data = data->second;
  return std::optional(progress);
}

} // namespace shardc::runtime
