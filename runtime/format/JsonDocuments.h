//===- JsonDocuments.h - The artifact's JSON entries ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Text ↔ structs for the four JSON entries of an artifact. Printing is
// deterministic, with one command, state or parameter a line, so that people
// and diff can read it. Parsing checks each member's type and range (E0307)
// and ignores members it does not know; what members mean together is checked
// by Validator.h.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_JSONDOCUMENTS_H
#define SHARDC_RUNTIME_FORMAT_JSONDOCUMENTS_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Manifest.h"
#include "runtime/format/Parameters.h"
#include "runtime/format/Program.h"
#include "runtime/format/Status.h"
#include "runtime/format/Summary.h"

#include <string>

namespace shardc::format {

std::string printManifest(const Manifest &manifest);
std::string printParameters(const Parameters &parameters);
std::string printProgram(const Program &program);
std::string printSummary(const Summary &summary);

/// Fails with E0304 if the version's major is not formatMajor, before any
/// other member is looked at.
StatusOr<Manifest> parseManifest(Bytes text);
StatusOr<Parameters> parseParameters(Bytes text);
StatusOr<Program> parseProgram(Bytes text);
StatusOr<Summary> parseSummary(Bytes text);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_JSONDOCUMENTS_H
