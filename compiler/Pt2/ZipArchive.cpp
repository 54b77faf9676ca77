//===- ZipArchive.cpp - Uncompressed zip files, mapped --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the central directory of a zip archive. Every offset and length comes
// from the file and is checked against the bytes that exist before it is used.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ZipArchive.h"

#include "compiler/Pt2/ReadFailure.h"

#include <algorithm>
#include <zlib.h>

namespace shardc::pt2 {

namespace {

constexpr uint32_t localSignature = 0x04034b50;
constexpr uint32_t centralSignature = 0x02014b50;
constexpr uint32_t endSignature = 0x06054b50;
constexpr uint32_t zip64EndSignature = 0x06064b50;
constexpr uint32_t zip64LocatorSignature = 0x07064b50;
constexpr uint16_t zip64ExtraField = 0x0001;
constexpr uint16_t encryptedFlag = 0x0001;
constexpr size_t localHeaderBytes = 30;
constexpr size_t centralHeaderBytes = 46;
constexpr size_t endRecordBytes = 22;
constexpr size_t zip64LocatorBytes = 20;
constexpr uint64_t maximumCommentBytes = 0xffff;
/// Values in 16-bit and 32-bit fields that say "see the zip64 record".
constexpr uint64_t see64From16 = 0xffff;
constexpr uint64_t see64From32 = 0xffffffff;

[[noreturn]] void failDamaged(const std::string &message) {
  fail(errors::damagedZip, "the zip archive is damaged: " + message,
       "copy or export the file again");
}

/// Bounds-checked little-endian reads at absolute offsets.
class Bytes {
public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes(bytes) {}

  uint64_t size() const { return bytes.size(); }

  template <typename Integer>
  Integer at(uint64_t offset) const {
    std::span<const std::byte> source = slice(offset, sizeof(Integer));
    Integer value = 0;
    for (size_t i = 0; i < sizeof(Integer); ++i)
      value |= static_cast<Integer>(static_cast<Integer>(source[i]) << (8 * i));
    return value;
  }

