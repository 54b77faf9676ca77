//===- DtypeReport.h - Dtypes at every module's boundary ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the precision phase makes of a model, as a table that a person reads
// before anything runs.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_DTYPEREPORT_H
#define SHARDC_COMPILER_DTYPEREPORT_H

#include "compiler/Options.h"

#include <string>

namespace shardc {

/// Prints, for each call of a module of `input` under `options`, the dtypes of
/// its inputs, parameters and outputs, each cast at its boundary and where the
/// cast is from. Returns the process's exit code, after an error that one is
/// needed for.
int printDtypes(const std::string &input, const Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_DTYPEREPORT_H
