//===- AllocationCounter.h - Who allocates memory -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Replaces operator new in the programs that link it, so that a test can hold
// the promise that a step allocates nothing.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H
#define SHARDC_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H

#include <cstdint>
#include <string>

namespace shardc::testing {

/// Counts the calls of operator new, on all threads, while it lives. One at a
/// time.
class AllocationCounter {
public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter &) = delete;
  AllocationCounter &operator=(const AllocationCounter &) = delete;

  /// Those that oneDNN made for itself, below one of its own functions.
  int64_t inOneDnn() const;
  /// All others.
  int64_t count() const;
  /// Where the first of the others came from; empty if there is none.
  std::string place() const;
};

} // namespace shardc::testing

#endif // SHARDC_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H
