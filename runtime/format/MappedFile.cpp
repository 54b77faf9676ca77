//===- MappedFile.cpp - A whole file as bytes -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// open, fstat, mmap; the descriptor is closed at once.
//===----------------------------------------------------------------------===//

#include "runtime/format/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::format {

static Status failure(const std::string &path, ErrorCode code,
                      const std::string &reason) {
  return Status(code, "cannot read '" + path + "': " + reason);
}

StatusOr<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path, ErrorCode code) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failure(path, code, std::strerror(errno));
  struct stat information = {};
  const bool known = fstat(descriptor, &information) == 0;
  if (!known || !S_ISREG(information.st_mode)) {
    const std::string reason =
        known ? "not a regular file" : std::strerror(errno);
    close(descriptor);
    return failure(path, code, reason);
  }
  const auto size = static_cast<size_t>(information.st_size);
  void *address = nullptr;
  // A mapping of no bytes is an error; an empty file is not.
  if (size > 0)
    address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (address == MAP_FAILED)
    return failure(path, code, std::strerror(error));
  return std::shared_ptr<const MappedFile>(
      new MappedFile(Bytes(static_cast<const std::byte *>(address), size)));
}

MappedFile::~MappedFile() {
  if (!content.empty())
    munmap(const_cast<std::byte *>(content.data()), content.size());
}

} // namespace shardc::format
