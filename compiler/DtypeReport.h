//===- DtypeReport.h - Dtypes at every module's boundary ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the precision phase makes of a model, as a table that a person reads
// before anything runs.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_DTYPEREPORT_H
#define SHARDC_COMPILER_DTYPEREPORT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace shardc {

/// For each call of a module of `module`, after the precision phase, the dtypes
/// of its inputs, parameters and outputs, each cast at its boundary and, with
/// Options::explainGroups, where the cast is from.
std::string reportDtypes(mlir::ModuleOp module);

/// The same as an array of JSON: of each call `module` (a path, empty for the
/// model), `type`, `is_group`, `inputs`, `parameters`, `outputs` and
/// `casts_from`, with the texts of the table.
std::string reportDtypesAsJson(mlir::ModuleOp module);

} // namespace shardc

#endif // SHARDC_COMPILER_DTYPEREPORT_H
