//===- TorchSaveReader.h - Pickled weights of old archives ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The weights of torch 2.8 and older: a zip written by torch.save inside the
// archive, in which a pickle describes a dictionary of tensors and one entry
// holds the bytes of each storage. The pickle is read as data (PickleReader.h)
// and matched against the few shapes that plain tensors have.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_TORCHSAVEREADER_H
#define SHARDC_COMPILER_PT2_TORCHSAVEREADER_H

#include "compiler/Pt2/WeightsBuilder.h"
#include "compiler/Pt2/ZipArchive.h"

namespace shardc::pt2 {

/// Adds the tensors of the torch.save file that entry `index` of `archive` is.
/// An entry without bytes has no tensors. Throws ReadFailure.
void readTorchSave(const ZipArchive &archive, size_t index,
                   WeightsBuilder &builder);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_TORCHSAVEREADER_H
