//===- ProgramGenerator.cpp - Random valid training programs --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Structure is decided here, operators by their entries.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramGenerator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;

namespace shardc::fuzz {

namespace {

/// One program.
class Generator {
public:
  Generator(MLIRContext &context, RandomSource random, LeftOut leftOut = {})
      : builder(context, random, elementOf(context, random), batchOf(random)) {
    for (const OperatorEntry &entry : operatorEntries())
      if (entry.refusal.empty() && !llvm::is_contained(leftOut, entry.name))
        entries.append(entry.weight, &entry);
    if (llvm::is_contained(leftOut, "aten.cat"))
      builder.avoidJoins();
  }

  OwningOpRef<ModuleOp> run();
  OwningOpRef<ModuleOp> runOne(const OperatorEntry &entry);

private:
  ProgramBuilder builder;
  /// The entries to choose from, as often as they weigh.
  SmallVector<const OperatorEntry *> entries;

  static FloatType elementOf(MLIRContext &context, RandomSource random);
  static int64_t batchOf(RandomSource random);
  RandomSource &random() { return builder.getRandom(); }
  void addStem();
  void addOperators(int64_t count);
  void addBlock(int64_t number);
  void addBlocks();
  void addBufferUpdates();
  void exchangeBuffers();
  Value reduceToScalar(Value value);
  OwningOpRef<ModuleOp> finish();
};

} // namespace

FloatType Generator::elementOf(MLIRContext &context, RandomSource random) {
  if (random.chance(0.06))
    return Float64Type::get(&context);
  return Float32Type::get(&context);
}

int64_t Generator::batchOf(RandomSource random) {
  return random.pick({2, 1, 2, 3, 4, 5, 8});
}

/// The first values: an image, a sequence, or rows.
void Generator::addStem() {
  Shape shape = {builder.getBatch()};
  for (int64_t i = random().between(0, 3); i > 0; --i)
    shape.push_back(randomSize(random()));
  while (elementsOf(shape) > ProgramBuilder::maxElements / 2)
    shape.pop_back();
  builder.offer(builder.input(shape));
}

//===----------------------------------------------------------------------===//
// Operators and modules
//===----------------------------------------------------------------------===//

/// Operators, some of them in an inner module.
void Generator::addOperators(int64_t count) {
  static constexpr StringLiteral names[] = {"fc", "norm", "attn", "mlp"};
  while (count > 0) {
    int64_t inner = random().chance(0.3) ? random().between(1, count) : 0;
    if (inner > 0)
      builder.enterModule(random().pick(ArrayRef(names)), "Inner");
    for (int64_t i = std::max<int64_t>(inner, 1); i > 0; --i, --count)
      random().pick(ArrayRef(entries))->build(builder);
    if (inner > 0)
      builder.leaveModule();
  }
}

/// What a block computes joins what it was given, or takes its place.
void Generator::addBlock(int64_t number) {
  SmallVector<Value> before(builder.getValues());
  Value stream = before.back();
  builder.enterModule("h." + std::to_string(number), "Block");
  if (random().chance(0.6))
    builder.setValues(stream);
  addOperators(random().between(1, 6));
  if (random().chance(0.6))
    builder.offer(
        builder.create<aten::AddOp>(stream, builder.operand(shapeOf(stream))));
  builder.leaveModule();
  // A few of the inner values stay: skip connections.
  SmallVector<Value> after = before;
  for (Value value : builder.getValues())
    if (!llvm::is_contained(before, value) && random().chance(0.3))
      after.push_back(value);
  Value last = builder.getValues().back();
  if (!llvm::is_contained(after, last))
    after.push_back(last);
  builder.setValues(after);
}

/// Blocks; repeated ones are decided by the same numbers, so that they are
/// equal where what they are given is.
void Generator::addBlocks() {
  int64_t count = random().between(0, 3);
  bool isRepeated = random().chance(0.5);
  RandomSource first = random();
  for (int64_t i = 0; i < count; ++i) {
    if (isRepeated)
      random() = first;
    addBlock(i);
  }
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Buffers that take each other's values, as a short memory does.
void Generator::exchangeBuffers() {
  Value incoming = builder.pick();
  SmallVector<fsdp::ReadOp> reads;
  for (int64_t i = random().between(1, 3); i > 0; --i)
    reads.push_back(
        builder.bufferOf(builder.buffer("history", typeOf(incoming))));
  if (random().chance(0.5))
    builder.offer(reads.front().getResult());
  SmallVector<Value> next = {incoming};
  for (fsdp::ReadOp read : reads)
    next.push_back(read.getResult());
  // A ring instead of a queue.
  if (random().chance(0.4))
    next.front() = next.back();
  SmallVector<size_t> order(reads.size());
  std::iota(order.begin(), order.end(), 0);
  random().shuffle(order);
  for (size_t i : order)
    builder.write(reads[i], next[i]);
}

void Generator::addBufferUpdates() {
  if (random().chance(0.15))
    exchangeBuffers();
  if (!random().chance(0.2))
    return;
  // A running mean, of which a view may be what is kept.
  Value value = builder.pick();
  Value old = builder.buffer("average", typeOf(value));
  Value scaled = builder.create<aten::MulScalarOp>(
      old, builder.getBuilder().getFloatAttr(builder.getElement(), 0.9));
  Value sum = builder.create<aten::AddOp>(scaled, value);
  if (random().chance(0.3))
    builder.offer(sum);
  if (typeOf(sum).getRank() > 1 &&
      shapeOf(sum).back() == shapeOf(sum).drop_back().back() &&
      random().chance(0.5)) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(typeOf(sum).getRank()));
    std::swap(dims.back(), dims[dims.size() - 2]);
    sum = builder.create<aten::PermuteOp>(sum, dims);
  }
  builder.write(builder.bufferOf(old), sum);
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// The mean of a product with itself or with something else.
Value Generator::reduceToScalar(Value value) {
  if (typeOf(value).getRank() == 0)
    return value;
  Value other = random().chance(0.5) ? value : builder.operand(shapeOf(value));
  Value product = builder.create<aten::MulOp>(value, other);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(typeOf(product).getRank()));
  return builder.create<aten::MeanOp>(product, dims, false);
}

