//===- MappedFile.cpp - A file as read-only memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Maps a file with mmap(2). The descriptor is closed at once: a mapping
// outlives it.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/MappedFile.h"

#include "compiler/Pt2/ReadFailure.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::pt2 {

namespace {

[[noreturn]] void failToRead(const std::string &path, const char *reason) {
  fail(errors::unreadableFile, "cannot read '" + path + "': " + reason);
}

/// Closes a file descriptor at the end of a scope.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0)
    failToRead(path, std::strerror(errno));
  Descriptor descriptor{number};

  struct stat status;
  if (::fstat(number, &status) != 0)
    failToRead(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    failToRead(path, "not a regular file");

  size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) // mmap refuses empty mappings.
    return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number, 0);
  if (address == MAP_FAILED)
    failToRead(path, std::strerror(errno));
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte *>(address), size}));
}

MappedFile::~MappedFile() {
  if (!content.empty())
    ::munmap(const_cast<std::byte *>(content.data()), content.size());
}

} // namespace shardc::pt2
