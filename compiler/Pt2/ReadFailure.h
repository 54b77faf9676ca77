//===- ReadFailure.h - How the readers report errors ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How the readers of this folder report what is wrong with their input: they
// throw a ReadFailure, callers on the way out add where it happened, and the
// public functions turn it into a StatusOr. Nothing outside of this folder
// sees an exception.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_READFAILURE_H
#define SHARDC_COMPILER_PT2_READFAILURE_H

#include "runtime/format/Status.h"

#include <new>
#include <string>
#include <utility>

namespace shardc::pt2 {

/// Names for the numbers of runtime/format/Errors.def that this folder uses.
namespace errors {
inline constexpr ErrorCode notAZip = ErrorCode::E0101;
inline constexpr ErrorCode damagedZip = ErrorCode::E0102;
inline constexpr ErrorCode unsupportedZip = ErrorCode::E0103;
inline constexpr ErrorCode noProgram = ErrorCode::E0104;
inline constexpr ErrorCode malformedJson = ErrorCode::E0105;
inline constexpr ErrorCode inputLimit = ErrorCode::E0106;
inline constexpr ErrorCode schemaVersion = ErrorCode::E0107;
inline constexpr ErrorCode schemaViolation = ErrorCode::E0108;
inline constexpr ErrorCode unknownTag = ErrorCode::E0109;
inline constexpr ErrorCode pickledPayload = ErrorCode::E0110;
inline constexpr ErrorCode nonStridedLayout = ErrorCode::E0111;
inline constexpr ErrorCode unsupportedDtype = ErrorCode::E0112;
inline constexpr ErrorCode missingWeights = ErrorCode::E0113;
inline constexpr ErrorCode shortPayload = ErrorCode::E0114;
inline constexpr ErrorCode weightFree = ErrorCode::E0115;
inline constexpr ErrorCode damagedTorchSave = ErrorCode::E0116;
inline constexpr ErrorCode forbiddenPickle = ErrorCode::E0117;
inline constexpr ErrorCode bigEndian = ErrorCode::E0118;
inline constexpr ErrorCode inconsistentProgram = ErrorCode::E0119;
inline constexpr ErrorCode unreadableFile = ErrorCode::E0120;
inline constexpr ErrorCode unsafeName = ErrorCode::E0121;
inline constexpr ErrorCode dataDependentSize = ErrorCode::E0140;
inline constexpr ErrorCode uncomputableSize = ErrorCode::E0141;
} // namespace errors

/// The exception that the readers of this folder throw.
struct ReadFailure {
  Status status;
};

/// Throws a ReadFailure.
[[noreturn]] inline void fail(ErrorCode code, std::string message,
                              std::string help = {}) {
  Status status(code, std::move(message));
  status.setHelp(std::move(help));
  throw ReadFailure{std::move(status)};
}

/// Runs `action`; when it fails, adds the note that `makeNote` returns.
template <typename MakeNote, typename Action>
decltype(auto) withNote(MakeNote makeNote, Action action) {
  try {
    return action();
  } catch (ReadFailure &failure) {
    failure.status.addNote(makeNote());
    throw;
  }
}

/// Runs `action` and returns its value, or the failure it threw.
template <typename T, typename Action>
StatusOr<T> catchFailure(Action action) noexcept {
  try {
    return StatusOr<T>(action());
  } catch (const ReadFailure &failure) {
    return failure.status;
  } catch (const std::bad_alloc &) {
    return Status(errors::inputLimit, "not enough memory to read the archive");
  }
}

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_READFAILURE_H
