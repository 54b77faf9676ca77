//===- SharedObject.cpp - Linking without a linker on the machine ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// lld reads and writes files only, so the object and the result go through the
// temporary folder. One thread and no build id: the same object gives the same
// bytes.
//===----------------------------------------------------------------------===//

#include "passes/Target/SharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace shardc::target {

namespace {
/// A path that is removed when this goes out of scope.
struct TemporaryFile {
  explicit TemporaryFile(StringRef suffix)
      : error(sys::fs::createTemporaryFile("shardc-kernels", suffix, path)),
        remover(path) {}

  SmallString<128> path;
  std::error_code error;
  FileRemover remover;
};
} // namespace

static Error writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return createFileError(path, error);
  stream.write(bytes.data(), bytes.size());
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return createFileError(path, error);
  }
  return Error::success();
}

static Error runLinker(const char *object, const char *result) {
  std::string messages;
  raw_string_ostream stream(messages);
  const char *arguments[] = {"ld.lld",        "-shared", "--build-id=none",
                             "--threads=1",   "-z",      "noexecstack",
                             "--strip-debug", "-o",      result,
                             object};
  lld::Result done =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (done.retCode == 0)
    return Error::success();
  return createStringError("cannot link kernels: " + messages);
}

Expected<SmallVector<char, 0>> linkSharedObject(ArrayRef<char> object) {
  TemporaryFile objectFile("o"), resultFile("so");
  for (const TemporaryFile *file : {&objectFile, &resultFile})
    if (file->error)
      return createFileError("temporary folder", file->error);
  if (Error error = writeFile(objectFile.path, object))
    return std::move(error);
  if (Error error = runLinker(objectFile.path.c_str(), resultFile.path.c_str()))
    return std::move(error);
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes =
      MemoryBuffer::getFile(resultFile.path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!bytes)
    return createFileError(resultFile.path, bytes.getError());
  StringRef content = (*bytes)->getBuffer();
  return SmallVector<char, 0>(content.begin(), content.end());
}

} // namespace shardc::target
