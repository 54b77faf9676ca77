//===- WeightsBuilder.h - Fills Weights -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The readers of the two weight formats describe the tensors they find to a
// WeightsBuilder, which checks each against its storage.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_WEIGHTSBUILDER_H
#define SHARDC_COMPILER_PT2_WEIGHTSBUILDER_H

#include "compiler/Pt2/Weights.h"

#include <map>
#include <memory>
#include <utility>

namespace shardc::pt2 {

class WeightsBuilder {
public:
  /// The storage that entry `entryIndex` of `archive` holds; the same number
  /// for the same entry.
  size_t addStorage(std::shared_ptr<const ZipArchive> archive,
                    size_t entryIndex);

  /// Adds tensor `name` in storage `entry.storage`. Throws ReadFailure when the
  /// name is taken, a size or stride is negative, or the storage has bytes but
  /// too few for the tensor.
  void addTensor(const std::string &name, WeightEntry entry);

  /// Says which of the tensors without bytes share memory: those of a group.
  /// Throws ReadFailure for a tensor that was not added or is named twice.
  void setShared(const std::vector<NameGroup> &groups);

  /// Ends the building. Throws ReadFailure when the tensors together expand
  /// their storages beyond reason.
  Weights take();

private:
  Weights weights;
  std::map<std::pair<const ZipArchive *, size_t>, size_t> storageByEntry;
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_WEIGHTSBUILDER_H
