//===- ProgramBuilder.cpp - A random program under construction -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Samples are drawn as the checks draw data: parameters within one over the
// root of their last dimension, inputs in [-1, 1), buffers in [0.5, 1.5).
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramBuilder.h"

#include "dialects/Aten/TypePromotion.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace shardc::fuzz {

using reference::Tensor;

ProgramBuilder::ProgramBuilder(MLIRContext &context, RandomSource random,
                               FloatType element, int64_t batch)
    : random(random), element(element), batch(batch),
      module(ModuleOp::create(UnknownLoc::get(&context), "program")),
      builder(&context), location(UnknownLoc::get(&context)) {
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, location, "forward",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ProgramBuilder::record(Operation *op) {
  if (!frames.empty())
    op->setAttr(moduleStackName, encodeModuleStack(builder, frames));
  SmallVector<Tensor> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(sampleOf(operand));
  LogicalResult evaluated = table.evaluate(op, operands, results);
  assert(succeeded(evaluated) && "the sample has to fit");
  (void)evaluated;
  bool isDifferentiated =
      !isa<aten::DetachOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value v) { return isActive(v); });
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results)) {
    samples[result] = tensor;
    if (isDifferentiated && !tensor.isInteger())
      active.insert(result);
  }
}

/// An operation that the table has no meaning for, and what it reads.
Value ProgramBuilder::record(Operation *op, Tensor sample) {
  if (!frames.empty())
    op->setAttr(moduleStackName, encodeModuleStack(builder, frames));
  samples[op->getResult(0)] = std::move(sample);
  return op->getResult(0);
}

bool ProgramBuilder::isVaried(Value value, ArrayRef<int64_t> dims) const {
  const Tensor &tensor = sampleOf(value);
  Shape kept(tensor.getShape());
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= kept[dim];
    kept[dim] = 1;
  }
  if (count < 2)
    return false;
  SmallVector<int64_t> strides =
      reference::broadcastStrides(kept, tensor.getShape());
  std::vector<double> sums(elementsOf(kept)), squares(sums.size());
  for (reference::IndexWalk walk(tensor.getShape()); walk; ++walk) {
    double x = tensor.floats()[walk.linear()];
    int64_t place = reference::dot(*walk, strides);
    sums[place] += x;
    squares[place] += x * x;
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    double mean = sums[i] / double(count);
    if (squares[i] / double(count) - mean * mean < 0.02)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ProgramBuilder::pick(function_ref<bool(RankedTensorType)> isWanted) {
  SmallVector<Value> wanted;
  for (Value value : values)
    if (!isWanted || isWanted(typeOf(value)))
      wanted.push_back(value);
  if (wanted.empty())
    return Value();
  int64_t late = std::min<int64_t>(3, wanted.size());
  return random.chance(0.5) ? wanted[wanted.size() - 1 - random.below(late)]
                            : random.pick(ArrayRef(wanted));
}

Value ProgramBuilder::pickActive() {
  SmallVector<Value> wanted = llvm::filter_to_vector(
      values, [&](Value value) { return isActive(value); });
  return wanted.empty() ? Value() : random.pick(ArrayRef(wanted));
}

bool ProgramBuilder::offer(Value value) {
  double squares = 0;
  for (double x : sampleOf(value).floats())
    squares += x * x;
  double size = std::sqrt(squares / double(typeOf(value).getNumElements()));
  if (!std::isfinite(size) || size < 1e-6)
    return false;
  if (size > 3 || size < 0.2) {
    // Two digits: scaling by a power of two would round nothing.
    double digits = std::pow(10, std::floor(std::log10(1 / size)) - 1);
    // A sample that happens to be small says little of other data.
    double factor = std::min(std::round(1 / size / digits) * digits, 5.0);
    value =
        create<aten::MulScalarOp>(value, builder.getFloatAttr(element, factor));
  }
  values.push_back(value);
  return true;
}

/// A value of as many elements under another shape, its dimensions in another
/// order where that is all there is to change.
Value ProgramBuilder::reshaped(ArrayRef<int64_t> shape) {
  Value value = pick([&](RankedTensorType type) {
    return type.getNumElements() == elementsOf(shape) &&
           type.getShape() != shape;
  });
  if (!value)
    return value;
  Shape sorted(shape), own(shapeOf(value));
  llvm::sort(sorted);
  llvm::sort(own);
  if (sorted != own || random.chance(0.3))
    return create<aten::ViewOp>(value, shape);
  Shape dims;
  for (int64_t size : shape)
    for (auto [i, other] : llvm::enumerate(shapeOf(value)))
      if (other == size && !llvm::is_contained(dims, int64_t(i))) {
        dims.push_back(i);
        break;
      }
  return create<aten::PermuteOp>(value, dims);
}

Value ProgramBuilder::expanded(ArrayRef<int64_t> shape) {
  Value value = pick([&](RankedTensorType type) {
    FailureOr<Shape> wider = aten::broadcastShapes(type.getShape(), shape);
    return type.getShape() != shape && succeeded(wider) &&
           ArrayRef<int64_t>(*wider) == shape;
  });
  return value ? create<aten::ExpandOp>(value, shape) : value;
}

/// A window of a larger value.
Value ProgramBuilder::cut(ArrayRef<int64_t> shape) {
  Value value = pick([&](RankedTensorType type) {
    return type.getRank() == int64_t(shape.size()) &&
           type.getShape() != shape &&
           llvm::all_of(llvm::zip(type.getShape(), shape), [](auto sizes) {
             return std::get<0>(sizes) >= std::get<1>(sizes);
           });
  });
  if (!value)
    return value;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t whole = shapeOf(value)[dim];
    if (whole == size)
      continue;
    int64_t step =
        size > 1 ? random.between(1, (whole - 1) / (size - 1)) : int64_t(1);
    int64_t reach = (size - 1) * step + 1;
    int64_t start = random.between(0, whole - reach);
    value =
        create<aten::SliceOp>(value, int64_t(dim), start, start + reach, step);
  }
  return value;
}

