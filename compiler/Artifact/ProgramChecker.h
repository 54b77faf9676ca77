//===- ProgramChecker.h - Whether a program reads what it wrote -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The validator of runtime/format asks whether a program stays inside its
// memory; this checker asks whether it means something. In each section, on
// each rank:
//
//   1. Each byte of the arena that a command reads was written before, in the
//      same section, by a command that is complete by then.
//   2. Commands that touch common bytes, one of which writes, are ordered by a
//      stream or by events as in the list, so that any interleaving gives the
//      same result.
//   3. Events are recorded once, and before they are waited for.
//   4. Collectives are the same on all ranks, which issue them in list order.
//
// A launch reads and writes what its kernel's signature says, and an operand
// that is written is written whole. One that a launch reads and writes may have
// been written in part: the launch may write the rest before it reads it.
// Standard C++; about linear in commands times the buffers that they touch.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_ARTIFACT_PROGRAMCHECKER_H
#define SHARDC_COMPILER_ARTIFACT_PROGRAMCHECKER_H

#include "passes/Checks/Decision.h"
#include "runtime/format/Program.h"

namespace shardc {

/// Looks at a program that keeps rules F5 to F17, F20 and F21. Of many ranks it
/// looks at those that are first, second or last on each axis: ranges move with
/// coordinates by fixed strides.
Complaint checkProgram(const format::Program &program,
                       const format::Mesh &mesh);

} // namespace shardc

#endif // SHARDC_COMPILER_ARTIFACT_PROGRAMCHECKER_H
