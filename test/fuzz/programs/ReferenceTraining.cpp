//===- ReferenceTraining.cpp - what a program should compute --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The reference is the program after the differentiate phase, before anything
// below it has been decided.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ReferenceTraining.h"

#include "compiler/Artifact/ArtifactBuilder.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Reference/Interpreter.h"
#include "dialects/Reference/RandomTensors.h"
#include "dialects/Reference/TensorBytes.h"
#include "test/fuzz/programs/ProgramPhases.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace shardc::fuzz {

using reference::RankTensors;
using reference::Tensor;

static func::FuncOp stepOf(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

FailureOr<std::unique_ptr<ReferenceTraining>>
ReferenceTraining::create(ModuleOp program, const TrainingPolicy &policy) {
  Options options = policy.options;
  options.worldSize *= policy.microBatches;
  OwningOpRef<ModuleOp> step = runPhases(program, options, "differentiate");
  if (!step)
    return failure();
  return std::unique_ptr<ReferenceTraining>(
      new ReferenceTraining(std::move(step), policy));
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// The inputs of one step: one tensor an argument and a slice.
static SmallVector<RankTensors> inputsOf(ModuleOp module, int64_t slices,
                                         uint64_t seed, int64_t step) {
  return reference::randomInputs(stepOf(module), slices, seed * 1000 + step);
}

static StoredTensor stored(const Tensor &tensor) {
  return {toDtype(tensor.getElementType()), tensor.getShape().vec(),
          reference::toBytes(tensor)};
}

ProgramData ReferenceTraining::drawData() const {
  ProgramData data;
  reference::ShardedState state(*step, slices());
  reference::setRandomState(state, policy.dataSeed);
  for (const std::string &name : state.getNames())
    data.state[name] = stored(state.get(name));
  for (int64_t i = 0; i < policy.steps; ++i) {
    auto inputs = inputsOf(*step, slices(), policy.dataSeed, i);
    data.inputs.resize(inputs.size());
    for (auto [whole, parts] : llvm::zip_equal(data.inputs, inputs))
      for (const Tensor &part : parts) {
        StoredTensor sample = stored(part);
        int64_t samples = whole.shape.empty() ? 0 : whole.shape[0];
        whole.dtype = sample.dtype;
        whole.shape = sample.shape;
        whole.shape[0] += samples;
        llvm::append_range(whole.bytes, sample.bytes);
      }
  }
  return data;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

static std::vector<double> numbersOf(const Tensor &tensor) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    numbers.push_back(tensor.number(i));
  return numbers;
}

FailureOr<ReferenceNumbers> ReferenceTraining::train(ModuleOp module) const {
  reference::Interpreter interpreter(module, slices());
  reference::ShardedState &state = interpreter.getState();
  interpreter.setLearningRate(policy.learningRate);
  reference::setRandomState(state, policy.dataSeed);
  ReferenceNumbers numbers;
  for (int64_t i = 0; i < policy.steps; ++i) {
    FailureOr<reference::Execution> execution =
        interpreter.run(inputsOf(module, slices(), policy.dataSeed, i));
    if (failed(execution))
      return failure();
    double loss = 0;
    for (const Tensor &part : *execution->losses)
      loss += part.floats()[0] / double(slices());
    std::string number = " " + std::to_string(i + 1);
    numbers["loss" + number] = {loss};
    numbers["gradient norm" + number] = {*execution->gradientNorm};
  }
  for (const std::string &name : state.getNames()) {
    if (!state.isBuffer(name))
      numbers["parameter " + name] = numbersOf(state.get(name));
    // With micro-batches a buffer goes from one to the next; here it does not.
    else if (policy.microBatches == 1)
      for (int64_t rank = 0; rank < slices(); ++rank)
        numbers["buffer " + name + " of rank " + std::to_string(rank)] =
            numbersOf(state.get(name, rank));
  }
  return numbers;
}

FailureOr<ReferenceNumbers> ReferenceTraining::train() const {
  return train(*step);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Multiplies `value` by numbers that are 1 but for some units in the last
/// place, for all its readers.
static void disturb(Value value, RandomSource &random) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<FloatType>(type.getElementType()) || value.use_empty())
    return;
  // bf16 has 8 bits, of which one rounding takes half a unit already.
  double unit = type.getElementType().isF64()   ? 0x1p-48
                : type.getElementType().isF32() ? 0x1p-20
                                                : 0x1p-7;
  Tensor noise(type);
  for (double &x : noise.mutableFloats())
    x = 1 + unit * double(random.between(-1, 1));
  noise.round();
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto constant = aten::ConstantOp::create(builder, value.getLoc(),
                                           noise.toAttribute());
  auto product =
      aten::MulOp::create(builder, value.getLoc(), value, constant);
  value.replaceAllUsesExcept(product, product);
}

static OwningOpRef<ModuleOp> disturbed(ModuleOp module, uint64_t seed) {
  OwningOpRef<ModuleOp> copy = module.clone();
  RandomSource random(seed);
  SmallVector<Value> values;
  for (Operation &op : stepOf(*copy).front())
    llvm::append_range(values, op.getResults());
  for (Value value : values)
    disturb(value, random);
  return copy;
}

static double decode(const StoredTensor &tensor, size_t index) {
  const std::byte *place = tensor.bytes.data() + index * byteSize(tensor.dtype);
  auto load = [&](auto value) {
    std::memcpy(&value, place, sizeof value);
    return double(value);
  };
  switch (tensor.dtype) {
  case format::Dtype::F64:
    return load(double());
  case format::Dtype::F32:
    return load(float());
  case format::Dtype::I64:
    return load(int64_t());
  case format::Dtype::Bool:
    return load(uint8_t());
  default:
    llvm_unreachable("states of random programs have no other types");
  }
}

/// The distance of neighbouring numbers near 1 in which `name` is computed.
static double unitOf(StringRef name, format::Dtype dtype) {
  if (isInteger(dtype))
    return 0;
  // Sums of f32 losses and squares, kept wider.
  if (name.starts_with("loss") || name.starts_with("gradient norm"))
    return 0x1p-23;
  return dtype == format::Dtype::F64 ? 0x1p-52 : 0x1p-23;
}

/// The number that is furthest out of its bounds: `slack(i)` at number i.
static std::string
worstDifference(const StoredTensor &actual, const std::vector<double> &expected,
                llvm::function_ref<double(size_t)> slack) {
  std::string text;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double value = decode(actual, i);
    if (value == expected[i] ||
        (std::isnan(value) && std::isnan(expected[i])))
      continue;
    double excess = std::abs(value - expected[i]) - slack(i);
    // What is not a number exceeds any bound.
    if (excess <= worst && !std::isnan(excess))
      continue;
    worst = std::isnan(excess) ? INFINITY : excess;
    text = llvm::formatv("{0:e8} instead of {1:e8} at element {2}, where "
                         "rounding explains {3:e2}",
                         value, expected[i], i, slack(i))
               .str();
  }
  return text;
}

