//===- EvaluationTable.h - What each aten operator computes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The reference meaning of every aten operator: a plain function on tensors, in
// one file a family. It is written to be read beside PyTorch's documentation
// and is the oracle that passes and kernels are compared with, so it prefers
// loops to speed. Results arrive as zeros of their inferred types and hold wide
// elements; the caller rounds them (Tensor.h).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_EVALUATIONTABLE_H
#define SHARDC_DIALECTS_REFERENCE_EVALUATIONTABLE_H

#include "dialects/Reference/Tensor.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace shardc::reference {

/// Operands of one execution; an absent optional operand is not among them, as
/// in the operation.
using Operands = llvm::ArrayRef<Tensor>;
using Results = llvm::MutableArrayRef<Tensor>;

/// Rounds a number that an operator computes on its way and subtracts, as a
/// normalization does its mean. What that rounding does to all elements alike
/// no rounding of an operand does.
using RoundIntermediate = llvm::function_ref<double(double)>;
inline double keepIntermediate(double number) { return number; }

class EvaluationTable {
public:
  using Function = std::function<llvm::LogicalResult(
      mlir::Operation *, Operands, Results, RoundIntermediate)>;

  /// The table of all families.
  EvaluationTable();

  /// Adds `function(Op op, Operands, Results)`, which returns nothing, or
  /// failure after a diagnostic: an index that is out of range, for example.
  /// May have a fourth parameter, RoundIntermediate; then it returns nothing.
  template <typename Op, typename F>
  void add(F function) {
    functions[Op::getOperationName()] =
        [function](mlir::Operation *op, Operands operands, Results results,
                   RoundIntermediate round) -> llvm::LogicalResult {
      if constexpr (std::is_invocable_v<F, Op, Operands, Results,
                                        RoundIntermediate>) {
        function(llvm::cast<Op>(op), operands, results, round);
        return llvm::success();
      } else if constexpr (std::is_void_v<std::invoke_result_t<F, Op, Operands,
                                                               Results>>) {
        function(llvm::cast<Op>(op), operands, results);
        return llvm::success();
      } else {
        return function(llvm::cast<Op>(op), operands, results);
      }
    };
  }

  /// Whether the operator called `op` has a meaning here: every aten operator
  /// does.
  bool contains(llvm::StringRef op) const { return functions.contains(op); }

  /// Runs one operator: makes results of its types, computes, rounds.
  llvm::LogicalResult
  evaluate(mlir::Operation *op, Operands operands,
           llvm::SmallVectorImpl<Tensor> &results,
           RoundIntermediate round = keepIntermediate) const;

private:
  llvm::StringMap<Function> functions;
};

// One function a family, each in its own file.
void addElementwiseEvaluations(EvaluationTable &table);
void addActivationEvaluations(EvaluationTable &table);
void addComparisonEvaluations(EvaluationTable &table);
void addReductionEvaluations(EvaluationTable &table);
void addIndexingEvaluations(EvaluationTable &table);
void addSortingEvaluations(EvaluationTable &table);
void addRandomEvaluations(EvaluationTable &table);
void addShapeEvaluations(EvaluationTable &table);
void addLinearEvaluations(EvaluationTable &table);
void addFactorizationEvaluations(EvaluationTable &table);
void addConvolutionEvaluations(EvaluationTable &table);
void addAttentionEvaluations(EvaluationTable &table);
void addAutogradEvaluations(EvaluationTable &table);
void addNormalizationEvaluations(EvaluationTable &table);
void addLossEvaluations(EvaluationTable &table);
void addPoolingEvaluations(EvaluationTable &table);
void addResamplingEvaluations(EvaluationTable &table);
void addComplexEvaluations(EvaluationTable &table);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_EVALUATIONTABLE_H
