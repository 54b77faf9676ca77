//===- OperatorTable.h - How to make each operator ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One entry an operator that can be trained, which is all that a new one needs
// to take part in random programs: a function that makes or finds operands,
// picks attributes, and builds the operator. OperatorTableTest holds the table
// and the operators with a derivative equal.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_OPERATORTABLE_H
#define SHARDC_TEST_FUZZ_PROGRAMS_OPERATORTABLE_H

#include "test/fuzz/programs/ProgramBuilder.h"

namespace shardc::fuzz {

struct OperatorEntry {
  /// The operator, with its dialect: "aten.linear".
  llvm::StringLiteral name;
  /// How often it is chosen, beside the others.
  int weight;
  /// Builds the operator and offers its result; false when the program has no
  /// operands for it at the moment.
  bool (*build)(ProgramBuilder &builder);
  /// The error that refuses the operator below the import phase; empty for an
  /// operator that trains. Refused operators are in no program.
  llvm::StringLiteral refusal = "";
};

/// All entries, in the order of the files below.
llvm::ArrayRef<OperatorEntry> operatorEntries();

// One function a family, each in a file of its own.
llvm::ArrayRef<OperatorEntry> pointwiseEntries();
llvm::ArrayRef<OperatorEntry> shapeEntries();
llvm::ArrayRef<OperatorEntry> reductionEntries();
llvm::ArrayRef<OperatorEntry> linearEntries();
llvm::ArrayRef<OperatorEntry> imageEntries();
llvm::ArrayRef<OperatorEntry> indexingEntries();
llvm::ArrayRef<OperatorEntry> orderEntries();
llvm::ArrayRef<OperatorEntry> complexEntries();

/// A size that breaks things: 1, primes, and the neighbours of vector widths.
int64_t randomSize(RandomSource &random, int64_t limit = 17);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_OPERATORTABLE_H
