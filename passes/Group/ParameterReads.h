//===- ParameterReads.h - Where a value is read ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Until modules are inlined, what an operator takes may have been read outside
// of its module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_PARAMETERREADS_H
#define SHARDC_PASSES_GROUP_PARAMETERREADS_H

#include "dialects/Fsdp/Fsdp.h"

namespace shardc {

/// The read that `value` comes from, through inputs and results of modules;
/// null when it is computed.
fsdp::ReadOp findRead(mlir::Value value);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_PARAMETERREADS_H
