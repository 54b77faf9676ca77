//===- KernelEvaluation.cpp - What a kernel computes ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A nest's body is translated once into a list of instructions on numbered
// registers, which every iteration runs. A sum keeps its terms' magnitude and
// count beside it: compiled code adds them in another order.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/KernelEvaluation.h"

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/ScalarOperations.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "runtime/format/TargetKinds.h"
#include "llvm/ADT/TypeSwitch.h"

#include <unordered_map>

using namespace mlir;

namespace shardc::reference {

/// Of a scalar operation: those of `arith.select`.
static constexpr size_t maxOperands = 3;

namespace {

/// What the values of a region hold. References to an entry stay valid.
class TensorValues {
public:
  BoundedTensor &operator[](Value value) {
    return tensors[value.getAsOpaquePointer()];
  }

private:
  std::unordered_map<void *, BoundedTensor> tensors;
};

/// Where iteration (i, j, …) finds its element: offset + i * factors[0] + ….
struct LinearIndex {
  int64_t offset = 0;
  SmallVector<int64_t> factors;

  int64_t at(ArrayRef<int64_t> counters) const {
    int64_t index = offset;
    for (auto [factor, counter] : llvm::zip_equal(factors, counters))
      index += factor * counter;
    return index;
  }
};

/// Reads and writes numbers of a tensor whatever its element type.
class Elements {
public:
  explicit Elements(const BoundedTensor &tensor)
      : bounds(tensor.bounds.empty() ? nullptr : tensor.bounds.data()) {
    if (tensor.tensor.isFloat())
      values = tensor.tensor.floats().data();
    else
      integers = tensor.tensor.integers().data();
  }

  BoundedNumber operator[](int64_t index) const {
    BoundedNumber number;
    if (values)
      number.value = values[index];
    else
      number.integer = integers[index];
    if (bounds)
      number.bound = bounds[index];
    return number;
  }

private:
  const double *values = nullptr;
  const int64_t *integers = nullptr;
  const double *bounds;
};

/// One operation of a body: a function of registers, a read at the indices that
/// they hold, or a loop's counter.
struct Step {
  ScalarFunction function;
  const BoundedTensor *gathered = nullptr;
  SmallVector<int64_t, 0> strides;
  SmallVector<unsigned, 3> operands;
  unsigned result = 0;
  unsigned counter = 0;
};

/// One output of a nest and the number that it collects.
struct Output {
  BoundedTensor *tensor = nullptr;
  /// Its elements and their bounds.
  double *values = nullptr;
  int64_t *integers = nullptr;
  double *bounds = nullptr;
  std::optional<Rounding> rounding;
  LinearIndex index;
  /// The register of the value to store; of a sum, of its term.
  unsigned yielded = 0;
  /// The register that the value before is read into; of a reduction or scan.
  std::optional<unsigned> carried;
  /// What a scan carries first.
  BoundedNumber start;
  /// For each element of a sum: the terms' magnitudes and their number.
  std::vector<double> magnitudes;
  std::vector<int64_t> terms;
  bool isSum = false, addsNarrowTerms = false;
};

/// Executes one `linalg.generic`, `exec.scan` or `exec.scatter`.
class NestEvaluation {
public:
  NestEvaluation(linalg::GenericOp generic, TensorValues &values)
      : op(generic), body(*generic.getBody()), values(values),
        sizes(generic.getStaticLoopRanges()),
        reduces(generic.getNumReductionLoops() != 0) {}
  NestEvaluation(exec::ScanOp scan, TensorValues &values)
      : op(scan), body(scan.getBody().front()), values(values),
        sizes(cast<ShapedType>(scan.getResult(0).getType()).getShape()),
        scanned(scan.getDimension()) {}
  NestEvaluation(exec::ScatterOp scatter, TensorValues &values)
      : op(scatter), body(scatter.getBody().front()), values(values),
        sizes(cast<ShapedType>(scatter.getInputs().front().getType())
                  .getShape()) {}

