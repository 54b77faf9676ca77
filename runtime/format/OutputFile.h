//===- OutputFile.h - Files that appear whole or not at all ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes to a temporary file in the target's folder and renames it over the
// target at the end, so that no reader ever sees half a file and a failure or
// an interruption leaves the old file as it was.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_OUTPUTFILE_H
#define SHARDC_RUNTIME_FORMAT_OUTPUTFILE_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Status.h"

#include <string>
#include <vector>

namespace shardc::format {

/// A file and the option or argument that names it.
struct NamedFile {
  std::string option;
  std::string path;
};

/// Fails with E0602 if an output is the file of an input or of another output,
/// whatever they are called. Those without a path do not count.
Status checkDistinct(const std::vector<NamedFile> &inputs,
                     const std::vector<NamedFile> &outputs);

/// One file being written. Errors (E0601) stick: `write` does nothing after
/// one, `flush` and `commit` return it. Without a successful commit the
/// destructor removes the temporary file. Not thread-safe.
class OutputFile {
public:
  explicit OutputFile(std::string path);
  /// Another process' part in a file that one has opened with `path` alone, at
  /// `temporary`, which that one commits or removes.
  OutputFile(std::string path, const std::string &temporary);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// After what `write` wrote before.
  void write(Bytes bytes);
  void write(std::string_view text) { write(bytesOf(text)); }
  /// At byte `offset` of the file, which need not be its end.
  void writeAt(int64_t offset, Bytes bytes);

  /// Where the file is until it has its name.
  const std::string &temporary() const { return temporaryPath; }

  /// Flushes to the disk.
  Status flush();
  /// Flushes to the disk and gives the file its name.
  Status commit();

  /// The first failure until now.
  const Status &status() const { return failure; }

private:
  void fail(const char *what);

  std::string path;
  std::string temporaryPath;
  bool isOwner = true;
  /// Where `write` goes on.
  int64_t end = 0;
  int descriptor = -1;
  Status failure;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_OUTPUTFILE_H
