//===- ProgramReader.h - Exported programs from JSON ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON document of a `.pt2` archive: versions, graph, signature,
// module calls and symbol ranges. Major version 8 of the schema is understood;
// unknown members of objects are ignored, as PyTorch's own loader does, because
// minor versions only add members with defaults.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_PROGRAMREADER_H
#define SHARDC_COMPILER_PT2_PROGRAMREADER_H

#include "compiler/Pt2/ExportedProgram.h"
#include "compiler/Pt2/JsonDocument.h"

namespace shardc::pt2 {

/// Reads the schema's `ExportedProgram`. Throws ReadFailure.
ExportedProgram readProgram(const Json &document);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_PROGRAMREADER_H
