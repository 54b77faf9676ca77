//===- GradientHistory.h - Where autograd would record a way --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `requires_grad` and `grad_fn` say in PyTorch, read off the translated
// program: a way leads from a parameter to a value through operators on
// floating-point tensors, and ends at `aten.detach`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_GRADIENTHISTORY_H
#define SHARDC_COMPILER_TRANSLATION_GRADIENTHISTORY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/StringSet.h"

namespace shardc::translation {

/// The names of the parameters, frozen ones too, from which a way leads to one
/// of `values`.
llvm::StringSet<> parametersBehind(mlir::ValueRange values);

/// Whether a way leads from a trainable parameter to `value`. Parameters are
/// declared in the module that holds the value.
bool requiresGradient(mlir::Value value);

/// `value`, to which a way leads from `argument`, with a slope of 0 where there
/// is none yet. PyTorch gives such a tensor a gradient of zeros where it could
/// give none: its optimizers then decay the parameter in place of skipping it.
/// `argument` broadcasts to the shape of `value`, or the other way around in
/// dimensions of size 1.
mlir::Value connect(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::Value argument);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_GRADIENTHISTORY_H
