//===- DataSource.h - where training samples come from ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Samples by number: a window of a token file, a row of an array, or random
// numbers. Which rank trains on which sample is decided elsewhere
// (train/SampleOrder.h); a source gives sample i to whoever asks for it.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DATA_DATASOURCE_H
#define SHARDC_RUNTIME_DATA_DATASOURCE_H

#include "runtime/format/Parameters.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A sample is one element of dimension 0 of every input. Thread-safe.
class DataSource {
public:
  virtual ~DataSource() = default;

  /// How many different samples there are; at least 1.
  virtual int64_t samples() const = 0;

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

/// Opens what `--data` names: "random", "tokens:FILE", FILE.npy or
/// FILE.safetensors. `inputs` must outlive the source. Fails with E0001 if it
/// is none of these, and with E0403 … E0406 if it does not fit the inputs.
DataSourceOr openData(const std::string &name,
                      const std::vector<format::Input> &inputs, uint64_t seed);

/// Samples drawn from a normal distribution, or uniformly below the bound of
/// an integer input. Sample i is the same for every world size.
DataSourceOr openRandomData(const std::vector<format::Input> &inputs,
                            uint64_t seed);

/// Windows of consecutive tokens: with T the length of an input, sample i is
/// tokens [i * T, i * T + T) for the first input and, one further, for the
/// second. The file holds little-endian uint16 numbers, or is a .npy array of
/// integers with one dimension.
DataSourceOr openTokenData(const std::string &path,
                           const std::vector<format::Input> &inputs);

/// Rows of the tensors of a safetensors file, found by the inputs' names or as
/// input0, input1, …
DataSourceOr openSafetensorsData(const std::string &path,
                                 const std::vector<format::Input> &inputs);

/// Rows of the array of a .npy file, for models with one input. An array of
/// integers with one dimension is taken as tokens when the model has two
/// inputs.
DataSourceOr openNpyData(const std::string &path,
                         const std::vector<format::Input> &inputs);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DATA_DATASOURCE_H
