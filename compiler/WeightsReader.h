//===- WeightsReader.h - Weights of an export for an artifact -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies the parameters and buffers that a program declares out of an export.
// Weights never pass through the IR.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_WEIGHTSREADER_H
#define SHARDC_COMPILER_WEIGHTSREADER_H

#include "compiler/Pt2/ArchiveReader.h"
#include "runtime/format/Artifact.h"

#include <cstddef>
#include <vector>

namespace shardc {

class WeightsReader {
public:
  /// Sets `artifact.weights` to the tensors of its parameters and buffers. A
  /// weight-free export leaves it without weights: they are given at run time.
  /// The artifact borrows the bytes; this object owns them.
  Status read(const pt2::ExportedModel &model, format::Artifact &artifact);

private:
  Status add(const pt2::Weights &weights, const std::string &name,
             format::Dtype dtype, const std::vector<int64_t> &shape,
             std::vector<format::NamedTensor> &tensors);

  std::vector<std::vector<std::byte>> storage;
};

} // namespace shardc

#endif // SHARDC_COMPILER_WEIGHTSREADER_H
