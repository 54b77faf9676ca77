//===- StoredZipWriter.cpp - Writing uncompressed zip archives ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Local headers, central directory and end records. Every entry's data starts
// at a multiple of 64 bytes; the gap is an extra field of the local header
// with the identifier that Android's zipalign uses for the purpose. The time
// stamp is the first one that zip can express.
//===----------------------------------------------------------------------===//

#include "runtime/format/StoredZip.h"

#include <zlib.h>

#include <algorithm>

namespace shardc::format {

static constexpr uint64_t alignment = 64;
static constexpr uint16_t alignmentExtraField = 0xD935;
static constexpr uint16_t zip64ExtraField = 0x0001;
static constexpr uint32_t maximum32 = 0xFFFFFFFF;
static constexpr uint16_t dateOf1980 = 0x0021;
static constexpr uint16_t utf8NameFlag = 0x0800;

namespace {
/// Appends little-endian numbers to a string.
struct Record {
  std::string bytes;

  template <typename T>
  Record &number(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
  Record &text(std::string_view value) {
    bytes += value;
    return *this;
  }
};
} // namespace

static uint32_t narrow(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, maximum32));
}

uint32_t crc32Of(std::span<const Bytes> pieces) {
  uLong checksum = ::crc32(0, nullptr, 0);
  for (const Bytes &piece : pieces)
    checksum =
        crc32_z(checksum, reinterpret_cast<const unsigned char *>(piece.data()),
                piece.size());
  return static_cast<uint32_t>(checksum);
}

void StoredZipWriter::put(std::string_view bytes) {
  file.write(bytes);
  position += bytes.size();
}

void StoredZipWriter::add(const std::string &name,
                          std::span<const Bytes> pieces) {
  WrittenEntry entry{name, crc32Of(pieces), 0, position};
  for (const Bytes &piece : pieces)
    entry.size += piece.size();

  Record extra;
  if (entry.size >= maximum32)
    extra.number(zip64ExtraField)
        .number<uint16_t>(16)
        .number<uint64_t>(entry.size)
        .number<uint64_t>(entry.size);
  const uint64_t unaligned = position + 30 + name.size() + extra.bytes.size() +
                             2 * sizeof(uint16_t) + sizeof(uint16_t);
  const uint64_t gap = (alignment - unaligned % alignment) % alignment;
  extra.number(alignmentExtraField)
      .number<uint16_t>(static_cast<uint16_t>(sizeof(uint16_t) + gap))
      .number<uint16_t>(alignment)
      .text(std::string(gap, '\0'));

  Record header;
  header.number<uint32_t>(0x04034b50)
      .number<uint16_t>(entry.size >= maximum32 ? 45 : 10)
      .number(utf8NameFlag)
      .number<uint16_t>(0) // stored
      .number<uint16_t>(0) // midnight
      .number(dateOf1980)
      .number(entry.crc32)
      .number(narrow(entry.size))
      .number(narrow(entry.size))
      .number(static_cast<uint16_t>(name.size()))
      .number(static_cast<uint16_t>(extra.bytes.size()))
      .text(name)
      .text(extra.bytes);
  put(header.bytes);
  for (const Bytes &piece : pieces)
    put(textOf(piece));
  entries.push_back(std::move(entry));
}

static std::string directoryRecord(const std::string &name, uint32_t checksum,
                                   uint64_t size, uint64_t offset) {
  Record large;
  if (size >= maximum32)
    large.number<uint64_t>(size).number<uint64_t>(size);
  if (offset >= maximum32)
    large.number<uint64_t>(offset);
  Record extra;
  if (!large.bytes.empty())
    extra.number(zip64ExtraField)
        .number(static_cast<uint16_t>(large.bytes.size()))
        .text(large.bytes);
  const uint16_t version = large.bytes.empty() ? 10 : 45;
  constexpr uint16_t madeOnUnix = 0x0300;
  return Record()
      .number<uint32_t>(0x02014b50)
      .number(static_cast<uint16_t>(madeOnUnix | version))
      .number(version)
      .number(utf8NameFlag)
      .number<uint16_t>(0) // stored
      .number<uint16_t>(0) // midnight
      .number(dateOf1980)
      .number(checksum)
      .number(narrow(size))
      .number(narrow(size))
      .number(static_cast<uint16_t>(name.size()))
      .number(static_cast<uint16_t>(extra.bytes.size()))
      .number<uint16_t>(0) // comment length
      .number<uint16_t>(0) // disk
      .number<uint16_t>(0) // internal attributes
      .number<uint32_t>(0100644u << 16)
      .number(narrow(offset))
      .text(name)
      .text(extra.bytes)
      .bytes;
}

static std::string zip64EndRecords(uint64_t entryCount, uint64_t directory,
                                   uint64_t directorySize) {
  return Record()
      .number<uint32_t>(0x06064b50)
      .number<uint64_t>(44) // bytes that follow in this record
      .number<uint16_t>(0x0300 | 45)
      .number<uint16_t>(45)
      .number<uint32_t>(0)
      .number<uint32_t>(0)
      .number(entryCount)
      .number(entryCount)
      .number(directorySize)
      .number(directory)
      .number<uint32_t>(0x07064b50) // the locator of the record above
      .number<uint32_t>(0)
      .number(directory + directorySize)
      .number<uint32_t>(1)
      .bytes;
}

void StoredZipWriter::finish() {
  const uint64_t directory = position;
  for (const WrittenEntry &entry : entries)
    put(directoryRecord(entry.name, entry.crc32, entry.size, entry.offset));
  const uint64_t directorySize = position - directory;
  if (position >= maximum32)
    put(zip64EndRecords(entries.size(), directory, directorySize));
  put(Record()
          .number<uint32_t>(0x06054b50)
          .number<uint16_t>(0)
          .number<uint16_t>(0)
          .number(static_cast<uint16_t>(entries.size()))
          .number(static_cast<uint16_t>(entries.size()))
          .number(narrow(directorySize))
          .number(narrow(directory))
          .number<uint16_t>(0) // comment length
          .bytes);
}

} // namespace shardc::format
