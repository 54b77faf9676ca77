//===- Fiber.h - Stacks that take turns -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A fiber is a stack with work on it that runs until it leaves for another
// fiber by itself. Leaving saves a handful of registers (Boost.Context) and
// asks the system for nothing. Nothing is ever unwound: a fiber that is not
// come back to keeps what its frames hold, and its stack is simply released.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_FIBER_H
#define SHARDC_RUNTIME_DEVICE_FIBER_H

#include "runtime/format/Status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace shardc::runtime {

/// A place to leave and to come back to. Stays where it is while it is used.
class Fiber {
public:
  using Work = void (*)(void *argument);

  /// The stack that the caller is on, to be left and come back to.
  Fiber() = default;

  /// Puts `work(argument)`, which never returns, on a stack; it begins when
  /// somebody leaves for this fiber.
  void begin(std::span<std::byte> stack, Work work, void *argument);

  /// Called on this fiber: continues `other`, and returns when a fiber leaves
  /// for this one.
  void leaveFor(Fiber &other);

private:
  struct Handover;
  struct Entry;

  /// Where it goes on.
  void *place = nullptr;
  Work work = nullptr;
  void *argument = nullptr;
  /// For the address sanitizer, which follows stacks.
  const void *stackBegin = nullptr;
  size_t stackBytes = 0;
  [[maybe_unused]] void *sanitizerStack = nullptr;
};

/// Stacks of one size with a page below each that cannot be touched. They take
/// memory when they are first used. Not copied.
class FiberStacks {
public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// Makes at least `count` stacks; fails with E0503.
  Status reserve(size_t count);

  size_t size() const { return stacks.size(); }
  std::span<std::byte> operator[](size_t index) const { return stacks[index]; }

private:
  struct Mapping {
    void *address;
    size_t bytes;
  };
  std::vector<Mapping> mappings;
  std::vector<std::span<std::byte>> stacks;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_FIBER_H
