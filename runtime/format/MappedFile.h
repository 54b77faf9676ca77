//===- MappedFile.h - A whole file as bytes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Maps a file read-only, so that weights of any size are used in place.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_MAPPEDFILE_H
#define SHARDC_RUNTIME_FORMAT_MAPPEDFILE_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Status.h"

#include <memory>
#include <string>

namespace shardc::format {

/// The bytes of a regular file for as long as the object lives. Safe to read
/// from several threads. Whoever shrinks the file meanwhile ends the process
/// (SIGBUS), as with every mapping.
class MappedFile {
public:
  /// Maps the file at `path`; any failure has number `code` and names the
  /// path and the system's reason.
  static StatusOr<std::shared_ptr<const MappedFile>>
  open(const std::string &path, ErrorCode code);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  Bytes bytes() const { return content; }

private:
  explicit MappedFile(Bytes content) : content(content) {}
  Bytes content;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_MAPPEDFILE_H
