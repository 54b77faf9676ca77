//===- WeightFiles.cpp - Full tensors in safetensors files ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every file is mapped; no tensor is read before it is copied to a rank.
//===----------------------------------------------------------------------===//

#include "runtime/train/WeightFiles.h"
#include "runtime/format/SafetensorsIndex.h"

#include <filesystem>
#include <set>

namespace shardc::runtime {

using format::MappedFile;

static constexpr std::string_view indexSuffix = ".index.json";

static Status addFile(const std::string &path, Weights &weights) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<format::SafetensorsContent> content =
      format::readSafetensors((*file)->bytes(), path, ErrorCode::E0404);
  if (!content.ok())
    return content.status();
  for (format::NamedTensor &tensor : content->tensors)
    weights.tensors.push_back(std::move(tensor));
  weights.metadata.merge(content->metadata);
  weights.files.push_back(*file);
  weights.paths.push_back(path);
  return Status();
}

/// A name that two files have has no one value.
static Status checkNames(const std::string &path, const Weights &weights,
                         const std::map<std::string, std::string> &fileOf) {
  std::set<std::string_view> names;
  for (const format::NamedTensor &tensor : weights.tensors)
    if (!names.insert(tensor.name).second)
      return Status(ErrorCode::E0404, "'" + path +
                                          "': two of its files contain '" +
                                          tensor.name + "'");
  for (const auto &[name, file] : fileOf)
    if (names.find(name) == names.end())
      return Status(ErrorCode::E0404, "'" + file + "' lacks '" + name +
                                          "', which '" + path +
                                          "' says it has");
  return Status();
}

static Status addIndexed(const std::string &path, Weights &weights) {
  StatusOr<std::shared_ptr<const MappedFile>> text =
      MappedFile::open(path, ErrorCode::E0403);
  if (!text.ok())
    return text.status();
  auto fileOf =
      format::readSafetensorsIndex((*text)->bytes(), path, ErrorCode::E0404);
  if (!fileOf.ok())
    return fileOf.status();
  weights.paths.push_back(path);
  std::set<std::string> files;
  for (const auto &[tensor, file] : *fileOf)
    files.insert(file);
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  for (const std::string &file : files)
    if (Status status = addFile((folder / file).string(), weights);
        !status.ok())
      return status;
  return checkNames(path, weights, *fileOf);
}

/// What of a folder is read: its index, or its one file.
static StatusOr<std::string> chooseFile(const std::string &folder) {
  std::vector<std::string> indices, files;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".safetensors" + std::string(indexSuffix)))
      indices.push_back(path);
    else if (path.ends_with(".safetensors"))
      files.push_back(path);
  }
  if (error)
    return Status(ErrorCode::E0403,
                  "cannot read '" + folder + "': " + error.message());
  const std::vector<std::string> &candidates =
      indices.empty() ? files : indices;
  if (candidates.size() == 1)
    return candidates.front();
  return Status(ErrorCode::E0403,
                "expected one .safetensors file, or one index of several "
                "(.safetensors.index.json), in '" +
                    folder + "', got " + std::to_string(files.size()) +
                    " files and " + std::to_string(indices.size()) + " indices")
      .setHelp(files.empty() ? "save_pretrained(FOLDER) writes safetensors"
                             : "name the file or the index itself");
}

StatusOr<Weights> openWeights(const std::string &path) {
  Weights weights;
  std::string chosen = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    StatusOr<std::string> inFolder = chooseFile(path);
    if (!inFolder.ok())
      return inFolder.status();
    chosen = *inFolder;
  }
  Status status = chosen.ends_with(indexSuffix) ? addIndexed(chosen, weights)
                                                : addFile(chosen, weights);
  if (!status.ok())
    return status;
  return weights;
}

} // namespace shardc::runtime
