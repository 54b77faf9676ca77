//===- SymbolBindings.h - Symbolic sizes become numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An export with dynamic shapes writes sizes as expressions over symbols. The
// compiler lays out memory ahead of time, so every symbol gets one value: the
// user's, or else that of the example input, which the file stores as the
// symbol's hint. Every size of the program then follows:
//
//   x: [s77, s27, 3]   reshape(x, [mul, 3])  with mul = s27*s77
//   -- bindSymbols(model, {{"s77", 8}}), hint of s27 is 6 -->
//   x: [8, 6, 3]       reshape(x, [48, 3])
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SYMBOLBINDINGS_H
#define SHARDC_COMPILER_PT2_SYMBOLBINDINGS_H

#include "compiler/Pt2/ArchiveReader.h"
#include "compiler/Pt2/StaticSelections.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardc::pt2 {

inline constexpr const char *anyBatch = "*.0";

/// One symbol of a program and the value that it was given.
struct BoundSymbol {
  /// As in the file: "s77".
  std::string name;
  int64_t value = 0;
  /// Whether the user gave the value; otherwise it is the example's.
  bool isGiven = false;
  RangeConstraint range;
  /// The inputs that the symbol sizes, as a binding may spell them: "x.0" is
  /// dimension 0 of input x, "n" is the integer input n.
  std::vector<std::string> places;
};

/// "s77 (x.0, targets.0; 2 to 64)": the symbol, where it is seen, its range.
std::string describe(const BoundSymbol &symbol);

struct SymbolBindings {
  /// In the order of the inputs.
  std::vector<BoundSymbol> symbols;
  /// Conditions of the export that could not be checked for the given values.
  /// Empty when every value is the example's, for which they hold.
  std::vector<std::string> uncheckedGuards;
  /// Assertions about the values of tensors, by what the model says when one
  /// fails. Nothing checks them in a compiled step; each is here once.
  std::set<std::string> uncheckedAssertions;
  std::vector<StaticSelection> selections;
};

/// Gives every symbolic size of `model` a value and makes the program static:
/// afterwards every size and stride is a literal, symbolic arguments are plain
/// numbers, integer inputs are constant inputs, and the nodes that computed
/// sizes are gone, and so are assertions. Numbers keep their places: a constant
/// input of a graph is still an input. What a mask chooses is computed as
/// compiler/Pt2/StaticSelections.h says.
///
/// `given` has values by symbol ("s77"), input dimension ("x.0") or integer
/// input ("n"), and under `anyBatch` that of the first input whose first
/// dimension is a symbol. Errors: E0001 a name that the model does not have,
/// with those that it has; E0003 a value out of the symbol's range or against a
/// condition of the export; E0119 a hint that contradicts its expression; E0140
/// a size that depends on data; E0141 a size that has no value. The model is
/// then unusable.
StatusOr<SymbolBindings>
bindSymbols(ExportedModel &model, const std::map<std::string, int64_t> &given);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SYMBOLBINDINGS_H
