//===- Quantities.cpp - Bytes and seconds for people ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units by size.
//===----------------------------------------------------------------------===//

#include "runtime/format/Quantities.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace shardc {

std::string printDecimal(double value, int digits) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// Three digits in all, where the value is below 1000.
static std::string printShort(double value) {
  const double size = std::abs(value);
  return printDecimal(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string printBytes(int64_t bytes) {
  constexpr std::array<const char *, 5> units = {"B", "KiB", "MiB", "GiB",
                                                 "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return (unit == 0 ? printDecimal(value, 0) : printShort(value)) + " " +
         units[unit];
}

std::string printSeconds(double seconds) {
  if (seconds == 0)
    return "0 s";
  if (seconds >= 0.9995)
    return printShort(seconds) + " s";
  if (seconds >= 0.9995e-3)
    return printShort(seconds * 1e3) + " ms";
  return printShort(seconds * 1e6) + " us";
}

std::string printOperations(double operations) {
  constexpr std::array<const char *, 6> units = {"FLOP",  "kFLOP", "MFLOP",
                                                 "GFLOP", "TFLOP", "PFLOP"};
  size_t unit = 0;
  for (; operations >= 999.5 && unit + 1 < units.size(); ++unit)
    operations /= 1000;
  return (unit == 0 ? printDecimal(operations, 0) : printShort(operations)) +
         " " + units[unit];
}

std::string printRate(double rate) {
  return std::abs(rate) < 99.95 ? printShort(rate)
                                : printCount(std::llround(rate));
}

std::string printCount(int64_t count) {
  std::string text = std::to_string(count);
  const size_t first = text.front() == '-' ? 1 : 0;
  for (size_t at = text.size(); at > first + 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string printRanks(int64_t ranks) {
  return printCount(ranks) + (ranks == 1 ? " rank" : " ranks");
}

} // namespace shardc
