//===- StepInputs.h - Samples as the interpreter takes them ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The samples of a step as tensors, the same that the runtime copies to the
// ranks' devices.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_STEPINPUTS_H
#define SHARDC_TOOLS_VERIFY_STEPINPUTS_H

#include "dialects/Reference/Interpreter.h"
#include "runtime/data/DataSource.h"
#include "runtime/session/SampleOrder.h"

#include <vector>

namespace shardc::verify {

/// The inputs of a step: one entry a micro-batch, an argument and a rank.
using StepInputs = std::vector<llvm::SmallVector<reference::RankTensors>>;

/// Those of `step`, counted from 0, for arguments of `types`, which are
/// declared as `inputs`. Fails with E0407.
StatusOr<StepInputs> readStepInputs(const runtime::DataSource &data,
                                    const std::vector<format::Input> &inputs,
                                    mlir::TypeRange types,
                                    const runtime::SampleOrder &order,
                                    int64_t step);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_STEPINPUTS_H