  LogicalResult run();

private:
  LogicalResult readMaps(linalg::GenericOp generic);
  void readMaps(exec::ScanOp scan);
  void readMaps(exec::ScatterOp scatter);
  LogicalResult translate();
  LogicalResult translateOperation(Operation &op);
  LogicalResult translate(exec::ScatterOp scatter);
  void prepareOutputs();
  BoundedNumber carriedBy(const Output &output, int64_t position,
                          ArrayRef<int64_t> counters) const;
  void runIteration(ArrayRef<int64_t> counters);
  void runSteps(ArrayRef<Step> list, ArrayRef<int64_t> counters);
  void collect(Output &output, int64_t at);
  void finish(Output &output);
  unsigned registerOf(Value value);

  Operation *op;
  Block &body;
  TensorValues &values;
  SmallVector<int64_t> sizes;
  bool reduces = false;
  /// The loop that a scan runs along.
  std::optional<unsigned> scanned;
  SmallVector<std::pair<Elements, LinearIndex>> inputs;
  SmallVector<Output> outputs;
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<BoundedNumber> registers;
  /// In program order; of a scatter, the first of them know no place yet.
  std::vector<Step> steps;
  size_t placelessSteps = 0;
  /// The indices that a scatter computes: registers, sizes and strides.
  struct ComputedIndex {
    unsigned value;
    int64_t size, stride;
  };
  SmallVector<ComputedIndex> computed;
  /// Where an iteration writes in each output.
  SmallVector<int64_t, 2> positions;
};

} // namespace

/// The index of `map` into a row-major tensor of `shape`.
static FailureOr<LinearIndex> linearIndex(Operation *op, AffineMap map,
                                          ArrayRef<int64_t> shape) {
  LinearIndex index;
  index.factors.assign(map.getNumDims(), 0);
  SmallVector<int64_t> strides = computeStrides(shape);
  for (auto [expression, stride] : llvm::zip_equal(map.getResults(), strides)) {
    SmallVector<int64_t> factors;
    if (failed(getFlattenedAffineExpr(expression, map.getNumDims(), 0,
                                      &factors)) ||
        factors.size() != map.getNumDims() + 1)
      return emitNumberedError(op, "E0142")
             << "the reference interpreter has no meaning for the index "
             << AffineMapAttr::get(map);
    for (unsigned i = 0; i < map.getNumDims(); ++i)
      index.factors[i] += factors[i] * stride;
    index.offset += factors.back() * stride;
  }
  return index;
}

unsigned NestEvaluation::registerOf(Value value) {
  auto [found, isNew] = numbers.try_emplace(value, registers.size());
  if (isNew) {
    registers.emplace_back();
    // Constants may stand outside the body.
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      registers.back() = scalarConstant(constant.getValue());
  }
  return found->second;
}

LogicalResult NestEvaluation::readMaps(linalg::GenericOp generic) {
  for (OpOperand *input : generic.getDpsInputOperands()) {
    FailureOr<LinearIndex> index =
        linearIndex(generic, generic.getMatchingIndexingMap(input),
                    cast<RankedTensorType>(input->get().getType()).getShape());
    if (failed(index))
      return failure();
    inputs.push_back({Elements(values[input->get()]), *index});
    registerOf(generic.getMatchingBlockArgument(input));
  }
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    FailureOr<LinearIndex> index =
        linearIndex(generic, generic.getMatchingIndexingMap(&output),
                    cast<RankedTensorType>(output.get().getType()).getShape());
    if (failed(index))
      return failure();
    Output &made = outputs.emplace_back();
    made.index = *index;
    values[generic.getTiedOpResult(&output)] = values[output.get()];
  }
  return success();
}