static double largest(const std::vector<double> &numbers) {
  double largest = 0;
  for (double x : numbers)
    largest = std::max(largest, std::abs(x));
  return largest;
}

FailureOr<std::string>
ReferenceTraining::compare(const Observations &actual,
                           const ReferenceNumbers &expected) const {
  // Most programs agree to some units in the last place of each tensor.
  auto isClose = [&](const std::string &name,
                     const std::vector<double> &numbers) {
    double bound =
        8 * unitOf(name, actual.at(name).dtype) * largest(numbers);
    return worstDifference(actual.at(name), numbers, [&](size_t) {
             return bound;
           }).empty();
  };
  std::vector<std::string> open;
  for (const auto &[name, numbers] : expected) {
    if (!actual.count(name))
      return "'" + name + "' is missing";
    if (!isClose(name, numbers))
      open.push_back(name);
  }
  if (open.empty())
    return std::string();
  constexpr int runs = 4;
  ReferenceNumbers distance;
  for (int run = 0; run < runs; ++run) {
    OwningOpRef<ModuleOp> module = disturbed(*step, run + 1);
    FailureOr<ReferenceNumbers> moved = train(*module);
    if (failed(moved))
      return failure();
    for (const std::string &name : open) {
      std::vector<double> &worst = distance[name];
      const std::vector<double> &numbers = expected.at(name);
      worst.resize(numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i)
        worst[i] =
            std::max(worst[i], std::abs(moved->at(name)[i] - numbers[i]));
    }
  }
  for (const std::string &name : open) {
    const std::vector<double> &numbers = expected.at(name);
    const std::vector<double> &moved = distance.at(name);
    double squares = 0;
    for (double x : moved)
      squares += x * x;
    double typical = std::sqrt(squares / double(moved.size()));
    double unit = unitOf(name, actual.at(name).dtype);
    // An update is rounded relative to the learning rate, by AdamW.
    double update = unit * policy.learningRate * double(policy.steps);
    // Four runs show no element's extremes; the tensor's typical distance
    // stands in for an element that was not moved far.
    std::string text =
        worstDifference(actual.at(name), numbers, [&](size_t i) {
          return 4 * moved[i] + 4 * typical + 16 * update +
                 8 * unit * std::abs(numbers[i]);
        });
    if (!text.empty())
      return name + " is " + text;
  }
  return std::string();
}

} // namespace shardc::fuzz
