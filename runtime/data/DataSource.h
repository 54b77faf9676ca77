//===- DataSource.h - Where training samples come from --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Samples by number: a window of a token file, a row of an array, or random
// numbers. Which rank trains on which sample is decided elsewhere
// (train/SampleOrder.h); a source gives sample i to whoever asks for it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DATA_DATASOURCE_H
#define SHARDC_RUNTIME_DATA_DATASOURCE_H

#include "runtime/format/Parameters.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A sample is one element of dimension 0 of every input or, where those have
/// different sizes, a whole micro-batch (format::samplesOfMicroBatch).
/// Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;

  /// How many different samples there are; at least 1.
  virtual int64_t samples() const = 0;

  /// Whether there are as many as anybody asks for.
  bool isEndless() const {
    return samples() == std::numeric_limits<int64_t>::max();
  }

  /// What the samples are, in a line for people.
  virtual std::string description() const { return {}; }

  /// The files that are read.
  virtual std::vector<std::string> files() const { return {}; }

  /// Writes input `input` of sample `sample` to `target`, in the input's dtype
  /// and row-major. Fails with E0407 if a value exceeds the input's bound.
  virtual Status read(size_t input, int64_t sample,
                      std::byte *target) const = 0;

  /// Writes samples [first, first + count) one behind the other, starting over
  /// at the end of the data.
  Status readRange(size_t input, int64_t first, int64_t count,
                   int64_t sampleBytes, std::byte *target) const;
};

using DataSourceOr = StatusOr<std::unique_ptr<DataSource>>;

/// Opens what `--data` names: "random", "tokens:FILE", FILE.npy,
/// FILE.safetensors, several of those separated by commas, or a folder of them.
/// `inputs` must outlive the source. Every integer that has a bound is looked
/// at. Fails with E0001 if it is none of these, and with E0403 … E0407 if it
/// does not fit the inputs.
DataSourceOr openData(const std::string &name,
                      const std::vector<format::Input> &inputs, uint64_t seed,
                      std::optional<int64_t> tokenShift = {});

/// Samples drawn from a normal distribution, or uniformly below the bound of
/// an integer input. Sample i is the same for every world size.
DataSourceOr openRandomData(const std::vector<format::Input> &inputs,
                            uint64_t seed);

/// Windows of consecutive tokens of FILE[,FILE…]: with T the length of an
/// input, sample i of a file is tokens [i * T, i * T + T) for the input that is
/// the tokens by its name or place, and those `tokenShift` further for its
/// target: by default 1, or 0 if the model shifts it itself. A file holds
/// little-endian uint16 numbers, is a .npy array of integers with one
/// dimension, or has llm.c's header; "uint16:", "uint32:" and "bin-header:"
/// before the first say which.
DataSourceOr openTokenData(const std::string &text,
                           const std::vector<format::Input> &inputs,
                           std::optional<int64_t> tokenShift = {});

/// Rows of the tensors of safetensors files, found by the inputs' names or as
/// input0, input1, …; those of a file are followed by those of the next.
DataSourceOr openSafetensorsData(const std::vector<std::string> &paths,
                                 const std::vector<format::Input> &inputs);

/// Rows of the array of a .npy file, for models with one input. An array of
/// integers with one dimension is taken as tokens when the model has more.
DataSourceOr openNpyData(const std::string &path,
                         const std::vector<format::Input> &inputs,
                         std::optional<int64_t> tokenShift = {});

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DATA_DATASOURCE_H
