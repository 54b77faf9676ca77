//===- ComplexFunctions.h - functions of complex numbers ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// exp, log, sqrt, reciprocal, sigmoid, and the circular and hyperbolic
// functions.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_COMPLEXFUNCTIONS_H
#define SHARDC_COMPILER_TRANSLATION_COMPLEXFUNCTIONS_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

/// Translates ATen's operator `name` ("sqrt") of one complex tensor, `self`.
/// Fails, with error E0139, for one that it does not know.
llvm::LogicalResult translateComplexFunction(NodeCall &call,
                                             llvm::StringRef name);

/// A power of a complex tensor as products, which have a derivative; null for
/// an exponent that is not a whole number from 1 to 64.
mlir::Value complexPower(NodeCall &call, mlir::Value self, double exponent);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_COMPLEXFUNCTIONS_H