/// All tensors are walked alike; in reverse from the last element.
void NestEvaluation::readMaps(exec::ScanOp scan) {
  LinearIndex index;
  index.factors = computeStrides(sizes);
  if (scan.getReverse()) {
    int64_t &factor = index.factors[*scanned];
    index.offset = (sizes[*scanned] - 1) * factor;
    factor = -factor;
  }
  for (auto [input, argument] :
       llvm::zip(scan.getInputs(), body.getArguments())) {
    inputs.push_back({Elements(values[input]), index});
    registerOf(argument);
  }
  for (auto [result, start] :
       llvm::zip_equal(scan.getResults(), scan.getStarts())) {
    Output &made = outputs.emplace_back();
    made.index = index;
    made.start = scalarConstant(cast<TypedAttr>(start));
    values[result] = {Tensor(cast<RankedTensorType>(result.getType())), {}};
  }
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// The addition that yields output `number` of a reduction, if it adds one term
/// to what was carried, which nothing else looks at.
static Operation *sumOf(Block &body, unsigned inputs, unsigned number) {
  Value carried = body.getArgument(inputs + number);
  Operation *sum = body.getTerminator()->getOperand(number).getDefiningOp();
  bool isSum = isa_and_nonnull<arith::AddFOp>(sum) && carried.hasOneUse() &&
               llvm::is_contained(sum->getOperands(), carried) &&
               sum->getResult(0).hasOneUse();
  return isSum ? sum : nullptr;
}

LogicalResult NestEvaluation::translateOperation(Operation &op) {
  Step step;
  if (isa<arith::ConstantOp>(op)) {
    registerOf(op.getResult(0));
    return success();
  }
  ValueRange operands = op.getOperands();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    step.counter = static_cast<unsigned>(index.getDim());
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    step.gathered = &values[extract.getTensor()];
    step.strides = computeStrides(step.gathered->tensor.getShape());
    operands = extract.getIndices();
  } else {
    step.function = scalarFunction(&op);
    if (!step.function)
      return emitNumberedError(&op, "E0142")
             << "the reference interpreter has no meaning for '" << op.getName()
             << "' in a kernel";
    assert(operands.size() <= maxOperands);
  }
  for (Value operand : operands)
    step.operands.push_back(registerOf(operand));
  step.result = registerOf(op.getResult(0));
  steps.push_back(std::move(step));
  return success();
}

/// The whole is changed in place.
void NestEvaluation::readMaps(exec::ScatterOp scatter) {
  for (auto [input, argument] :
       llvm::zip(scatter.getInputs(), body.getArguments())) {
    LinearIndex index;
    index.factors =
        computeStrides(cast<ShapedType>(input.getType()).getShape());
    inputs.push_back({Elements(values[input]), index});
    registerOf(argument);
  }
  auto shape = cast<ShapedType>(scatter.getWhole().getType()).getShape();
  Output &made = outputs.emplace_back();
  made.index.factors.assign(sizes.size(), 0);
  ValueRange yielded = body.getTerminator()->getOperands();
  for (auto [loop, size, stride] :
       llvm::zip_equal(scatter.getLoops(), shape, computeStrides(shape))) {
    if (loop >= 0)
      made.index.factors[loop] = stride;
    else
      computed.push_back({registerOf(yielded[computed.size()]), size, stride});
  }
  values[scatter.getResult()] = values[scatter.getWhole()];
}

LogicalResult NestEvaluation::translate(exec::ScatterOp scatter) {
  outputs[0].carried = registerOf(body.getArguments().back());
  outputs[0].yielded = registerOf(body.getTerminator()->getOperands().back());
  SmallVector<Operation *> independent, dependent;
  scatter.partition(independent, dependent);
  for (Operation *inner : independent)
    if (failed(translateOperation(*inner)))
      return failure();
  placelessSteps = steps.size();
  for (Operation *inner : dependent)
    if (failed(translateOperation(*inner)))
      return failure();
  return success();
}

/// Whether a GPU adds up to eight terms in f32 before they go to a sum in f64.
static bool addsNarrowTerms(Operation *op, Value term) {
  auto target = op->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
      "shardc.target");
  auto wide = term.getDefiningOp<arith::ExtFOp>();
  return target && target.getValue().starts_with(format::cudaTarget) && wide &&
         wide.getIn().getType().isF32() &&
         llvm::any_of(op->getOperandTypes(), [](Type type) {
           return isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(type));
         });
}

