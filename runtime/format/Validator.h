//===- Validator.h - what makes a program safe to run -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules that an artifact must keep beyond having well-formed members. They
// are what lets an executor run a program without any further check: every
// byte range lies inside its space, every wait can be satisfied, collectives
// have consistent arguments. docs/Format.md lists the rules by their IDs
// (F1 …), and so do the messages.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_VALIDATOR_H
#define SHARDC_RUNTIME_FORMAT_VALIDATOR_H

#include "runtime/format/Artifact.h"

namespace shardc::format {

/// Checks all rules and fails with E0309 for the first one broken, naming the
/// command by its number in the list, its module and its label.
Status validate(const Artifact &artifact);

/// The rules about inputs, states, groups and segments alone (F1 … F4).
Status validateParameters(const Parameters &parameters, int64_t worldSize);

/// The rules about the commands (F5 … F15).
Status validateProgram(const Artifact &artifact);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_VALIDATOR_H
