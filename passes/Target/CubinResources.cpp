//===- CubinResources.cpp - What a chip's kernels take --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The records of `.nv.info` are a format, an attribute, a size, and where the
// format says so as many bytes: here a symbol's number and a value.
//===----------------------------------------------------------------------===//

#include "passes/Target/CubinResources.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using File = object::ELFFile<object::ELF64LE>;

namespace shardc::target {

namespace {
/// A record about a function.
struct Record {
  uint8_t attribute;
  uint32_t symbol, value;
};
} // namespace

static constexpr uint8_t frameSize = 0x11, registerCount = 0x2f;

/// The records of a section that have a symbol and a value.
static SmallVector<Record> recordsOf(ArrayRef<uint8_t> bytes) {
  constexpr uint8_t sized = 4;
  constexpr size_t header = 4, pair = 8;
  SmallVector<Record> records;
  while (bytes.size() >= header) {
    const uint8_t format = bytes[0], attribute = bytes[1];
    const size_t size =
        format == sized ? support::endian::read16le(&bytes[2]) : 0;
    if (bytes.size() < header + size)
      break;
    if (size == pair)
      records.push_back({attribute, support::endian::read32le(&bytes[4]),
                         support::endian::read32le(&bytes[8])});
    bytes = bytes.drop_front(header + size);
  }
  return records;
}

static Error addRecords(const File &file, const File::Elf_Shdr &section,
                        StringMap<KernelResources> &resources) {
  Expected<ArrayRef<uint8_t>> bytes = file.getSectionContents(section);
  if (!bytes)
    return bytes.takeError();
  Expected<const File::Elf_Shdr *> symbols = file.getSection(section.sh_link);
  if (!symbols)
    return symbols.takeError();
  Expected<StringRef> names = file.getStringTableForSymtab(**symbols);
  if (!names)
    return names.takeError();
  for (const Record &record : recordsOf(*bytes)) {
    auto symbol = file.getSymbol(*symbols, record.symbol);
    if (!symbol)
      return symbol.takeError();
    Expected<StringRef> name = (*symbol)->getName(*names);
    if (!name)
      return name.takeError();
    if (record.attribute == registerCount)
      resources[*name].registers = record.value;
    else if (record.attribute == frameSize)
      resources[*name].localBytes = record.value;
  }
  return Error::success();
}

Expected<StringMap<KernelResources>> readResources(ArrayRef<char> cubin) {
  Expected<File> file = File::create(StringRef(cubin.data(), cubin.size()));
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  StringMap<KernelResources> resources;
  for (const File::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name == ".nv.info")
      if (Error error = addRecords(*file, section, resources))
        return std::move(error);
  }
  return resources;
}

} // namespace shardc::target
