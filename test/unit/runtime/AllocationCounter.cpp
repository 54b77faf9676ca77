//===- AllocationCounter.cpp - Who allocates memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// operator new takes memory from malloc and, while somebody counts, looks at
// the stack for a function of oneDNN's library.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/AllocationCounter.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <new>

namespace {
constexpr int depth = 24;

std::atomic<bool> counting{false};
std::atomic<int64_t> ours{0}, oneDnns{0};
std::array<void *, depth> firstFrames;
std::atomic<int> firstDepth{0};

void count() {
  thread_local bool inside = false;
  if (!counting || inside)
    return;
  inside = true;
  std::array<void *, depth> frames;
  const int found = backtrace(frames.data(), depth);
  bool isOneDnns = false;
  for (int i = 0; i < found; ++i)
    if (Dl_info info; dladdr(frames[i], &info) && info.dli_fname)
      isOneDnns = isOneDnns || std::strstr(info.dli_fname, "libdnnl");
  if (isOneDnns) {
    ++oneDnns;
  } else if (ours++ == 0) {
    firstFrames = frames;
    firstDepth = found;
  }
  inside = false;
}

void *allocate(size_t bytes, size_t alignment) {
  count();
  void *const memory =
      alignment > alignof(std::max_align_t)
          ? std::aligned_alloc(alignment,
                               (bytes + alignment - 1) / alignment * alignment)
          : std::malloc(bytes == 0 ? 1 : bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
} // namespace

void *operator new(size_t bytes) { return allocate(bytes, 1); }
void *operator new[](size_t bytes) { return allocate(bytes, 1); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void *operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace shardc::testing {

AllocationCounter::AllocationCounter() {
  // The first call loads a library, which allocates.
  void *frame;
  backtrace(&frame, 1);
  ours = oneDnns = firstDepth = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

int64_t AllocationCounter::inOneDnn() const { return oneDnns; }

int64_t AllocationCounter::count() const { return ours; }

std::string AllocationCounter::place() const {
  counting = false;
  char **const symbols = backtrace_symbols(firstFrames.data(), firstDepth);
  std::string text;
  for (int i = 0; i < firstDepth; ++i)
    text += std::string(symbols[i]) + "\n";
  std::free(symbols);
  return text;
}

} // namespace shardc::testing
