//===- Safetensors.h - Named tensors in one file --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the safetensors format: eight bytes of header length, a
// JSON header, and the tensors' bytes, row-major, without holes or overlaps
// (https://huggingface.co/docs/safetensors). Reading is strict: a header that
// the reference implementation refuses is refused here.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SAFETENSORS_H
#define SHARDC_RUNTIME_FORMAT_SAFETENSORS_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Dtype.h"
#include "runtime/format/Status.h"

#include <map>
#include <string>
#include <vector>

namespace shardc::format {

/// A tensor whose bytes are borrowed: they must outlive this object.
struct NamedTensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  Bytes data;
};

/// The optional string → string member "__metadata__".
using Metadata = std::map<std::string, std::string>;

struct SafetensorsContent {
  std::vector<NamedTensor> tensors;
  Metadata metadata;

  /// The tensor named `name`, or null.
  const NamedTensor *find(std::string_view name) const;

  /// The first few names, and how many more there are: "it has 'a', 'b'".
  std::string describeNames() const;
};

/// Parses a whole file; the tensors point into `file`. A failure has number
/// `code` and begins with `name`, what the bytes are called in messages.
StatusOr<SafetensorsContent>
readSafetensors(Bytes file, const std::string &name, ErrorCode code);

/// How many bytes a tensor of this shape and dtype has.
size_t bytesOf(const NamedTensor &tensor);

/// The header of a file of these tensors in this order, including the leading
/// length, padded so that the data that follows is aligned to 64 bytes when
/// the header is. What they contain does not matter.
std::string safetensorsHeader(const std::vector<NamedTensor> &tensors,
                              const Metadata &metadata);

/// Writes a file atomically: on any failure (E0601) the old file, if there was
/// one, is untouched.
Status writeSafetensors(const std::string &path,
                        const std::vector<NamedTensor> &tensors,
                        const Metadata &metadata);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SAFETENSORS_H
