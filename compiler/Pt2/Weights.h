//===- Weights.h - The tensors of a .pt2 archive --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensors that a `.pt2` archive carries beside its graph: parameters,
// buffers and tensor constants, by fully qualified name. Types, aliasing and
// sizes are known at once; the bytes of a tensor are copied out of the mapped
// file only when they are asked for.
//
// A tensor is a strided window on a storage, and several tensors may look at
// one storage: that is how PyTorch ties weights. Storages without bytes occur
// too (an export under FakeTensorMode or on the meta device): the archive is
// then weight-free, and its payloads do not show which tensors share memory,
// because PyTorch gives every such tensor of a dtype the same storage. The
// notes of the export helper do.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_WEIGHTS_H
#define SHARDC_COMPILER_PT2_WEIGHTS_H

#include "compiler/Pt2/ExportedProgram.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::pt2 {

class ZipArchive;

/// A tensor's place in its storage. Sizes and strides are not negative and the
/// window is known to lie inside the storage, unless the storage is empty.
struct WeightEntry {
  ScalarType dtype;
  std::vector<int64_t> sizes;
  /// In elements, like `storageOffset`.
  std::vector<int64_t> strides;
  int64_t storageOffset = 0;
  bool isParameter = false;
  bool requiresGrad = false;
  /// Index into the archive's storages; equal indices share memory.
  size_t storage = 0;

  int64_t elementCount() const;
};

/// Names of tensors that belong together: at least two, sorted.
using NameGroup = std::vector<std::string>;

/// All tensors of one archive. Copies share the mapped file. Reading is safe
/// from several threads.
class Weights {
public:
  /// The tensors by fully qualified name.
  const NameMap<WeightEntry> &entries() const { return byName; }

  /// The tensor called `name`, or null.
  const WeightEntry *find(std::string_view name) const;

  /// Whether the archive has bytes for this tensor. False for a weight-free
  /// export; true for a tensor without elements.
  bool hasData(const WeightEntry &entry) const;

  /// True when some tensor with elements has no bytes.
  bool isWeightFree() const;

  /// Whether it is known which tensors share memory: false for a weight-free
  /// export without notes of the export helper.
  bool isSharingKnown() const;

  /// Groups of tensors that are known to share a storage, sorted by first name.
  std::vector<NameGroup> sharedStorages() const;

  /// Those that are the same window of one with the same dtype: one tensor of
  /// several names.
  std::vector<NameGroup> tiedNames() const;

  /// The elements of tensor `name`, contiguous in row-major order, little
  /// endian; `elementCount() * byteSize(dtype)` bytes. Fails on an unknown
  /// name, on a weight-free export, and when the payload's checksum is wrong.
  StatusOr<std::vector<std::byte>> readTensor(std::string_view name) const;

private:
  friend class WeightsBuilder;

  /// The bytes that back one or more tensors: an entry of an archive.
  struct Storage {
    std::shared_ptr<const ZipArchive> archive;
    size_t entryIndex = 0;
    int64_t bytes = 0;
    /// No bytes, but the tensors of it are known to share memory.
    bool isShownByNotes = false;
  };

  NameMap<WeightEntry> byName;
  std::vector<Storage> storages;
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_WEIGHTS_H
