//===- Errors.cpp - Error numbers, their titles and exit codes ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tables made from Errors.def and the rule that maps a range to an exit code.
//===----------------------------------------------------------------------===//

#include "runtime/format/Errors.h"

namespace shardc {

std::string_view errorNumber(ErrorCode code) {
  switch (code) {
#define SHARDC_ERROR(number, title)                                            \
  case ErrorCode::number:                                                      \
    return #number;
#include "runtime/format/Errors.def"
  }
  return "E????";
}

std::string_view errorTitle(ErrorCode code) {
  switch (code) {
#define SHARDC_ERROR(number, title)                                            \
  case ErrorCode::number:                                                      \
    return title;
#include "runtime/format/Errors.def"
  }
  return "unknown error";
}

int exitCode(ErrorCode code) {
  if (code == ErrorCode::E0501)
    return 130;
  switch (errorNumber(code)[2]) {
  case '0':
    return 2;
  case '1':
  case '3':
  case '4':
    return 4;
  case '5':
    return 5;
  case '7':
    return 6;
  case '8':
    return 3;
  default:
    return 1;
  }
}

const std::vector<ErrorCode> &allErrorCodes() {
  static const std::vector<ErrorCode> codes = {
#define SHARDC_ERROR(number, title) ErrorCode::number,
#include "runtime/format/Errors.def"
  };
  return codes;
}

} // namespace shardc
