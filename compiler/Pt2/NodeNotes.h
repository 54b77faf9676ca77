//===- NodeNotes.h - Says which node an error is about --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Adds to an error the node that it happened at: name, operator and module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_NODENOTES_H
#define SHARDC_COMPILER_PT2_NODENOTES_H

#include "compiler/Pt2/ExportedProgram.h"
#include "compiler/Pt2/ReadFailure.h"

namespace shardc::pt2 {

/// Runs `action` and notes on failure that it was about `node`, number `index`
/// of its graph.
template <typename Action>
void withNodeNotes(const Node &node, size_t index, Action action) {
  try {
    action();
  } catch (ReadFailure &failure) {
    std::string name =
        node.name.empty() ? std::to_string(index) : "'" + node.name + "'";
    failure.status.addNote("at node " + name + " (" + node.target + ")");
    if (!node.modulePath().empty())
      failure.status.addNote("in module '" + std::string(node.modulePath()) +
                             "'");
    throw;
  }
}

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_NODENOTES_H
