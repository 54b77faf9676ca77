//===- ExportNotes.h - What the export helper recorded --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// tools/export/shardc_export.py adds a file `shardc.json` to an archive, with
// what a graph does not show:
//
//   {"captured": {"encoder.norm": ["b_encoder_norm_mean"], "block@1":
//   ["to_3"]}}
//
// `captured` has for each call of a module, numbered as in `nn_module_stack`,
// the tensors of the graph that the call uses and that are not among its
// arguments: buffers, tensors that another module keeps in an attribute.
// `evaluation`, where it is there, says why an evaluation that is made from the
// program of training would not be that of the module in eval mode. `draws`,
// "mean" where it is there, says that the module in eval mode computes with the
// means of Bernoulli numbers. `shared` has the names of tensors that share
// memory, which an archive without weights does not show otherwise.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_EXPORTNOTES_H
#define SHARDC_COMPILER_PT2_EXPORTNOTES_H

#include "compiler/Pt2/Weights.h"
#include "compiler/Pt2/ZipArchive.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace shardc::pt2 {

/// By module call, names of tensors.
using CapturedTensors =
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

struct ExportNotes {
  /// Absent in an export that the helper did not write.
  std::optional<CapturedTensors> captured;
  /// Why an evaluation would be wrong; empty where it would not.
  std::string evaluation;
  /// Names of buffers that are parameters: not trained, but forward changes
  /// them.
  std::set<std::string, std::less<>> parameters;
  /// Groups of tensors that share memory. Absent in an export that the helper
  /// did not write, or an old one of it.
  std::optional<std::vector<NameGroup>> shared;
  /// Whether an evaluation has the means of Bernoulli numbers in their place.
  bool hasMeansOfDraws = false;
};

/// Reads the notes of an archive whose entries begin with `root`. Throws
/// ReadFailure.
ExportNotes readExportNotes(const ZipArchive &archive, const std::string &root);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_EXPORTNOTES_H
