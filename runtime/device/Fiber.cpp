//===- Fiber.cpp - Stacks that take turns ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Boost.Context's switch, what the address sanitizer wants to hear about it,
// and stacks from the system.
//===----------------------------------------------------------------------===//

#include "runtime/device/Fiber.h"

#include <boost/context/detail/fcontext.hpp>

#include <sys/mman.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARDC_FOLLOWS_STACKS 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace shardc::runtime {

namespace context = boost::context::detail;

/// What a fiber that leaves tells the one that goes on.
struct Fiber::Handover {
  Fiber *from;
  Fiber *to;
};

struct Fiber::Entry {
  /// On the stack of the fiber that goes on, before anything else.
  static Fiber &arrive(context::transfer_t transfer) {
    const Handover &handover = *static_cast<Handover *>(transfer.data);
#ifdef SHARDC_FOLLOWS_STACKS
    __sanitizer_finish_switch_fiber(handover.to->sanitizerStack,
                                    &handover.from->stackBegin,
                                    &handover.from->stackBytes);
#endif
    handover.from->place = transfer.fctx;
    return *handover.to;
  }

  static void run(context::transfer_t transfer) {
    Fiber &fiber = arrive(transfer);
    fiber.work(fiber.argument);
    assert(false && "the work of a fiber does not return");
  }
};

void Fiber::begin(std::span<std::byte> stack, Work newWork, void *newArgument) {
  work = newWork;
  argument = newArgument;
  stackBegin = stack.data();
  stackBytes = stack.size();
  place = context::make_fcontext(stack.data() + stack.size(), stack.size(),
                                 &Entry::run);
}

void Fiber::leaveFor(Fiber &other) {
  Handover handover = {this, &other};
#ifdef SHARDC_FOLLOWS_STACKS
  __sanitizer_start_switch_fiber(&sanitizerStack, other.stackBegin,
                                 other.stackBytes);
#endif
  Entry::arrive(context::jump_fcontext(other.place, &handover));
}

static constexpr size_t guardBytes = 4096;
static constexpr size_t stackBytes = 64 << 10;

FiberStacks::~FiberStacks() {
  for (const Mapping &mapping : mappings)
    munmap(mapping.address, mapping.bytes);
}

Status FiberStacks::reserve(size_t count) {
  if (count <= stacks.size())
    return Status();
  constexpr size_t step = guardBytes + stackBytes;
  const size_t missing = count - stacks.size();
  void *const address =
      mmap(nullptr, missing * step, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (address == MAP_FAILED)
    return Status(ErrorCode::E0503, "cannot take stacks for " +
                                        std::to_string(missing) +
                                        " threads: " + std::strerror(errno));
  mappings.push_back({address, missing * step});
  for (size_t i = 0; i < missing; ++i) {
    std::byte *const guard = static_cast<std::byte *>(address) + i * step;
    if (mprotect(guard, guardBytes, PROT_NONE) != 0)
      return Status(ErrorCode::E0503,
                    std::string("cannot protect the end of a stack: ") +
                        std::strerror(errno));
    // Frames at the same place of each page would share a set of the cache.
    const size_t unused = stacks.size() % 16 * 256;
    stacks.push_back({guard + guardBytes, stackBytes - unused});
  }
  return Status();
}

} // namespace shardc::runtime
