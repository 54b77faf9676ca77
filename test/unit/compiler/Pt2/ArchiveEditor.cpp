//===- ArchiveEditor.cpp - Real archives, changed -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A minimal writer of stored zip files.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include "compiler/Pt2/ZipArchive.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdexcept>
#include <unistd.h>
#include <zlib.h>

namespace shardc::pt2 {

namespace {

/// Appends `value` in little-endian order.
template <typename Integer>
void append(std::string &bytes, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i)
    bytes.push_back(static_cast<char>(value >> (8 * i)));
}

struct PlacedEntry {
  std::string_view name;
  uint64_t size;
  uint64_t offset;
  uint32_t checksum;
};

/// The fields that local and central headers share, from "version needed".
void appendSharedFields(std::string &bytes, const PlacedEntry &entry,
                        ArchiveEditor::Form form, uint16_t extraBytes) {
  uint32_t size = form.zip64 ? 0xffffffff : static_cast<uint32_t>(entry.size);
  append<uint16_t>(bytes, 45);
  append<uint16_t>(bytes, 0x0800);
  append<uint16_t>(bytes, form.compressionMethod);
  append<uint32_t>(bytes, 0); // Time and date.
  append<uint32_t>(bytes, entry.checksum);
  append<uint32_t>(bytes, size);
  append<uint32_t>(bytes, size);
  append<uint16_t>(bytes, static_cast<uint16_t>(entry.name.size()));
  append<uint16_t>(bytes, extraBytes);
}

void appendCentralHeader(std::string &bytes, const PlacedEntry &entry,
                         ArchiveEditor::Form form) {
  append<uint32_t>(bytes, 0x02014b50);
  append<uint16_t>(bytes, 45);
  appendSharedFields(bytes, entry, form, form.zip64 ? 28 : 0);
  append<uint64_t>(bytes, 0); // Comment, disk and internal attributes.
  append<uint16_t>(bytes, 0);
  append<uint32_t>(bytes, form.zip64 ? 0xffffffff
                                     : static_cast<uint32_t>(entry.offset));
  bytes += entry.name;
  if (!form.zip64)
    return;
  append<uint16_t>(bytes, 1);
  append<uint16_t>(bytes, 24);
  append<uint64_t>(bytes, entry.size);
  append<uint64_t>(bytes, entry.size);
  append<uint64_t>(bytes, entry.offset);
}

void appendZip64Records(std::string &bytes, uint64_t count, uint64_t start) {
  uint64_t record = bytes.size();
  append<uint32_t>(bytes, 0x06064b50);
  append<uint64_t>(bytes, 44);
  append<uint32_t>(bytes, 45 | 45 << 16);
  append<uint64_t>(bytes, 0); // Disk numbers.
  append<uint64_t>(bytes, count);
  append<uint64_t>(bytes, count);
  append<uint64_t>(bytes, record - start);
  append<uint64_t>(bytes, start);
  append<uint32_t>(bytes, 0x07064b50);
  append<uint32_t>(bytes, 0);
  append<uint64_t>(bytes, record);
  append<uint32_t>(bytes, 1);
}

} // namespace

TemporaryFile::TemporaryFile(std::string_view content) {
  static int count = 0;
  name = testing::TempDir() + "shardc-pt2-" + std::to_string(::getpid()) + "-" +
         std::to_string(count++);
  std::ofstream file(name, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

TemporaryFile::~TemporaryFile() { ::unlink(name.c_str()); }

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

StatusOr<ExportedModel> readArchiveBytes(std::string_view content) {
  TemporaryFile file(content);
  return readArchive(file.path());
}

ArchiveEditor::ArchiveEditor(std::string_view content) {
  TemporaryFile file(content);
  auto archive = ZipArchive::open(MappedFile::open(file.path()));
  for (size_t i = 0; i < archive->entries().size(); ++i)
    entries.emplace_back(archive->entries()[i].name, asText(archive->read(i)));
}

size_t ArchiveEditor::find(std::string_view suffix) const {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].first.ends_with(suffix))
      return i;
  throw std::runtime_error("no entry " + std::string(suffix));
}

std::string &ArchiveEditor::entry(std::string_view suffix) {
  return entries[find(suffix)].second;
}

ArchiveEditor &ArchiveEditor::add(std::string name, std::string content) {
  entries.emplace_back(std::move(name), std::move(content));
  return *this;
}

ArchiveEditor &ArchiveEditor::remove(std::string_view suffix) {
  entries.erase(entries.begin() + static_cast<ptrdiff_t>(find(suffix)));
  return *this;
}

ArchiveEditor &ArchiveEditor::replace(std::string_view suffix,
                                      std::string_view from,
                                      std::string_view to) {
  std::string &content = entry(suffix);
  size_t position = content.find(from);
  if (position == std::string::npos)
    throw std::runtime_error("no text " + std::string(from));
  content.replace(position, from.size(), to);
  return *this;
}

std::string ArchiveEditor::bytes(Form form) const {
  std::string result;
  std::vector<PlacedEntry> placed;
  for (const auto &[name, content] : entries) {
    auto checksum = static_cast<uint32_t>(crc32_z(
        0, reinterpret_cast<const Bytef *>(content.data()), content.size()));
    placed.push_back({name, content.size(), result.size(), checksum});
    if (form.overlap && placed.size() > 1) {
      placed.back() = placed.front();
      placed.back().name = name;
      continue;
    }
    append<uint32_t>(result, 0x04034b50);
    appendSharedFields(result, placed.back(), form, 0);
    result += name;
    result += content;
  }
  uint64_t start = result.size();
  for (const PlacedEntry &entry : placed)
    appendCentralHeader(result, entry, form);
  uint64_t size = result.size() - start;
  if (form.zip64)
    appendZip64Records(result, placed.size(), start);
  auto count = static_cast<uint16_t>(form.zip64 ? 0xffff : placed.size());
  append<uint32_t>(result, 0x06054b50);
  append<uint32_t>(result, 0); // Disk numbers.
  append<uint16_t>(result, count);
  append<uint16_t>(result, count);
  append<uint32_t>(result,
                   form.zip64 ? 0xffffffff : static_cast<uint32_t>(size));
  append<uint32_t>(result,
                   form.zip64 ? 0xffffffff : static_cast<uint32_t>(start));
  append<uint16_t>(result, 0);
  return result;
}

} // namespace shardc::pt2