/// A value that is smaller in one dimension, and what is missing.
Value ProgramBuilder::joined(ArrayRef<int64_t> shape) {
  if (shape.empty() || !isJoining)
    return Value();
  int64_t dim = random.below(shape.size());
  Value part = pick([&](RankedTensorType type) {
    if (type.getRank() != int64_t(shape.size()) ||
        type.getDimSize(dim) >= shape[dim])
      return false;
    Shape rest(type.getShape());
    rest[dim] = shape[dim];
    return ArrayRef<int64_t>(rest) == shape;
  });
  if (!part)
    return part;
  Shape rest(shape);
  rest[dim] -= shapeOf(part)[dim];
  SmallVector<Value> parts = {part, operand(rest)};
  random.shuffle(parts);
  return create<aten::CatOp>(parts, dim);
}

Value ProgramBuilder::operand(ArrayRef<int64_t> shape) {
  if (random.chance(0.6))
    if (Value value = pick(
            [&](RankedTensorType type) { return type.getShape() == shape; }))
      return value;
  if (random.chance(0.7)) {
    using Maker = Value (ProgramBuilder::*)(ArrayRef<int64_t>);
    Maker makers[] = {&ProgramBuilder::reshaped, &ProgramBuilder::expanded,
                      &ProgramBuilder::cut, &ProgramBuilder::joined};
    random.shuffle(MutableArrayRef(makers));
    for (Maker make : makers)
      if (Value value = (this->*make)(shape))
        return value;
  }
  if (!shape.empty() && shape[0] == batch && random.chance(0.4))
    return input(shape);
  if (random.chance(0.1))
    return buffer("cache", tensorOf(shape));
  if (!random.chance(0.1))
    return parameter(shape);
  Tensor tensor = drawSample(tensorOf(shape), -1, 1, 1);
  if (tensor.getNumElements() > 24)
    llvm::fill(tensor.mutableFloats(), tensor.floats()[0]);
  return create<aten::ConstantOp>(tensor.toAttribute());
}

//===----------------------------------------------------------------------===//
// State and inputs
//===----------------------------------------------------------------------===//

Tensor ProgramBuilder::drawSample(RankedTensorType type, double low,
                                  double high, int64_t bound) {
  Tensor tensor(type);
  if (tensor.isFloat())
    for (double &x : tensor.mutableFloats())
      x = low + (high - low) * random.uniform();
  else
    for (int64_t &x : tensor.mutableIntegers())
      x = random.below(bound);
  tensor.round();
  return tensor;
}

std::string ProgramBuilder::uniqueName(StringRef name) {
  std::string path = modulePath();
  std::string base = (path.empty() ? name : path + "." + name).str();
  std::string symbol = base;
  for (int64_t i = 1; module->lookupSymbol(symbol); ++i)
    symbol = base + llvm::utostr(i);
  return symbol;
}

