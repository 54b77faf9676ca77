//===- RunFiles.cpp - What a training run reads and writes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Files are compared by what they are, not by what they are called.
//===----------------------------------------------------------------------===//

#include "runtime/train/RunFiles.h"
#include "runtime/format/OutputFile.h"

#include <filesystem>

namespace shardc::runtime {

namespace fs = std::filesystem;

static bool isSameFile(const std::string &left, const std::string &right) {
  std::error_code error;
  if (fs::exists(left, error) && fs::exists(right, error))
    return fs::equivalent(left, right, error);
  return fs::weakly_canonical(left, error) ==
         fs::weakly_canonical(right, error);
}

Status checkDistinct(const std::vector<RunFile> &inputs,
                     const std::vector<RunFile> &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<RunFile> others = inputs;
    others.insert(others.end(), outputs.begin(),
                  outputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (const RunFile &other : others)
      if (isSameFile(outputs[i].path, other.path))
        return Status(ErrorCode::E0602,
                      outputs[i].option + " '" + outputs[i].path +
                          "' would overwrite " + other.option + " '" +
                          other.path + "'");
  }
  return Status();
}

Status checkSaveName(const std::string &path) {
  const fs::path extension = fs::path(path).extension();
  if (extension.empty() || extension == ".safetensors")
    return Status();
  return Status(ErrorCode::E0002,
                "--save: expected a name that ends in .safetensors, the format "
                "that is written, got '" +
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
