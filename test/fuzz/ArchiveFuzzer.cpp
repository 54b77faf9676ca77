//===- ArchiveFuzzer.cpp - Any bytes as a .pt2 archive --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input as an archive, binds its sizes and reads every tensor. A
// checksum stands before everything behind the directory, so the mutator
// corrects the checksums of what it changed in most cases.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SymbolBindings.h"

#include <cstring>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

using namespace shardc;
using namespace shardc::pt2;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
                                   size_t maximumSize);

namespace {

/// A file in memory: archives are mapped, so they are read by path.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view content)
      : descriptor(::memfd_create("archive", MFD_CLOEXEC)) {
    if (descriptor < 0 || ::write(descriptor, content.data(), content.size()) !=
                              static_cast<ssize_t>(content.size()))
      __builtin_trap();
  }
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() { ::close(descriptor); }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

template <typename Integer>
Integer load(std::string_view bytes, size_t offset) {
  Integer value = 0;
  if (offset + sizeof(value) <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

/// Writes the checksum of each entry whose central header and payload are
/// found into that header.
void correctChecksums(uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<char *>(data), size);
  constexpr std::string_view signature("PK\x01\x02");
  for (size_t central = bytes.find(signature); central != bytes.npos;
       central = bytes.find(signature, central + 1)) {
    if (central + 46 > size)
      return;
    uint64_t length = load<uint32_t>(bytes, central + 24);
    uint64_t start = load<uint32_t>(bytes, central + 42);
    start += 30 + load<uint16_t>(bytes, start + 26) +
             load<uint16_t>(bytes, start + 28);
    if (start > size || length > size - start)
      continue;
    auto checksum = static_cast<uint32_t>(crc32_z(0, data + start, length));
    std::memcpy(data + central + 16, &checksum, sizeof(checksum));
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maximumSize, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, maximumSize);
  constexpr unsigned keptWrong = 8; // One in this many.
  if (seed % keptWrong != 0)
    correctChecksums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file({reinterpret_cast<const char *>(data), size});
  StatusOr<ExportedModel> model = readArchive(file.path());
  if (!model.ok())
    return 0;
  (void)model->weights.tiedNames();
  for (const auto &[name, entry] : model->weights.entries())
    (void)model->weights.readTensor(name).ok();
  (void)bindSymbols(*model, {}).ok();
  return 0;
}
