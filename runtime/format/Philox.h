//===- Philox.h - Random numbers that belong to a place -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011): a function from a counter and a key to 128 random
// bits. Whoever knows where an element is knows its number, so it does not
// matter which rank or thread asks. The bits are part of the contract between
// compiler, runtime and reference interpreter.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_PHILOX_H
#define SHARDC_RUNTIME_FORMAT_PHILOX_H

#include <array>
#include <cstdint>

namespace shardc::format {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// The 128 bits of `counter` under `key`.
inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t(0xD2511F53) * counter[0];
    const uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_PHILOX_H
