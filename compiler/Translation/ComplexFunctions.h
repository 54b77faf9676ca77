//===- ComplexFunctions.h - Functions of complex numbers ------------------===//
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

/// Translates `pow` where `self` or `exponent` is complex.
llvm::LogicalResult translateComplexPower(NodeCall &call);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_COMPLEXFUNCTIONS_H
