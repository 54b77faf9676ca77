//===- FileList.cpp - Several files of data -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names in a fixed order, so that a sample has the same number in every run.
//===----------------------------------------------------------------------===//

#include "runtime/data/FileList.h"

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', begin)) {
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

StatusOr<std::vector<std::string>> filesOf(const std::string &folder,
                                           const std::string &suffix) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().string().ends_with(suffix))
      files.push_back(entry.path().string());
  if (error)
    return Status(ErrorCode::E0403,
                  "cannot read '" + folder + "': " + error.message());
  if (files.empty())
    return Status(ErrorCode::E0403,
                  "'" + folder + "' has no files '*" + suffix + "'");
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace shardc::runtime
