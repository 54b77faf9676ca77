//===- EvaluationTableTest.cpp - Every operator has a meaning -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The interpreter is the oracle of every pass, so no operator may be without.
// What each computes is compared with PyTorch in test/operators.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Aten/Aten.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::reference;

TEST(EvaluationTable, EveryAtenOperatorHasAMeaning) {
  mlir::MLIRContext context;
  mlir::Dialect *dialect = context.getOrLoadDialect<aten::AtenDialect>();
  EvaluationTable table;
  unsigned operators = 0;
  for (mlir::RegisteredOperationName name :
       context.getRegisteredOperationsByDialect(dialect->getNamespace())) {
    EXPECT_TRUE(table.contains(name.getStringRef()))
        << name.getStringRef().str();
    ++operators;
  }
  EXPECT_GT(operators, 100u);
}

TEST(EvaluationTable, EveryAtenOperatorHasACost) {
  mlir::MLIRContext context;
  mlir::Dialect *dialect = context.getOrLoadDialect<aten::AtenDialect>();
  for (mlir::RegisteredOperationName name :
       context.getRegisteredOperationsByDialect(dialect->getNamespace()))
    EXPECT_TRUE(name.hasInterface<aten::CostOpInterface>())
        << name.getStringRef().str();
}
