//===- StaticSelections.h - Masks choose without sizes of data ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many elements a boolean mask chooses depends on data, but memory is laid
// out ahead of time. Where a selection is only computed with row by row and
// then summed, averaged or put back, all places of the mask are computed in its
// stead:
//
//   rows  = index(x, [mask])           # [u0, 3] of x: [4, 5, 3]
//   loss  = mean(square(rows))
//
// becomes
//
//   chosen = reshape(mask, [20, 1])
//   first  = argmax(chosen, 0, keepdim)   # [1]
//   flat   = reshape(x, [20, 3])
//   rows   = where(chosen, flat, detach(index_select(flat, 0, first)))
//   loss   = sum(masked_fill(square(rows), ~chosen, 0)) / (3 * sum(mask))
//
// A place that is not chosen repeats the first chosen row, so that no infinity
// and no NaN comes from a row that the model does not compute, and gets no
// gradient. A sum, a mean and a write leave it out; what mixes rows in any
// other way, such as a sort or a batch norm along them, is an error.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_STATICSELECTIONS_H
#define SHARDC_COMPILER_PT2_STATICSELECTIONS_H

#include "compiler/Pt2/ExportedProgram.h"

namespace shardc::pt2 {

/// A mask whose places are all computed.
struct StaticSelection {
  /// The name of its tensor, and the module that first chooses by it.
  std::string mask, modulePath;
  int64_t places = 0;
};

/// Rewrites selections in a graph and its subgraphs, whose sizes are numbers
/// with TensorMeta::counts. Afterwards no argument is a symbol and no tensor
/// has counts. Throws ReadFailure: E0140 for what cannot be rewritten, with the
/// node.
std::vector<StaticSelection> makeSelectionsStatic(Graph &graph);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_STATICSELECTIONS_H
