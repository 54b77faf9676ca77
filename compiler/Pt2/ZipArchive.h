//===- ZipArchive.h - Uncompressed zip files, mapped ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A zip archive seen through its central directory, as PyTorch writes them:
// entries stored without compression, sizes in the central directory alone
// (local headers hold zeros and a data descriptor follows the payload), zip64
// where needed. An entry is therefore a span of the mapped file, and a zip
// inside a zip is read in place.
//
// Format: PKWARE APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (central
// directory), 4.3.14 to 4.3.16 (end records) and 4.5.3 (zip64 extra field).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ZIPARCHIVE_H
#define SHARDC_COMPILER_PT2_ZIPARCHIVE_H

#include "compiler/Pt2/MappedFile.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::pt2 {

/// One file of an archive. `payload` lies inside the mapped file.
struct ZipEntry {
  std::string name;
  std::span<const std::byte> payload;
  /// CRC-32 of the payload.
  uint32_t checksum = 0;
};

class ZipArchive {
public:
  /// Reads the directory of the archive that fills `file`. Every entry's
  /// payload is checked to lie in the file, where no other does, and its name
  /// to be a path inside of the archive. Throws ReadFailure.
  static std::shared_ptr<const ZipArchive>
  open(std::shared_ptr<const MappedFile> file);

  /// Reads entry `index` of `outer` as an archive. Checks the entry's checksum
  /// once; the checksums of the inner entries are not looked at, because
  /// torch.save can be told to write none. Throws ReadFailure.
  static std::shared_ptr<const ZipArchive> openEntry(const ZipArchive &outer,
                                                     size_t index);

  const std::vector<ZipEntry> &entries() const { return directory; }

  /// Index of the entry called `name`.
  std::optional<size_t> find(std::string_view name) const;

  /// The payload of entry `index`, after its checksum was compared, which is
  /// done once. Throws ReadFailure. Safe from several threads.
  std::span<const std::byte> read(size_t index) const;

private:
  std::shared_ptr<const MappedFile> file;
  std::vector<ZipEntry> directory;
  std::map<std::string, size_t, std::less<>> indexByName;
  bool hasChecksums = true;
  /// Entries whose checksum is known to be right: thousands of tensors may look
  /// at one storage of gigabytes.
  std::unique_ptr<std::atomic<bool>[]> isChecked;

  void readDirectory(std::span<const std::byte> bytes);
};

/// The text of a payload.
std::string_view asText(std::span<const std::byte> payload);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ZIPARCHIVE_H
