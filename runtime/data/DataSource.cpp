//===- DataSource.cpp - where training samples come from ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses the kind of source by its name.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/DataSource.h"

namespace shardc::runtime {

Status DataSource::readRange(size_t input, int64_t first, int64_t count,
                             int64_t sampleBytes, std::byte *target) const {
  for (int64_t i = 0; i < count; ++i)
    if (Status status =
            read(input, (first + i) % samples(), target + i * sampleBytes);
        !status.ok())
      return status;
  return Status();
}

DataSourceOr openData(const std::string &name,
                      const std::vector<format::Input> &inputs, uint64_t seed) {
  const std::string tokens = "tokens:";
  if (name == "random")
    return openRandomData(inputs, seed);
  if (name.starts_with(tokens))
    return openTokenData(name.substr(tokens.size()), inputs);
  if (name.ends_with(".npy"))
    return openNpyData(name, inputs);
  if (name.ends_with(".safetensors"))
    return openSafetensorsData(name, inputs);
  return Status(ErrorCode::E0001, "unknown kind of data '" + name + "'")
      .setHelp("data is random, tokens:FILE, FILE.npy or FILE.safetensors");
}

} // namespace shardc::runtime
