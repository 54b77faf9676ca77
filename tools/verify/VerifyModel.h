//===- VerifyModel.h - shardc verify --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `shardc verify` does, behind plain structures.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_VERIFYMODEL_H
#define SHARDC_TOOLS_VERIFY_VERIFYMODEL_H

#include "tools/verify/VerifyOptions.h"

#include <functional>

namespace shardc::verify {

struct VerifiedProgram;

/// Verifies the model at `path` and prints what was compared. Returns the
/// process's exit code: 6 after a difference (E0703), which also leaves a
/// reproducer in the current folder. `change` gets what was compiled before it
/// runs: a test puts a mistake there.
int verifyModel(const std::string &path, const VerifyOptions &options,
                const std::function<void(VerifiedProgram &)> &change = nullptr);

/// The target phase of `--verify-each=execute`: compiles the model at `path`
/// again and holds every compiled command of a step on drawn weights and data
/// against its meaning. Returns the exit code: 6 after a wrong command (E0703).
int checkMachineCode(const std::string &path, const Options &options);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_VERIFYMODEL_H
