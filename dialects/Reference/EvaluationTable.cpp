//===- EvaluationTable.cpp - What each aten operator computes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of all families, and running one operator of it.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/EvaluationTable.h"

#include "dialects/Fsdp/ModulePath.h"

using namespace mlir;

namespace shardc::reference {

EvaluationTable::EvaluationTable() {
  addElementwiseEvaluations(*this);
  addActivationEvaluations(*this);
  addComparisonEvaluations(*this);
  addReductionEvaluations(*this);
  addIndexingEvaluations(*this);
  addSortingEvaluations(*this);
  addRandomEvaluations(*this);
  addShapeEvaluations(*this);
  addLinearEvaluations(*this);
  addFactorizationEvaluations(*this);
  addConvolutionEvaluations(*this);
  addAttentionEvaluations(*this);
  addAutogradEvaluations(*this);
  addNormalizationEvaluations(*this);
  addLossEvaluations(*this);
  addPoolingEvaluations(*this);
  addResamplingEvaluations(*this);
  addComplexEvaluations(*this);
}

LogicalResult EvaluationTable::evaluate(Operation *op, Operands operands,
                                        SmallVectorImpl<Tensor> &results,
                                        RoundIntermediate round) const {
  auto found = functions.find(op->getName().getStringRef());
  if (found == functions.end())
    return emitNumberedError(op, "E0142")
           << "the reference interpreter has no meaning for " << op->getName();
  results.clear();
  for (Type type : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  if (failed(found->second(op, operands, results, round)))
    return failure();
  for (Tensor &result : results)
    result.round();
  return success();
}

} // namespace shardc::reference
