//===- StoredZip.h - Uncompressed zip archives ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The container of an artifact: a zip archive whose entries are all stored,
// not compressed, so that they can be used where they lie in a mapped file,
// yet every zip tool can list and extract them. This is the one reason not to
// use a general zip library, which copies entries out and cannot align them.
// Written archives have entries aligned to 64 bytes and no clock in them, and
// change to zip64 records where sizes need it (APPNOTE.TXT 6.3.10 §4.3).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_STOREDZIP_H
#define SHARDC_RUNTIME_FORMAT_STOREDZIP_H

#include "runtime/format/Bytes.h"
#include "runtime/format/OutputFile.h"
#include "runtime/format/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::format {

/// An entry as it lies in the archive.
struct ZipEntry {
  std::string name;
  Bytes content;
  /// The checksum that the archive states; not yet compared.
  uint32_t crc32 = 0;
};

/// The entries of `archive`, which must stay alive, in the order of the
/// central directory. Rejects what an artifact never has: compression,
/// encryption, several disks, repeated names, entries that overlap or leave
/// the file. Fails with E0302 or E0303; safe on any bytes.
StatusOr<std::vector<ZipEntry>> readStoredZip(Bytes archive);

/// The checksum of zip archives, of the concatenation of `pieces`.
uint32_t crc32Of(std::span<const Bytes> pieces);

/// Writes an archive entry by entry into `file`.
class StoredZipWriter {
public:
  explicit StoredZipWriter(OutputFile &file) : file(file) {}

  /// Appends an entry whose content is the concatenation of `pieces`.
  void add(const std::string &name, std::span<const Bytes> pieces);

  /// Writes the central directory; nothing can be added afterwards.
  void finish();

private:
  struct WrittenEntry {
    std::string name;
    uint32_t crc32;
    uint64_t size;
    uint64_t offset;
  };
  void put(std::string_view bytes);

  OutputFile &file;
  uint64_t position = 0;
  std::vector<WrittenEntry> entries;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_STOREDZIP_H
