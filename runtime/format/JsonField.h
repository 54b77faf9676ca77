//===- JsonField.h - Strict access to a JSON document ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A JSON value together with its place, so that every complaint names the
// archive entry and the JSON pointer (RFC 6901) of what is wrong:
//
//   entry 'program.json', '/commands/3/stream': expected an integer
//
// Internal to runtime/format: access throws MalformedField, which
// parseDocument catches and turns into a Status.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_JSONFIELD_H
#define SHARDC_RUNTIME_FORMAT_JSONFIELD_H

#include "runtime/format/Attributes.h"
#include "runtime/format/Bytes.h"
#include "runtime/format/Dtype.h"
#include "runtime/format/Status.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <limits>
#include <optional>

namespace shardc::format {

/// Thrown by JsonField and caught by parseDocument; never leaves the library.
struct MalformedField {
  std::string place;
  std::string complaint;
};

/// A value of a document that outlives it.
class JsonField {
public:
  JsonField(const nlohmann::json &value, std::string pointer)
      : value(value), pointer(std::move(pointer)) {}

  /// The member `key` of an object; a missing one is an error.
  JsonField operator[](const std::string &key) const;
  std::optional<JsonField> find(const std::string &key) const;
  /// The members of an array.
  std::vector<JsonField> elements() const;
  /// The members of an object in order of their names.
  std::vector<std::pair<std::string, JsonField>> members() const;

  std::string text() const;
  bool boolean() const;
  double number() const;
  /// An integer in [least, most].
  int64_t integer(int64_t min = 0,
                  int64_t max = std::numeric_limits<int64_t>::max()) const;
  std::vector<int64_t> integers(int64_t min = 0) const;
  std::vector<std::string> texts() const;
  Dtype dtype() const;
  Attributes attributes() const;

  [[noreturn]] void fail(const std::string &complaint) const;

private:
  const nlohmann::json &value;
  std::string pointer;
};

/// Parses `text`, the entry `entry` of an artifact, and calls `read` on its
/// root. Rejects, with `code`: text larger than 256 MiB, nesting deeper than
/// 16, invalid JSON and whatever `read` finds malformed.
Status parseDocument(Bytes text, const std::string &entry, ErrorCode code,
                     const std::function<void(const JsonField &)> &read);

/// The same for a file that people write: complaints name the file at `path`
/// and the line of what is wrong.
Status parseFile(Bytes text, const std::string &path, ErrorCode code,
                 const std::function<void(const JsonField &)> &read);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_JSONFIELD_H
