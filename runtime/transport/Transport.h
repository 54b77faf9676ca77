//===- Transport.h - How ranks exchange data ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What connects the ranks of a run: it gives each its communicators.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/transport/Communicator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

/// One rank's end. Used by that rank's thread alone.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t worldSize() const = 0;

  /// A communicator of the program by its number, which lives as long as the
  /// transport. Streams run at their own pace, and ranks need not interleave
  /// them alike: several may have something in flight.
  virtual Communicator &communicator(size_t number) = 0;

  /// Sets `all` to the bits that any rank gives, when all have called it, or
  /// returns the failure of another one. Allocates nothing.
  virtual Status anyOf(uint64_t own, uint64_t &all) = 0;

  /// What every rank gives, by rank, in the same way. For short messages.
  virtual StatusOr<std::vector<std::string>>
  exchange(const std::string &own) = 0;

  /// Returns when every rank has called it, or the failure of another one.
  Status barrier() {
    uint64_t none = 0;
    return anyOf(none, none);
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
