//===- SizeExpression.h - Sizes as functions of symbols -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the size expressions of an export. Symbolic sizes are written in
// sympy's `srepr` notation,
//
//   Mul(Integer(2), FloorDiv(Symbol('s77', positive=True), Integer(4)))
//
// with the functions of sympy's core and of torch/utils/_sympy/functions.py.
// The conditions under which an export holds (`guards_code`) are Python:
//
//   (8*L['idx'].size()[0]) == (8*L['targets'].size()[0])
//
// Both are read and evaluated in one go, without a tree in between, in time
// linear in their length and with bounded recursion.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SIZEEXPRESSION_H
#define SHARDC_COMPILER_PT2_SIZEEXPRESSION_H

#include "compiler/Pt2/SizeNumber.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardc::pt2 {

/// The value of a symbol. May throw ReadFailure to refuse one.
using SymbolValue = std::function<SizeNumber(std::string_view symbol)>;

/// Evaluates an expression in `srepr` notation. Throws ReadFailure with E0141
/// when the expression is malformed, uses a function that is not known, or has
/// no value for these symbols.
SizeNumber evaluateExpression(std::string_view text, const SymbolValue &symbol);

/// The name in `Symbol('s77', …)` when the whole expression is one symbol.
std::optional<std::string> asSymbol(std::string_view text);

/// The size of dimension `dimension` of input `input`, or its stride.
using InputValue = std::function<std::optional<SizeNumber>(
    std::string_view input, std::string_view property, int64_t dimension)>;

/// Evaluates a condition in Python's notation. `property` of `input` is
/// "size" or "stride". Empty when the condition says something that this
/// evaluator does not understand, which is not an error of the file.
std::optional<bool> evaluateGuard(std::string_view text,
                                  const InputValue &input);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SIZEEXPRESSION_H
