//===- BesselFunctions.h - Modified Bessel functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values that Decomposition does not have an operator for.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_BESSELFUNCTIONS_H
#define SHARDC_COMPILER_TRANSLATION_BESSELFUNCTIONS_H

#include "compiler/Translation/Decomposition.h"

namespace shardc::translation {

/// exp(-|x|) I(x) for the modified Bessel function of the first kind of order 0
/// or 1. Its gradient is not exact: a caller says the derivative.
mlir::Value scaledBessel(NodeCall &call, int order, mlir::Value x);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_BESSELFUNCTIONS_H
