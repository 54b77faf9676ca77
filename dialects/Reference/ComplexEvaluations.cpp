//===- ComplexEvaluations.cpp - Complex numbers as pairs and back ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of complex numbers is with that of other numbers.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

void shardc::reference::addComplexEvaluations(EvaluationTable &table) {
  using namespace aten;
  table.add<ViewAsComplexOp>([](ViewAsComplexOp, Operands in, Results out) {
    for (auto [i, value] : llvm::enumerate(out[0].mutableComplexes()))
      value = Complex(in[0].floats()[2 * i], in[0].floats()[2 * i + 1]);
  });
  table.add<ViewAsRealOp>([](ViewAsRealOp, Operands in, Results out) {
    MutableArrayRef<double> target = out[0].mutableFloats();
    for (auto [i, value] : llvm::enumerate(in[0].complexes())) {
      target[2 * i] = value.real();
      target[2 * i + 1] = value.imag();
    }
  });
}
