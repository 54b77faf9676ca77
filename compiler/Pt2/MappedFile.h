//===- MappedFile.h - A file as read-only memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A whole file as read-only memory. Mapping instead of reading keeps weights of
// any size out of memory until they are copied.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_MAPPEDFILE_H
#define SHARDC_COMPILER_PT2_MAPPEDFILE_H

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace shardc::pt2 {

class MappedFile {
public:
  /// Maps the file at `path`; throws ReadFailure when it cannot be read.
  static std::shared_ptr<const MappedFile> open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return content; }

private:
  explicit MappedFile(std::span<const std::byte> content) : content(content) {}

  std::span<const std::byte> content;
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_MAPPEDFILE_H