LogicalResult NestEvaluation::translate() {
  llvm::SmallPtrSet<Operation *, 4> sums;
  for (auto [number, output] : llvm::enumerate(outputs)) {
    Value yielded = body.getTerminator()->getOperand(number);
    if (reduces || scanned)
      output.carried = registerOf(body.getArgument(inputs.size() + number));
    if (Operation *sum =
            reduces ? sumOf(body, inputs.size(), number) : nullptr) {
      sums.insert(sum);
      output.isSum = true;
      Value carried = body.getArgument(inputs.size() + number);
      yielded = sum->getOperand(sum->getOperand(0) == carried ? 1 : 0);
      output.addsNarrowTerms = addsNarrowTerms(op, yielded);
    }
    output.yielded = registerOf(yielded);
  }
  for (Operation &op : body.without_terminator())
    if (!sums.contains(&op) && failed(translateOperation(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

void NestEvaluation::collect(Output &output, int64_t at) {
  const BoundedNumber &number = registers[output.yielded];
  if (!output.isSum) {
    if (output.values)
      output.values[at] = number.value;
    else
      output.integers[at] = number.integer;
    output.bounds[at] = number.bound;
    return;
  }
  output.values[at] = output.rounding->round(output.values[at] + number.value);
  output.bounds[at] += number.bound;
  output.magnitudes[at] += std::abs(number.value);
  ++output.terms[at];
}

/// What was carried to the iteration that writes to `position`.
BoundedNumber NestEvaluation::carriedBy(const Output &output, int64_t position,
                                        ArrayRef<int64_t> counters) const {
  if (scanned && counters[*scanned] == 0)
    return output.start;
  if (scanned)
    position -= output.index.factors[*scanned];
  return Elements(*output.tensor)[position];
}

void NestEvaluation::runIteration(ArrayRef<int64_t> counters) {
  for (auto [number, input] : llvm::enumerate(inputs))
    registers[number] = input.first[input.second.at(counters)];
  runSteps(ArrayRef(steps).take_front(placelessSteps), counters);
  for (auto [output, position] : llvm::zip_equal(outputs, positions)) {
    position = output.index.at(counters);
    for (const ComputedIndex &index : computed)
      position += std::clamp<int64_t>(registers[index.value].integer, 0,
                                      index.size - 1) *
                  index.stride;
    if (output.carried && !output.isSum)
      registers[*output.carried] = carriedBy(output, position, counters);
  }
  runSteps(ArrayRef(steps).drop_front(placelessSteps), counters);
  for (auto [output, position] : llvm::zip_equal(outputs, positions))
    collect(output, position);
}

void NestEvaluation::runSteps(ArrayRef<Step> list, ArrayRef<int64_t> counters) {
  std::array<BoundedNumber, maxOperands> operands;
  for (const Step &step : list) {
    BoundedNumber &result = registers[step.result];
    if (step.function) {
      unsigned count = 0;
      for (unsigned operand : step.operands)
        operands[count++] = registers[operand];
      result = step.function(ArrayRef(operands).take_front(count));
    } else if (step.gathered) {
      // Indices are held inside the tensor, as compiled code holds them.
      int64_t at = 0;
      for (auto [position, size, stride] : llvm::zip_equal(
               step.operands, step.gathered->tensor.getShape(), step.strides))
        at += std::clamp<int64_t>(registers[position].integer, 0, size - 1) *
              stride;
      result = Elements(*step.gathered)[at];
    } else {
      result.integer = counters[step.counter];
    }
  }
}

/// Outputs are in memory of their own.
void NestEvaluation::prepareOutputs() {
  for (auto [number, output] : llvm::enumerate(outputs)) {
    output.tensor = &values[op->getResult(number)];
    int64_t count = output.tensor->tensor.getNumElements();
    output.tensor->bounds.resize(count, 0);
    output.bounds = output.tensor->bounds.data();
    Tensor &tensor = output.tensor->tensor;
    if (auto type = dyn_cast<FloatType>(tensor.getElementType()))
      output.rounding = Rounding(type);
    if (output.rounding)
      output.values = tensor.mutableFloats().data();
    else
      output.integers = output.tensor->tensor.mutableIntegers().data();
    if (!output.isSum)
      continue;
    output.magnitudes.assign(count, 0);
    output.terms.assign(count, 0);
  }
}

void NestEvaluation::finish(Output &output) {
  std::vector<double> &bounds = output.tensor->bounds;
  if (output.isSum) {
    auto type = cast<FloatType>(output.tensor->tensor.getElementType());
    for (auto [bound, magnitude, terms] :
         llvm::zip_equal(bounds, output.magnitudes, output.terms))
      bound += summationBound(magnitude, terms, type) +
               (output.addsNarrowTerms ? magnitude * 7 * 0x1p-24 : 0);
  }
  if (llvm::all_of(bounds, [](double bound) { return bound == 0; }))
    bounds.clear();
}

LogicalResult NestEvaluation::run() {
  auto scatter = dyn_cast<exec::ScatterOp>(op);
  if (auto scan = dyn_cast<exec::ScanOp>(op))
    readMaps(scan);
  else if (scatter)
    readMaps(scatter);
  else if (failed(readMaps(cast<linalg::GenericOp>(op))))
    return failure();
  if (failed(scatter ? translate(scatter) : translate()))
    return failure();
  prepareOutputs();
  positions.resize(outputs.size());
  for (IndexWalk walk(sizes); walk; ++walk)
    runIteration(*walk);
  for (Output &output : outputs)
    finish(output);
  return success();
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

/// Memory that nobody wrote: a nest that looks at it does not go unnoticed.
static Tensor poisoned(RankedTensorType type) {
  Tensor tensor(type);
  if (tensor.isFloat())
    llvm::fill(tensor.mutableFloats(),
               std::numeric_limits<double>::quiet_NaN());
  else
    llvm::fill(tensor.mutableIntegers(), std::numeric_limits<int32_t>::min());
  tensor.round();
  return tensor;
}

static Tensor filled(RankedTensorType type, TypedAttr number) {
  Tensor tensor(type);
  BoundedNumber element = scalarConstant(number);
  if (tensor.isFloat())
    llvm::fill(tensor.mutableFloats(), element.value);
  else
    llvm::fill(tensor.mutableIntegers(), element.integer);
  return tensor;
}

/// `part` over `whole` at the insertion's offsets and strides.
static BoundedTensor inserted(tensor::InsertSliceOp insert,
                              const BoundedTensor &part, BoundedTensor whole) {
  SmallVector<int64_t> strides = computeStrides(whole.tensor.getShape());
  int64_t first = dot(insert.getStaticOffsets(), strides);
  for (auto [stride, step] :
       llvm::zip_equal(strides, insert.getStaticStrides()))
    stride *= step;
  bool hasBounds = !part.bounds.empty() || !whole.bounds.empty();
  if (hasBounds)
    whole.bounds.resize(whole.tensor.getNumElements(), 0);
  for (IndexWalk walk(part.tensor.getShape()); walk; ++walk) {
    int64_t at = first + dot(*walk, strides);
    if (whole.tensor.isFloat())
      whole.tensor.mutableFloats()[at] = part.tensor.floats()[walk.linear()];
    else
      whole.tensor.mutableIntegers()[at] =
          part.tensor.integers()[walk.linear()];
    if (hasBounds)
      whole.bounds[at] = part.bound(walk.linear());
  }
  return whole;
}

static LogicalResult evaluate(Operation &op, TensorValues &values) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<linalg::GenericOp, exec::ScanOp, exec::ScatterOp>(
          [&](auto nest) { return NestEvaluation(nest, values).run(); })
      .Case([&](tensor::EmptyOp empty) {
        values[empty] = {poisoned(empty.getType()), {}};
        return success();
      })
      .Case([&](arith::ConstantOp constant) {
        if (auto elements = dyn_cast<ElementsAttr>(constant.getValue()))
          values[constant] = {Tensor(elements), {}};
        return success(); // A number is read where it is used.
      })
      .Case([&](exec::IotaOp iota) {
        Tensor tensor(iota.getType());
        for (auto [i, element] : llvm::enumerate(tensor.mutableIntegers()))
          element = static_cast<int64_t>(i);
        values[iota] = {tensor, {}};
        return success();
      })
      .Case([&](linalg::FillOp fill) {
        auto number = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>();
        Value result = fill.getResult(0);
        values[result] = {
            filled(cast<RankedTensorType>(result.getType()), number.getValue()),
            {}};
        return success();
      })
      .Case([&](tensor::InsertSliceOp insert) {
        values[insert] = inserted(insert, values[insert.getSource()],
                                  values[insert.getDest()]);
        return success();
      })
      .Default([](Operation *other) {
        return emitNumberedError(other, "E0142")
               << "the reference interpreter has no meaning for '"
               << other->getName() << "' in a kernel";
      });
}

LogicalResult evaluateKernel(Region &region, ArrayRef<BoundedTensor> inputs,
                             SmallVectorImpl<BoundedTensor> &results) {
  Block &body = region.front();
  TensorValues values;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : body.without_terminator())
    if (failed(evaluate(op, values)))
      return failure();
  for (Value yielded : body.getTerminator()->getOperands())
    results.push_back(values[yielded]);
  return success();
}

} // namespace shardc::reference
