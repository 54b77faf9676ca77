//===- GraphTranslator.h - The nodes of an export -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Translates the nodes of a graph in order, and the graphs inside it: regions
// under torch.no_grad and torch.autocast are graphs of their own in an export
// and become part of the one flat program, with `aten.detach` where gradients
// stop and conversions where autocast makes them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_GRAPHTRANSLATOR_H
#define SHARDC_COMPILER_TRANSLATION_GRAPHTRANSLATOR_H

#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Requirements.h"
#include "passes/Import/ModuleStack.h"

namespace shardc::translation {

/// How often a graph calls one operator, regions included.
struct OperatorUse {
  /// "torch.ops.aten.linear.default".
  std::string target;
  int64_t count = 0;
  const pt2::Node *first = nullptr;
  bool isSupported = false;
};

/// Every operator of `graph`, by name. Operators that compute sizes are not
/// among them, nor are those without translation whose results nothing uses.
std::vector<OperatorUse> operatorUses(const pt2::Graph &graph);

/// The graph inside a torch.no_grad or torch.autocast region; null for every
/// other node.
const pt2::Graph *regionOf(const pt2::Node &node);

class GraphTranslator {
public:
  GraphTranslator(mlir::OpBuilder &builder, TensorSlots &slots)
      : builder(builder), slots(slots) {}

  /// What the translated nodes require.
  const Requirements &getRequirements() const { return requirements; }

  /// Reports every operator of `graph` that has no translation, as one error
  /// (E0130).
  llvm::LogicalResult checkOperators(const pt2::Graph &graph);

  /// Translates all nodes at the builder's insertion point. The graph's inputs
  /// are defined in the slots.
  llvm::LogicalResult translate(const pt2::Graph &graph);

private:
  mlir::OpBuilder &builder;
  TensorSlots &slots;
  Requirements requirements;
  OperatorTable table;
  /// The stack of the last node that had one: nodes without are PyTorch's
  /// own and belong to what surrounds them.
  llvm::SmallVector<ModuleFrame> frames;
  /// The innermost autocast region.
  const Autocast *autocast = nullptr;
  bool isGradientDisabled = false;
  bool floatTypesDiffer = false;

  mlir::Location enterNode(const pt2::Node &node);
  mlir::InFlightDiagnostic error(llvm::StringRef number, const pt2::Node &node,
                                 mlir::Location location);
  llvm::LogicalResult translateNode(const pt2::Graph &graph,
                                    const pt2::Node &node);
  llvm::LogicalResult translateGradientRegion(const pt2::Node &node,
                                              mlir::Location location);
  llvm::LogicalResult translateAutocastRegion(const pt2::Node &node,
                                              mlir::Location location);
  llvm::LogicalResult translateRegion(const pt2::Node &node,
                                      size_t graphArgument,
                                      mlir::Location location);
  void detachResults(const pt2::Node &node, size_t older,
                     mlir::Location location);
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_GRAPHTRANSLATOR_H