  std::span<const std::byte> slice(uint64_t offset, uint64_t length) const {
    if (offset > bytes.size() || length > bytes.size() - offset)
      failDamaged("it refers to bytes " + std::to_string(offset) + " and " +
                  std::to_string(length) + " more, but has only " +
                  std::to_string(bytes.size()));
    return bytes.subspan(offset, length);
  }

private:
  std::span<const std::byte> bytes;
};

/// Where the central directory is.
struct Directory {
  uint64_t entryCount;
  uint64_t offset;
  uint64_t bytes;
};

/// Offset of the end-of-central-directory record: the last one whose comment
/// reaches exactly to the end of the file.
uint64_t findEndRecord(const Bytes &bytes) {
  if (bytes.size() >= endRecordBytes) {
    uint64_t last = bytes.size() - endRecordBytes;
    uint64_t first =
        last > maximumCommentBytes ? last - maximumCommentBytes : 0;
    for (uint64_t offset = last + 1; offset-- > first;)
      if (bytes.at<uint32_t>(offset) == endSignature &&
          bytes.at<uint16_t>(offset + 20) == last - offset)
        return offset;
  }
  if (bytes.size() >= 4 && bytes.at<uint32_t>(0) == localSignature)
    fail(errors::damagedZip,
         "the file is truncated: its zip directory is missing",
         "copy or export the file again");
  fail(errors::notAZip, "the file is not a zip archive, as .pt2 files are",
       "pass a .pt2 file written by torch.export.save");
}

Directory readEndRecords(const Bytes &bytes) {
  uint64_t end = findEndRecord(bytes);
  if (bytes.at<uint16_t>(end + 4) != bytes.at<uint16_t>(end + 6))
    fail(errors::unsupportedZip,
         "zip archives that span several disks are not supported");
  Directory directory{bytes.at<uint16_t>(end + 10),
                      bytes.at<uint32_t>(end + 16),
                      bytes.at<uint32_t>(end + 12)};
  if (directory.entryCount != see64From16 && directory.offset != see64From32 &&
      directory.bytes != see64From32)
    return directory;
  if (end < zip64LocatorBytes ||
      bytes.at<uint32_t>(end - zip64LocatorBytes) != zip64LocatorSignature)
    return directory;
  uint64_t end64 = bytes.at<uint64_t>(end - zip64LocatorBytes + 8);
  if (bytes.slice(end64, 56).empty() ||
      bytes.at<uint32_t>(end64) != zip64EndSignature)
    failDamaged("its zip64 end record is missing");
  return Directory{bytes.at<uint64_t>(end64 + 32),
                   bytes.at<uint64_t>(end64 + 48),
                   bytes.at<uint64_t>(end64 + 40)};
}

/// The fields of a central header that zip64 may widen.
struct Extent {
  uint64_t size;
  uint64_t compressedSize;
  uint64_t headerOffset;
};

/// Replaces saturated fields of `extent` from the zip64 extra field, which
/// holds only the saturated ones, in this order.
void widen(Extent &extent, const Bytes &extra) {
  uint64_t offset = 0;
  while (offset + 4 <= extra.size()) {
    uint16_t kind = extra.at<uint16_t>(offset);
    uint16_t length = extra.at<uint16_t>(offset + 2);
    if (kind == zip64ExtraField) {
      Bytes fields(extra.slice(offset + 4, length));
      uint64_t next = 0;
      for (uint64_t *field :
           {&extent.size, &extent.compressedSize, &extent.headerOffset})
        if (*field == see64From32) {
          *field = fields.at<uint64_t>(next);
          next += sizeof(uint64_t);
        }
      return;
    }
    offset += 4 + uint64_t(length);
  }
}

/// Refuses names that would leave the folder that an archive is unpacked to.
/// Nothing is unpacked here, but such an archive was made to harm a tool.
void checkName(const std::string &name) {
  auto refuse = [&](const char *reason) {
    fail(errors::unsafeName, "entry '" + name + "' of the archive " + reason,
         "do not unpack this file; export the model again");
  };
  if (name.empty() || name.starts_with('/'))
    refuse("has no relative path as name");
  if (name.find('\\') != std::string::npos ||
      std::ranges::any_of(name, [](unsigned char c) { return c < ' '; }))
    refuse("has a backslash or a control character in its name");
  for (size_t start = 0; start <= name.size();) {
    size_t end = std::min(name.find('/', start), name.size());
    if (std::string_view(name).substr(start, end - start) == "..")
      refuse("leads out of the archive");
    start = end + 1;
  }
}

/// The payload that the local header at `offset` announces. The lengths of name
/// and extra field are the local header's own: PyTorch pads the local extra
/// field to align payloads.
std::span<const std::byte> findPayload(const Bytes &bytes, const Extent &extent,
                                       const std::string &name) {
  uint64_t offset = extent.headerOffset;
  bytes.slice(offset, localHeaderBytes);
  if (bytes.at<uint32_t>(offset) != localSignature)
    failDamaged("entry '" + name + "' has no local header");
  uint64_t nameBytes = bytes.at<uint16_t>(offset + 26);
  uint64_t extraBytes = bytes.at<uint16_t>(offset + 28);
  if (asText(bytes.slice(offset + localHeaderBytes, nameBytes)) != name)
    failDamaged("entry '" + name + "' has another name in its local header");
  return bytes.slice(offset + localHeaderBytes + nameBytes + extraBytes,
                     extent.size);
}

/// Reads the central header at `offset` and moves `offset` past it.
ZipEntry readCentralHeader(const Bytes &bytes, uint64_t &offset) {
  bytes.slice(offset, centralHeaderBytes);
  if (bytes.at<uint32_t>(offset) != centralSignature)
    failDamaged("its central directory is inconsistent");
  uint64_t nameBytes = bytes.at<uint16_t>(offset + 28);
  uint64_t extraBytes = bytes.at<uint16_t>(offset + 30);
  uint64_t commentBytes = bytes.at<uint16_t>(offset + 32);
  ZipEntry entry;
  entry.name = asText(bytes.slice(offset + centralHeaderBytes, nameBytes));
  checkName(entry.name);
  entry.checksum = bytes.at<uint32_t>(offset + 16);
  if (bytes.at<uint16_t>(offset + 8) & encryptedFlag)
    fail(errors::unsupportedZip, "entry '" + entry.name + "' is encrypted");

  Extent extent{bytes.at<uint32_t>(offset + 24),
                bytes.at<uint32_t>(offset + 20),
                bytes.at<uint32_t>(offset + 42)};
  widen(extent, Bytes(bytes.slice(offset + centralHeaderBytes + nameBytes,
                                  extraBytes)));
  if (bytes.at<uint16_t>(offset + 10) != 0 ||
      extent.size != extent.compressedSize)
    fail(errors::unsupportedZip, "entry '" + entry.name + "' is compressed",
         "torch.export.save stores entries uncompressed; repack the archive "
         "with 'zip -0'");
  entry.payload = findPayload(bytes, extent, entry.name);
  offset += centralHeaderBytes + nameBytes + extraBytes + commentBytes;
  return entry;
}

/// Refuses entries that share bytes with each other or with the directory, by
/// which a small file could hold more than its size.
void checkDisjoint(const std::vector<ZipEntry> &entries,
                   std::span<const std::byte> directory) {
  std::vector<const ZipEntry *> ordered;
  for (const ZipEntry &entry : entries)
    if (!entry.payload.empty())
      ordered.push_back(&entry);
  auto begin = [](const ZipEntry *entry) { return entry->payload.data(); };
  std::ranges::sort(ordered, {}, begin);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const std::byte *end = begin(ordered[i]) + ordered[i]->payload.size();
    if (i + 1 < ordered.size() && end > begin(ordered[i + 1]))
      failDamaged("entries '" + ordered[i]->name + "' and '" +
                  ordered[i + 1]->name + "' overlap");
    if (end > directory.data() &&
        begin(ordered[i]) < directory.data() + directory.size())
      failDamaged("entry '" + ordered[i]->name +
                  "' overlaps the central directory");
  }
}

} // namespace

