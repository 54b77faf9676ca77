//===- ArtifactFuzzer.cpp - Any bytes as an artifact ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input as an artifact, with all rules. Checksums and digests stand
// before everything behind the directory, so most changes are made inside of an
// entry: the mutator changes its text, or its members as
// test/artifact/ArtifactMutator.h does, and corrects the digests.
//===----------------------------------------------------------------------===//

#include "runtime/format/Artifact.h"
#include "test/artifact/ArtifactMutator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace shardc;
using namespace shardc::testing;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
                                   size_t maximumSize);

/// Changes the bytes of one of the JSON entries.
static void mutateText(ArtifactEntries &entries, std::mt19937_64 &random) {
  static const char *const names[] = {"program.json", "parameters.json",
                                      "summary.json", "manifest.json"};
  constexpr size_t room = 64;
  std::string &text = entries[names[random() % std::size(names)]];
  const size_t size = text.size();
  text.resize(size + room);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(text.data()), size,
                               text.size()));
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maximumSize, unsigned seed) {
  std::mt19937_64 random(seed);
  ArtifactEntries entries =
      splitArtifact({reinterpret_cast<const char *>(data), size});
  constexpr unsigned changedRaw = 8; // One in this many.
  if (entries.empty() || random() % changedRaw == 0)
    return LLVMFuzzerMutate(data, size, maximumSize);
  if (random() % 2 == 0)
    mutateText(entries, random);
  else
    mutate(entries, random);
  const std::string mutant = joinArtifact(std::move(entries));
  if (mutant.size() > maximumSize)
    return size;
  std::copy(mutant.begin(), mutant.end(), data);
  return mutant.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Artifacts are mapped, so they are read by path.
  const int descriptor = memfd_create("artifact", MFD_CLOEXEC);
  if (descriptor < 0 ||
      write(descriptor, data, size) != static_cast<ssize_t>(size))
    __builtin_trap();
  (void)format::readArtifact("/proc/self/fd/" + std::to_string(descriptor))
      .ok();
  close(descriptor);
  return 0;
}
