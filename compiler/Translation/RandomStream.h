//===- RandomStream.h - which random numbers an operator draws ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operator that draws has a stream of its own: a number that, with seed
// and step, names its random numbers whatever runs before it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H
#define SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H

#include "mlir/IR/Builders.h"

namespace shardc::translation {

/// One more than the stream of the last operator before the insertion point
/// that draws, 0 for the first. Calls that each make such an operator look at
/// every operator once, all together.
int64_t nextStream(mlir::OpBuilder &builder);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H
