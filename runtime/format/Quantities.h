//===- Quantities.h - Bytes and seconds for people ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How reports print quantities: three or four digits and a unit.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_QUANTITIES_H
#define SHARDC_RUNTIME_FORMAT_QUANTITIES_H

#include <cstdint>
#include <string>

namespace shardc {

/// "61.3 GiB", "512 B".
std::string printBytes(int64_t bytes);

/// "2.31 s", "35.2 ms", "4.0 us".
std::string printSeconds(double seconds);

/// "984 TFLOP", "52.0 MFLOP".
std::string printOperations(double operations);

/// What happens in a second: "1,235", "39.6", "3.96".
std::string printRate(double rate);

/// "1,234,567".
std::string printCount(int64_t count);

/// With that many digits behind the point.
std::string printDecimal(double value, int digits);

/// "1 rank", "16,384 ranks".
std::string printRanks(int64_t ranks);

} // namespace shardc

#endif // SHARDC_RUNTIME_FORMAT_QUANTITIES_H
