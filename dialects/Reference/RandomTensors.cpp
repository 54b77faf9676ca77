//===- RandomTensors.cpp - Data for programs without any ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One generator a tensor, seeded with its name.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/RandomTensors.h"

#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace shardc::reference {

/// Numbers in [0, 1), the same on every platform.
class Uniform {
public:
  Uniform(StringRef name, uint64_t seed)
      : engine(llvm::xxh3_64bits(name) ^ (seed * 0x9E3779B97F4A7C15)) {}

  double operator()() { return static_cast<double>(engine() >> 11) * 0x1p-53; }

private:
  std::mt19937_64 engine;
};

/// Floats in [low, high), integers in [0, bound).
static Tensor draw(RankedTensorType type, double low, double high,
                   int64_t bound, Uniform uniform) {
  Tensor tensor(type);
  if (tensor.isFloat())
    for (double &value : tensor.mutableFloats())
      value = low + (high - low) * uniform();
  else if (tensor.isComplex())
    for (Complex &value : tensor.mutableComplexes())
      value = std::polar(1.0, 6.28 * uniform());
  else
    for (int64_t &value : tensor.mutableIntegers())
      value = static_cast<int64_t>(uniform() * static_cast<double>(bound));
  tensor.round();
  return tensor;
}

void setRandomState(ShardedState &state, uint64_t seed) {
  for (const std::string &name : state.getNames()) {
    RankedTensorType type = state.getType(name);
    Uniform uniform(name, seed);
    double scale =
        type.getRank() ? 1 / std::sqrt(double(type.getShape().back())) : 1;
    if (state.isBuffer(name))
      state.set(name, draw(type, 0.5, 1.5, 2, uniform));
    else
      state.set(name, draw(type, -scale, scale, 2, uniform));
  }
}

/// Input `number` of all ranks.
static RankTensors drawInput(unsigned number, ShapedType type,
                             IntegerAttr bound, int64_t ranks, uint64_t seed) {
  auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
  RankTensors tensors;
  for (int64_t rank = 0; rank < ranks; ++rank)
    tensors.push_back(draw(
        tensor, -1, 1, bound ? bound.getInt() : 2,
        Uniform(("input" + Twine(number) + "." + Twine(rank)).str(), seed)));
  return tensors;
}

SmallVector<RankTensors> randomInputs(func::FuncOp function, int64_t ranks,
                                      uint64_t seed) {
  SmallVector<RankTensors> inputs;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto bound =
        function.getArgAttrOfType<IntegerAttr>(number, "shardc.upper_bound");
    inputs.push_back(drawInput(number, cast<ShapedType>(argument.getType()),
                               bound, ranks, seed));
  }
  return inputs;
}

SmallVector<RankTensors> randomInputs(ArrayRef<exec::InputOp> declarations,
                                      int64_t ranks, uint64_t seed) {
  SmallVector<RankTensors> inputs;
  for (auto [number, input] : llvm::enumerate(declarations)) {
    exec::InputOp op = input;
    inputs.push_back(drawInput(number, op.getMemory().getType(),
                               op.getUpperBoundAttr(), ranks, seed));
  }
  return inputs;
}

} // namespace shardc::reference
