//===- Status.h - Success, or a numbered error with its context -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The error values of the runtime and of the artifact format:
//
//   StatusOr<Artifact> artifact = readArtifact(path);
//   if (!artifact.ok())
//     return artifact.status();
//   use(*artifact);
//
// Nothing in runtime/ lets an exception cross a function that returns one of
// these. A Status is one pointer; success allocates nothing.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_STATUS_H
#define SHARDC_RUNTIME_FORMAT_STATUS_H

#include "runtime/format/Errors.h"

#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardc {

/// Success, or an error number with a message, notes and possibly a help
/// line. A message is lower case, has no final period, and names the value and
/// the limit. Copies share the error until one of them adds to it.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  Status(ErrorCode code, std::string message)
      : error(
            std::make_shared<Error>(Error{code, std::move(message), {}, {}})) {}

  bool ok() const { return !error; }
  ErrorCode code() const { return get().code; }
  const std::string &message() const { return get().message; }
  const std::vector<std::string> &notes() const { return get().notes; }
  const std::string &help() const { return get().help; }

  /// Adds "note: TEXT", context that the place of failure did not know.
  /// No effect on success.
  Status &addNote(std::string text) {
    if (error)
      own().notes.push_back(std::move(text));
    return *this;
  }
  /// Sets "help: TEXT", what would fix it. No effect on success.
  Status &setHelp(std::string text) {
    if (error)
      own().help = std::move(text);
    return *this;
  }

private:
  struct Error {
    ErrorCode code;
    std::string message;
    std::vector<std::string> notes;
    std::string help;
  };
  const Error &get() const {
    assert(error && "a success has no error");
    return *error;
  }
  /// A copy of the error that no other Status shares.
  Error &own() {
    auto copy = std::make_shared<Error>(*error);
    error = copy;
    return *copy;
  }
  std::shared_ptr<const Error> error;
};

/// What a program prints on stderr for a failure, in colors on a terminal:
///   TOOL: error E0306: MESSAGE
///     note: …
///     help: …
std::string render(const Status &status, const std::string &tool);

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
public:
  StatusOr(T value) : object(std::make_unique<T>(std::move(value))) {}
  StatusOr(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a StatusOr without a value needs an error");
  }

  bool ok() const { return object != nullptr; }
  const Status &status() const { return failure; }
  T &operator*() { return *object; }
  const T &operator*() const { return *object; }
  T *operator->() { return object.get(); }
  const T *operator->() const { return object.get(); }

private:
  Status failure;
  std::unique_ptr<T> object;
};

} // namespace shardc

#endif // SHARDC_RUNTIME_FORMAT_STATUS_H
