//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// mkostemp beside the target, write, fsync, rename.
//===----------------------------------------------------------------------===//

#include "runtime/format/OutputFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::format {

namespace fs = std::filesystem;

static bool isSameFile(const std::string &left, const std::string &right) {
  std::error_code error;
  if (fs::exists(left, error) && fs::exists(right, error))
    return fs::equivalent(left, right, error);
  return fs::weakly_canonical(left, error) ==
         fs::weakly_canonical(right, error);
}

Status checkDistinct(const std::vector<NamedFile> &inputs,
                     const std::vector<NamedFile> &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<NamedFile> others = inputs;
    others.insert(others.end(), outputs.begin(),
                  outputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (const NamedFile &other : others)
      if (!outputs[i].path.empty() && !other.path.empty() &&
          isSameFile(outputs[i].path, other.path))
        return Status(ErrorCode::E0602,
                      outputs[i].option + " '" + outputs[i].path +
                          "' would overwrite " + other.option + " '" +
                          other.path + "'");
  }
  return Status();
}

OutputFile::OutputFile(std::string target) : path(std::move(target)) {
  // A device such as /dev/full must stay what it is, and rename would replace
  // it.
  struct stat information = {};
  if (stat(path.c_str(), &information) == 0 && !S_ISREG(information.st_mode)) {
    errno = S_ISDIR(information.st_mode) ? EISDIR : EINVAL;
    fail("cannot write");
    return;
  }
  temporaryPath = path + ".XXXXXX";
  descriptor = mkostemp(temporaryPath.data(), O_CLOEXEC);
  if (descriptor < 0) {
    temporaryPath.clear();
    fail("cannot write");
    return;
  }
  // mkostemp makes files that only the owner may read; outputs follow umask.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
}

OutputFile::OutputFile(std::string target, const std::string &temporary)
    : path(std::move(target)), temporaryPath(temporary), isOwner(false),
      descriptor(open(temporary.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (descriptor < 0)
    fail("cannot write");
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (isOwner && !temporaryPath.empty())
    unlink(temporaryPath.c_str());
}

void OutputFile::fail(const char *what) {
  failure = Status(ErrorCode::E0601, std::string(what) + " '" + path +
                                         "': " + std::strerror(errno));
}

void OutputFile::write(Bytes bytes) {
  writeAt(end, bytes);
  end += static_cast<int64_t>(bytes.size());
}

void OutputFile::writeAt(int64_t offset, Bytes bytes) {
  while (failure.ok() && !bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += written;
    } else if (errno != EINTR) {
      fail("cannot write");
    }
  }
}

Status OutputFile::flush() {
  if (failure.ok() && fsync(descriptor) != 0)
    fail("cannot write");
  return failure;
}

Status OutputFile::commit() {
  if (!flush().ok())
    return failure;
  if (rename(temporaryPath.c_str(), path.c_str()) != 0)
    fail("cannot create");
  else
    temporaryPath.clear();
  return failure;
}

} // namespace shardc::format
