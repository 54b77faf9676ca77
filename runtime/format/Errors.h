//===- Errors.h - Error numbers, their titles and exit codes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The error numbers of Errors.def as an enumeration. A number decides the exit
// code of the program that reports it, by its range.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_ERRORS_H
#define SHARDC_RUNTIME_FORMAT_ERRORS_H

#include <string_view>
#include <vector>

namespace shardc {

/// 306 for "E0306", so that a code keeps its value when others are added.
constexpr int errorValue(std::string_view number) {
  int value = 0;
  for (const char digit : number.substr(1))
    value = 10 * value + (digit - '0');
  return value;
}

/// Every numbered error; `ErrorCode::E0306` is printed as "E0306".
enum class ErrorCode {
#define SHARDC_ERROR(number, title) number = errorValue(#number),
#include "runtime/format/Errors.def"
};

/// The number as text, such as "E0306".
std::string_view errorNumber(ErrorCode code);

/// What kind of failure it is, such as "digest mismatch".
std::string_view errorTitle(ErrorCode code);

/// The exit code of a program that fails with `code`: 1 compile or output,
/// 2 usage, 4 corrupt or unsupported input, 5 runtime, 130 interrupted.
int exitCode(ErrorCode code);

/// All error numbers in order, for tests and documentation.
const std::vector<ErrorCode> &allErrorCodes();

} // namespace shardc

#endif // SHARDC_RUNTIME_FORMAT_ERRORS_H