fsdp::ParameterOp ProgramBuilder::declareParameter(ArrayRef<int64_t> shape) {
  OpBuilder declarations(function);
  bool isFrozen = random.chance(0.07);
  auto parameter = fsdp::ParameterOp::create(
      declarations, location, uniqueName(shape.size() > 1 ? "weight" : "bias"),
      tensorOf(shape), builder.getStrArrayAttr({}), isFrozen);
  parameters.push_back(parameter);
  double scale = shape.empty() ? 1 : 1 / std::sqrt(double(shape.back()));
  parameterSamples.push_back(drawSample(tensorOf(shape), -scale, scale, 1));
  return parameter;
}

Value ProgramBuilder::read(StringRef symbol, RankedTensorType type,
                           Tensor sample) {
  return record(fsdp::ReadOp::create(builder, location, type, symbol),
                std::move(sample));
}

Value ProgramBuilder::runNumber(fsdp::Scalar name) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return record(fsdp::ScalarOp::create(builder, location, type, name),
                Tensor(type));
}

Value ProgramBuilder::parameter(ArrayRef<int64_t> shape) {
  SmallVector<size_t> same;
  for (auto [i, parameter] : llvm::enumerate(parameters))
    if (parameter.getType() == tensorOf(shape))
      same.push_back(i);
  size_t index = parameters.size();
  // Decided in any case: repeated blocks are to use the same numbers.
  bool isShared = random.chance(0.2);
  if (!same.empty() && isShared)
    index = random.pick(ArrayRef(same));
  else
    declareParameter(shape);
  fsdp::ParameterOp parameter = parameters[index];
  Value value =
      read(parameter.getSymName(), tensorOf(shape), parameterSamples[index]);
  if (!parameter.getFrozen())
    active.insert(value);
  return value;
}

void ProgramBuilder::addUnusedParameter() {
  declareParameter({random.between(1, 7)});
}

Value ProgramBuilder::buffer(StringRef name, RankedTensorType type) {
  std::string symbol = uniqueName(name);
  OpBuilder declarations(function);
  fsdp::BufferOp::create(declarations, location, symbol, type,
                         builder.getArrayAttr({}), /*mean=*/FlatSymbolRefAttr(),
                         /*non_persistent=*/false, fsdp::BufferSyncAttr(),
                         /*parameter=*/false);
  return read(symbol, type, drawSample(type, 0.5, 1.5, 2));
}

fsdp::ReadOp ProgramBuilder::bufferOf(Value value) const {
  auto read = value.getDefiningOp<fsdp::ReadOp>();
  ModuleOp declarations = module.get();
  return read && declarations.lookupSymbol<fsdp::BufferOp>(read.getSymbol())
             ? read
             : fsdp::ReadOp();
}

void ProgramBuilder::write(fsdp::ReadOp read, Value value) {
  auto write =
      fsdp::WriteOp::create(builder, location, value, read.getSymbol());
  if (!frames.empty())
    write->setAttr(moduleStackName, encodeModuleStack(builder, frames));
}

Value ProgramBuilder::addInput(RankedTensorType type, Tensor sample) {
  unsigned number = function.getNumArguments();
  NamedAttribute name = builder.getNamedAttr(
      "shardc.name", builder.getStringAttr("input" + Twine(number)));
  LogicalResult inserted = function.insertArgument(
      number, type, builder.getDictionaryAttr(name), location);
  assert(succeeded(inserted));
  (void)inserted;
  Value value = function.getArgument(number);
  samples[value] = std::move(sample);
  return value;
}

Value ProgramBuilder::input(ArrayRef<int64_t> shape) {
  bool isShared = random.chance(0.6);
  for (BlockArgument argument : function.getArguments())
    if (argument.getType() == tensorOf(shape) && isShared)
      return argument;
  return addInput(tensorOf(shape), drawSample(tensorOf(shape), -1, 1, 1));
}

Value ProgramBuilder::indexInput(ArrayRef<int64_t> shape, int64_t bound) {
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  bool isShared = random.chance(0.3);
  for (BlockArgument argument : function.getArguments())
    if (argument.getType() == type && isShared &&
        llvm::all_of(sampleOf(argument).integers(),
                     [&](int64_t x) { return x < bound; }))
      return argument;
  return addInput(type, drawSample(type, 0, 0, bound));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

void ProgramBuilder::enterModule(StringRef name, StringRef type) {
  std::string path = modulePath();
  path = (path.empty() ? name : path + "." + name).str();
  frames.push_back({builder.getStringAttr(path), builder.getStringAttr(type),
                    calls[path]++});
}

std::string ProgramBuilder::modulePath() const {
  return frames.empty() ? "" : frames.back().path.str();
}

OwningOpRef<ModuleOp> ProgramBuilder::finish(Value loss) {
  func::ReturnOp::create(builder, location, loss);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), loss.getType()));
  return std::move(module);
}

} // namespace shardc::fuzz
