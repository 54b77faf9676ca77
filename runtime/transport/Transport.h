//===- Transport.h - How ranks exchange data ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What connects the ranks of a run: it gives each its communicators.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/transport/Communicator.h"

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

  /// Returns when every rank has called it, or the failure of another one.
  virtual Status barrier() = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
