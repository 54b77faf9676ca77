//===- RunFiles.cpp - What a training run reads and writes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at files before a run begins.
//===----------------------------------------------------------------------===//

#include "runtime/train/RunFiles.h"
#include "runtime/format/OutputFile.h"

#include <filesystem>

namespace shardc::runtime {

namespace fs = std::filesystem;

Status checkSaveName(const std::string &path) {
  const fs::path extension = fs::path(path).extension();
  if (extension.empty() || extension == ".safetensors")
    return Status();
  return Status(ErrorCode::E0002,
                "--save writes safetensors: the name must end in .safetensors, "
                "got '" +
                    path + "'");
}

Status probeOutput(const std::string &path, uint64_t bytes) {
  if (Status status = format::OutputFile(path).status(); !status.ok())
    return status;
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  const fs::space_info space = fs::space(folder.empty() ? "." : folder, error);
  if (!error && space.available < bytes)
    return Status(ErrorCode::E0601,
                  "cannot write '" + path + "': it needs " +
                      std::to_string(bytes) + " bytes, and the disk has " +
                      std::to_string(space.available) + " left");
  return Status();
}

StatusOr<std::string> keepAside(const std::string &path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0)
    return std::string();
  int64_t number = 1;
  while (fs::exists(path + "." + std::to_string(number), error))
    ++number;
  const std::string kept = path + "." + std::to_string(number);
  fs::rename(path, kept, error);
  if (error)
    return Status(ErrorCode::E0601, "cannot rename '" + path + "' to '" + kept +
                                        "': " + error.message());
  return kept;
}

} // namespace shardc::runtime