std::string_view asText(std::span<const std::byte> payload) {
  return {reinterpret_cast<const char *>(payload.data()), payload.size()};
}

void ZipArchive::readDirectory(std::span<const std::byte> content) {
  Bytes bytes(content);
  Directory place = readEndRecords(bytes);
  uint64_t offset = place.offset;
  if (place.entryCount > place.bytes / centralHeaderBytes)
    failDamaged("its central directory of " + std::to_string(place.bytes) +
                " bytes cannot have " + std::to_string(place.entryCount) +
                " entries");
  std::span<const std::byte> records = bytes.slice(place.offset, place.bytes);
  for (uint64_t i = 0; i < place.entryCount; ++i) {
    ZipEntry entry = readCentralHeader(bytes, offset);
    if (!indexByName.emplace(entry.name, directory.size()).second)
      failDamaged("two entries are called '" + entry.name + "'");
    directory.push_back(std::move(entry));
  }
  if (offset != place.offset + place.bytes)
    failDamaged("its central directory does not have the size it states");
  checkDisjoint(directory, records);
  isChecked = std::make_unique<std::atomic<bool>[]>(directory.size());
}

std::shared_ptr<const ZipArchive>
ZipArchive::open(std::shared_ptr<const MappedFile> file) {
  auto archive = std::make_shared<ZipArchive>();
  archive->readDirectory(file->bytes());
  archive->file = std::move(file);
  return archive;
}

std::shared_ptr<const ZipArchive> ZipArchive::openEntry(const ZipArchive &outer,
                                                        size_t index) {
  auto archive = std::make_shared<ZipArchive>();
  archive->hasChecksums = false;
  archive->file = outer.file;
  withNote([&] { return "in entry '" + outer.directory[index].name + "'"; },
           [&] { archive->readDirectory(outer.read(index)); });
  return archive;
}

std::optional<size_t> ZipArchive::find(std::string_view name) const {
  auto found = indexByName.find(name);
  if (found == indexByName.end())
    return std::nullopt;
  return found->second;
}

std::span<const std::byte> ZipArchive::read(size_t index) const {
  const ZipEntry &entry = directory[index];
  if (!hasChecksums || isChecked[index].load(std::memory_order_relaxed))
    return entry.payload;
  uLong checksum =
      crc32_z(0, reinterpret_cast<const Bytef *>(entry.payload.data()),
              entry.payload.size());
  if (checksum != entry.checksum)
    failDamaged("the checksum of entry '" + entry.name + "' is wrong");
  isChecked[index].store(true, std::memory_order_relaxed);
  return entry.payload;
}

} // namespace shardc::pt2
