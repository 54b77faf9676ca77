//===- ArchiveEditor.h - Real archives, changed ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Test support: takes an archive that PyTorch wrote, changes entries, and
// writes it again with correct checksums, so that a test meets exactly the
// defect it made.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_COMPILER_PT2_ARCHIVEEDITOR_H
#define SHARDC_TEST_UNIT_COMPILER_PT2_ARCHIVEEDITOR_H

#include "compiler/Pt2/ArchiveReader.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc {

/// Shows an error number in the messages of failed tests.
inline void PrintTo(ErrorCode code, std::ostream *stream) {
  *stream << errorNumber(code);
}

} // namespace shardc

namespace shardc::pt2 {

/// A file in a temporary folder, removed at the end.
class TemporaryFile {
public:
  explicit TemporaryFile(std::string_view content);
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  const std::string &path() const { return name; }

private:
  std::string name;
};

/// The content of a file.
std::string readFile(const std::string &path);

/// Writes `content` to a temporary file and reads it as an archive.
StatusOr<ExportedModel> readArchiveBytes(std::string_view content);

class ArchiveEditor {
public:
  /// How the zip file is written.
  struct Form {
    bool zip64 = false;
    uint16_t compressionMethod = 0;
    /// Every entry has the payload and header of the first one.
    bool overlap = false;
  };

  ArchiveEditor() = default;
  /// Takes the entries of the archive whose bytes are `content`.
  explicit ArchiveEditor(std::string_view content);
  static ArchiveEditor fromFile(const std::string &path) {
    return ArchiveEditor(readFile(path));
  }

  /// The content of the only entry whose name ends with `suffix`.
  std::string &entry(std::string_view suffix);
  ArchiveEditor &add(std::string name, std::string content);
  ArchiveEditor &remove(std::string_view suffix);
  /// Replaces the first occurrence of `from`, which must exist.
  ArchiveEditor &replace(std::string_view suffix, std::string_view from,
                         std::string_view to);

  std::string bytes() const { return bytes(Form()); }
  std::string bytes(Form form) const;
  StatusOr<ExportedModel> read() const { return readArchiveBytes(bytes()); }

private:
  std::vector<std::pair<std::string, std::string>> entries;

  size_t find(std::string_view suffix) const;
};

} // namespace shardc::pt2

#endif // SHARDC_TEST_UNIT_COMPILER_PT2_ARCHIVEEDITOR_H
