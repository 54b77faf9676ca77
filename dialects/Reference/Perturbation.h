//===- Perturbation.h - Results under other roundings ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How much of a result is rounding? A program is executed again with every
// operand of every operator moved by a random relative amount, of the size of
// the rounding of its arithmetic and of what summing many products may lose:
//
//   x (1 + e),   |e| <= a u (2 + sqrt(terms))
//
// where u is 2^-24, as arithmetic is in f32 for all narrower dtypes, or 2^-53
// for f64. What a backward-stable implementation computes is the exact result
// for operands that are that near. An operator that subtracts a mean of its own
// rounds that too, which moves all elements alike as no operand can: it is
// moved by the same formula. Equal elements of an operand move alike: what
// rounding does to them is equal too, and in a sum of equal terms it adds up.
// Results are still rounded to the dtypes that the program gives them, so a
// bf16 result moves by one place where a number lies between two. A deep
// network makes noise of a few such decisions, and has branches that few
// samples show: `narrow` moves operands of 16-bit types by their own roundings
// too, x (1 + e) with |e| <= narrow u. The spread of a few such executions is
// the error that a right program may have, whatever the model's condition, and
// a branch that rounding can flip (a maximum's tie, the corner of relu) flips
// in some of them. Zeros, ones, infinities and huge numbers stay: arithmetic on
// masks made of them is exact.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_PERTURBATION_H
#define SHARDC_DIALECTS_REFERENCE_PERTURBATION_H

#include "dialects/Reference/Tensor.h"

#include "mlir/IR/Operation.h"

namespace shardc::reference {

/// Half the distance from 1 to the next number of `type`, or of a complex
/// number's parts; 0 for integers.
double unitRoundoff(mlir::Type type);

class Perturbation {
public:
  /// Draws from `seed`. `amplitude` is the formula's a.
  Perturbation(uint64_t seed, double amplitude, double narrow, bool alike)
      : state(seed), amplitude(amplitude), narrow(narrow), alike(alike) {}

  /// Moves the floats among `operands` of `op`, unless it only moves data.
  void apply(mlir::Operation *op, llvm::MutableArrayRef<Tensor> operands);

  /// Moves a number that `op` computes on its way (EvaluationTable.h).
  double apply(mlir::Operation *op, double intermediate);

private:
  uint64_t state;
  double amplitude;
  double narrow;
  bool alike;

  double draw(double value, uint64_t operand);
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_PERTURBATION_H
