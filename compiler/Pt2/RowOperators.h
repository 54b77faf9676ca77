//===- RowOperators.h - Operators by what they do with rows ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The names of native_functions.yaml, without overloads, that RowRules has a
// rule for. What no table names may not take rows.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ROWOPERATORS_H
#define SHARDC_COMPILER_PT2_ROWOPERATORS_H

#include "compiler/Pt2/ExportedProgram.h"

#include <set>

namespace shardc::pt2 {

namespace operators {

using Names = std::set<std::string_view>;

/// The dimensions that an operator mixes: an argument, and its default. Where
/// there is none, as in `amax(x)`, it mixes all.
struct MixedDims {
  std::string_view argument;
  std::optional<int64_t> fallback;
};

/// What takes no part in a reduction.
enum class Neutral { Zero, One, Lowest, Highest };

/// Element by element, operands broadcast.
extern const Names elementwise;

/// Along dimensions that an argument names.
extern const std::map<std::string_view, MixedDims> mixing;

/// Along one dimension, every tensor with the rows in another one.
extern const Names joining;

/// The last dimensions alone, of which the argument says how many; one where it
/// is empty.
extern const std::map<std::string_view, std::string_view> lastDims;

/// Sample by sample of the first dimension.
extern const Names samples;

/// The same elements in another shape.
extern const Names reshaping;

/// Of these, the ones that only know the order of elements.
extern const Names inOrder;

/// The same number everywhere.
extern const Names creation;

/// Losses of every element, of every row against a class, and of pairs of rows.
extern const Names elementLosses;

extern const Names classLosses;

/// Products of matrices.
extern const Names products;

/// Over rows, without those of a number.
extern const std::map<std::string_view, Neutral> reductions;

/// Along rows, with a result that has them.
extern const std::map<std::string_view, Neutral> along;

extern const Names rowLosses;

/// Sums into places that an index has for each row.
extern const Names accumulations;

} // namespace operators

/// What rows that are not chosen are for a Reduction, or for an operator Along
/// them: the number that takes no part, of a tensor of this dtype.
ArgumentValue neutralNumber(const Node &node, ScalarType dtype);

/// Whether an operator computes its result from its arguments' values alone.
bool isFunction(const Node &node);

/// Whether an operator's result has the elements of its argument in order.
bool keepsOrder(const Node &node);

/// Whether an operator writes into its first argument.
bool changesArgument(const Node &node);

/// Whether an operator takes a number that is known only from data as a tensor.
bool takesNumberAsTensor(const Node &node, std::string_view argument);

/// Whether an operator takes sizes, which become those of its result.
bool takesSizes(const Node &node);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ROWOPERATORS_H
