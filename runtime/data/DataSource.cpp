//===- DataSource.cpp - Where training samples come from ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses the kind of source by its name.
//===----------------------------------------------------------------------===//

#include "runtime/data/DataSource.h"
#include "runtime/data/FileList.h"

#include <filesystem>

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
                      const std::vector<format::Input> &inputs, uint64_t seed,
                      std::optional<int64_t> tokenShift) {
  const std::string tokens = "tokens:";
  std::error_code error;
  if (name == "random")
    return openRandomData(inputs, seed);
  if (name.starts_with(tokens))
    return openTokenData(name.substr(tokens.size()), inputs, tokenShift);
  if (name.ends_with(".npy"))
    return openNpyData(name, inputs, tokenShift);
  if (name.ends_with(".safetensors"))
    return openSafetensorsData(splitList(name), inputs);
  if (std::filesystem::is_directory(name, error)) {
    const StatusOr<std::vector<std::string>> files =
        filesOf(name, ".safetensors");
    if (!files.ok())
      return files.status();
    return openSafetensorsData(*files, inputs);
  }
  if (name.ends_with('/'))
    return Status(ErrorCode::E0403, "no folder '" + name + "'");
  if (std::filesystem::is_regular_file(name, error) && name.ends_with(".bin"))
    return Status(ErrorCode::E0001, "unknown kind of data '" + name +
                                        "'; did you mean 'tokens:" + name +
                                        "'?");
  return Status(ErrorCode::E0001, "unknown kind of data '" + name + "'")
      .setHelp("data is random, tokens:FILE, FILE.npy, FILE.safetensors or a "
               "folder of .safetensors files");
}

} // namespace shardc::runtime
