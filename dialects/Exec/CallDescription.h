//===- CallDescription.h - Library calls as the artifact has them ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a call's memory and settings to a command of the format, before anything
// has a place: the rules of runtime/format on calls are asked with it, and the
// artifact's builder adds the places.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_CALLDESCRIPTION_H
#define SHARDC_DIALECTS_EXEC_CALLDESCRIPTION_H

#include "dialects/Exec/Exec.h"
#include "runtime/format/Program.h"

namespace shardc::exec {

/// A tensor of `type` at no place, without strides where it is row-major.
format::TensorReference describeTensor(mlir::MemRefType type);

/// Settings of a library call that `shardc-verify-kernels` accepted.
format::Attributes describeSettings(mlir::DictionaryAttr settings);

/// Callee, attributes and operands of `call`.
format::Command describeCall(CallOp call);

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_CALLDESCRIPTION_H
