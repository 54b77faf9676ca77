//===- LibraryEvaluation.h - What a library call computes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of `exec.library` and of `exec.call`, as docs/Format.md defines
// it. A call that is one aten operator under another name means that operator.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_LIBRARYEVALUATION_H
#define SHARDC_DIALECTS_REFERENCE_LIBRARYEVALUATION_H

#include "dialects/Reference/BoundedNumber.h"
#include "dialects/Reference/EvaluationTable.h"

namespace shardc::reference {

/// A library call: its name, settings and the types of its results.
struct LibraryCallSite {
  /// Where errors are reported.
  mlir::Operation *op;
  llvm::StringRef call;
  mlir::DictionaryAttr settings;
  llvm::SmallVector<mlir::RankedTensorType> results;
};

/// Computes the results of a call on `operands`, with the bounds that sums in
/// the accumulator's type, in any order, keep. Fails with E0142 on an unknown
/// call, and where an operand does not fit.
llvm::LogicalResult
evaluateLibraryCall(const LibraryCallSite &site,
                    llvm::ArrayRef<BoundedTensor> operands,
                    const EvaluationTable &table,
                    llvm::SmallVectorImpl<BoundedTensor> &results);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_LIBRARYEVALUATION_H
