//===- StoredZipReader.cpp - Reading uncompressed zip archives ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the end record, walks the central directory and returns views of the
// entries. Every offset is compared with the archive's size before use.
//===----------------------------------------------------------------------===//

#include "runtime/format/StoredZip.h"

#include <algorithm>
#include <set>

namespace shardc::format {

namespace {
/// Reads little-endian numbers from a range; reading past the end gives zeros
/// and is remembered.
class Cursor {
public:
  explicit Cursor(Bytes bytes) : bytes(bytes) {}

  template <typename T>
  T number() {
    T value = 0;
    const Bytes raw = take(sizeof(T));
    for (size_t i = 0; i < raw.size(); ++i)
      value |= static_cast<T>(static_cast<T>(raw[i]) << (8 * i));
    return value;
  }

  /// The next `count` bytes, or none if there are fewer.
  Bytes take(size_t count) {
    if (count > bytes.size()) {
      overrun = true;
      bytes = {};
      return {};
    }
    const Bytes taken = bytes.first(count);
    bytes = bytes.subspan(count);
    return taken;
  }

  size_t remaining() const { return bytes.size(); }
  bool failed() const { return overrun; }

private:
  Bytes bytes;
  bool overrun = false;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entryCount = 0;
};

/// One record of the central directory.
struct DirectoryRecord {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc32 = 0;
  uint64_t compressedSize = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};
} // namespace

static Status damaged(const std::string &reason) {
  return Status(ErrorCode::E0303, "archive is truncated or damaged: " + reason);
}

static Bytes slice(Bytes archive, uint64_t offset, uint64_t size) {
  if (offset > archive.size() || size > archive.size() - offset)
    return {};
  return archive.subspan(offset, size);
}

/// Searches backwards for the end record: it is followed by a comment of the
/// length that it states.
static StatusOr<uint64_t> findEndRecord(Bytes archive) {
  constexpr size_t recordSize = 22, longestComment = 0xFFFF;
  if (archive.size() < recordSize)
    return damaged("no end record");
  const size_t last = archive.size() - recordSize;
  const size_t first = last > longestComment ? last - longestComment : 0;
  for (size_t offset = last + 1; offset-- > first;) {
    Cursor cursor(archive.subspan(offset));
    if (cursor.number<uint32_t>() != 0x06054b50)
      continue;
    cursor.take(16);
    if (cursor.number<uint16_t>() == cursor.remaining())
      return uint64_t(offset);
  }
  return damaged("no end record");
}

static StatusOr<Directory> readZip64EndRecord(Bytes archive,
                                              uint64_t endRecord) {
  if (endRecord < 20)
    return damaged("no zip64 locator");
  Cursor locator(archive.subspan(endRecord - 20, 20));
  if (locator.number<uint32_t>() != 0x07064b50)
    return damaged("no zip64 locator");
  locator.take(4);
  const auto offset = locator.number<uint64_t>();
  Cursor record(slice(archive, offset, 56));
  if (record.number<uint32_t>() != 0x06064b50)
    return damaged("no zip64 end record");
  record.take(20);
  Directory directory;
  record.take(8);
  directory.entryCount = record.number<uint64_t>();
  directory.size = record.number<uint64_t>();
  directory.offset = record.number<uint64_t>();
  return directory;
}

static StatusOr<Directory> findDirectory(Bytes archive) {
  StatusOr<uint64_t> endRecord = findEndRecord(archive);
  if (!endRecord.ok())
    return endRecord.status();
  Cursor record(archive.subspan(*endRecord));
  record.take(4);
  const auto disk = record.number<uint16_t>();
  const auto directoryDisk = record.number<uint16_t>();
  const auto entriesOfDisk = record.number<uint16_t>();
  Directory directory;
  directory.entryCount = record.number<uint16_t>();
  directory.size = record.number<uint32_t>();
  directory.offset = record.number<uint32_t>();
  if (disk != 0 || directoryDisk != 0 || entriesOfDisk != directory.entryCount)
    return damaged("spans several disks");
  if (directory.offset != 0xFFFFFFFF && directory.size != 0xFFFFFFFF &&
      directory.entryCount != 0xFFFF)
    return directory;
  return readZip64EndRecord(archive, *endRecord);
}

/// Replaces the values that were too large for 32 bits, in the order that the
/// format prescribes.
static bool readZip64Extra(Cursor extra, DirectoryRecord &record) {
  const bool needed = record.size == 0xFFFFFFFF ||
                      record.compressedSize == 0xFFFFFFFF ||
                      record.offset == 0xFFFFFFFF;
  while (needed && extra.remaining() >= 4) {
    const auto identifier = extra.number<uint16_t>();
    Cursor field(extra.take(extra.number<uint16_t>()));
    if (identifier != 0x0001)
      continue;
    if (record.size == 0xFFFFFFFF)
      record.size = field.number<uint64_t>();
    if (record.compressedSize == 0xFFFFFFFF)
      record.compressedSize = field.number<uint64_t>();
    if (record.offset == 0xFFFFFFFF)
      record.offset = field.number<uint64_t>();
    return !field.failed();
  }
  return !needed;
}

static StatusOr<DirectoryRecord> readDirectoryRecord(Cursor &cursor) {
  if (cursor.number<uint32_t>() != 0x02014b50)
    return damaged("bad record in the central directory");
  cursor.take(4);
  DirectoryRecord record;
  record.flags = cursor.number<uint16_t>();
  record.method = cursor.number<uint16_t>();
  cursor.take(4);
  record.crc32 = cursor.number<uint32_t>();
  record.compressedSize = cursor.number<uint32_t>();
  record.size = cursor.number<uint32_t>();
  const auto nameSize = cursor.number<uint16_t>();
  const auto extraSize = cursor.number<uint16_t>();
  const auto commentSize = cursor.number<uint16_t>();
  cursor.take(8);
  record.offset = cursor.number<uint32_t>();
  record.name = textOf(cursor.take(nameSize));
  const Cursor extra(cursor.take(extraSize));
  cursor.take(commentSize);
  if (cursor.failed() || !readZip64Extra(extra, record))
    return damaged("record of the central directory is cut off");
  return record;
}

/// Where the data of an entry lies: behind its local header, whose name and
/// extra field may have other lengths than those of the directory.
static StatusOr<ZipEntry> locate(Bytes archive, const Directory &directory,
                                 const DirectoryRecord &record) {
  const std::string quoted = "entry '" + record.name + "'";
  constexpr uint16_t encrypted = 0x0001;
  if (record.flags & encrypted)
    return damaged(quoted + " is encrypted");
  if (record.method != 0 || record.compressedSize != record.size)
    return damaged(quoted + " is compressed; artifacts store entries as is");
  Cursor local(slice(archive, record.offset, 30));
  if (local.number<uint32_t>() != 0x04034b50)
    return damaged(quoted + " has no local header");
  local.take(22);
  const auto nameSize = local.number<uint16_t>();
  const auto extraSize = local.number<uint16_t>();
  if (textOf(slice(archive, record.offset + 30, nameSize)) != record.name)
    return damaged(quoted + " has another name in its local header");
  const uint64_t begin = record.offset + 30 + nameSize + extraSize;
  if (begin > directory.offset || record.size > directory.offset - begin)
    return damaged(quoted + " of " + std::to_string(record.size) +
                   " bytes leaves the archive");
  return ZipEntry{record.name, slice(archive, begin, record.size),
                  record.crc32};
}

static Status checkDisjoint(const std::vector<ZipEntry> &entries) {
  std::vector<const ZipEntry *> ordered;
  std::set<std::string_view> names;
  for (const ZipEntry &entry : entries) {
    if (!names.insert(entry.name).second)
      return damaged("entry '" + entry.name + "' appears twice");
    if (!entry.content.empty())
      ordered.push_back(&entry);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const ZipEntry *left, const ZipEntry *right) {
              return left->content.data() < right->content.data();
            });
  for (size_t i = 1; i < ordered.size(); ++i)
    if (ordered[i - 1]->content.data() + ordered[i - 1]->content.size() >
        ordered[i]->content.data())
      return damaged("entry '" + ordered[i]->name + "' overlaps another one");
  return Status();
}

StatusOr<std::vector<ZipEntry>> readStoredZip(Bytes archive) {
  if (!textOf(archive).starts_with("PK"))
    return Status(ErrorCode::E0302, "neither a model (.pt2) nor an artifact "
                                    "(.shardc): both are zip archives, and "
                                    "this file is not");
  StatusOr<Directory> directory = findDirectory(archive);
  if (!directory.ok())
    return directory.status();
  if (directory->offset > archive.size() ||
      directory->size > archive.size() - directory->offset)
    return damaged("central directory leaves the archive");

  Cursor cursor(archive.subspan(directory->offset, directory->size));
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < directory->entryCount; ++i) {
    StatusOr<DirectoryRecord> record = readDirectoryRecord(cursor);
    if (!record.ok())
      return record.status();
    StatusOr<ZipEntry> entry = locate(archive, *directory, *record);
    if (!entry.ok())
      return entry.status();
    entries.push_back(std::move(*entry));
  }
  if (cursor.remaining() != 0)
    return damaged("central directory has more records than it states");
  if (Status status = checkDisjoint(entries); !status.ok())
    return status;
  return entries;
}

} // namespace shardc::format