OwningOpRef<ModuleOp> Generator::finish() {
  SmallVector<Value> ends;
  for (Value value : builder.getValues())
    if (value.use_empty() && builder.isActive(value))
      ends.push_back(value);
  random().shuffle(ends);
  if (ends.size() > 6)
    ends.resize(6);
  if (ends.empty()) {
    Value value = builder.pickActive();
    if (!value) {
      value = builder.pick();
      Value weight;
      do
        weight = builder.parameter(shapeOf(value));
      while (!builder.isActive(weight));
      value = builder.create<aten::MulOp>(value, weight);
    }
    ends.push_back(value);
  }
  Value loss;
  for (Value end : ends) {
    Value term = reduceToScalar(end);
    loss = loss ? builder.create<aten::AddOp>(loss, term).getResult() : term;
  }
  if (random().chance(0.1))
    builder.addUnusedParameter();
  return builder.finish(loss);
}

OwningOpRef<ModuleOp> Generator::run() {
  addStem();
  addOperators(random().between(1, 5));
  addBlocks();
  addOperators(random().between(0, 5));
  addBufferUpdates();
  return finish();
}

OwningOpRef<ModuleOp> Generator::runOne(const OperatorEntry &entry) {
  addStem();
  // On something that depends on a parameter, so that a gradient flows.
  Value value = builder.pick();
  Value weight;
  do
    weight = builder.parameter(shapeOf(value));
  while (!builder.isActive(weight));
  builder.setValues({});
  builder.offer(builder.create<aten::MulOp>(value, weight));
  return entry.build(builder) ? finish() : OwningOpRef<ModuleOp>();
}

OwningOpRef<ModuleOp> generateProgram(MLIRContext &context, uint64_t seed,
                                      LeftOut leftOut) {
  return Generator(context, RandomSource(seed), leftOut).run();
}

OwningOpRef<ModuleOp> generateProgramOf(const OperatorEntry &entry,
                                        MLIRContext &context, uint64_t seed) {
  return Generator(context, RandomSource(seed)).runOne(entry);
}

} // namespace shardc::fuzz
