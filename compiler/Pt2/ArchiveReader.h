//===- ArchiveReader.h - Reads torch.export archives ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the `.pt2` archives that torch.export.save writes, without PyTorch and
// without executing anything that is in them. Two containers are understood:
// the PT2 archive of torch 2.8 and later, and the flat zip of torch 2.6 and
// 2.7. Whatever the bytes are, the result is a program that keeps the promises
// of ExportedProgram.h and Weights.h, or one numbered error; never a crash.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ARCHIVEREADER_H
#define SHARDC_COMPILER_PT2_ARCHIVEREADER_H

#include "compiler/Pt2/ExportNotes.h"
#include "compiler/Pt2/ExportedProgram.h"
#include "compiler/Pt2/Weights.h"
#include "runtime/format/Status.h"

#include <string>

namespace shardc::pt2 {

/// A program and the tensors it refers to. Every parameter, buffer and tensor
/// constant of `program.signature` has an entry of the same dtype and sizes in
/// `weights`; whether its bytes are present, `weights` says.
struct ExportedModel {
  ExportedProgram program;
  Weights weights;
  ExportNotes notes;
};

/// Reads the archive at `path`. The file stays mapped as long as the weights
/// live and must not be truncated meanwhile.
StatusOr<ExportedModel> readArchive(const std::string &path);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ARCHIVEREADER_H
