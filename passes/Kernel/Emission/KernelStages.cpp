//===- KernelStages.cpp - A kernel's region as stages ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over the region. A tensor that is inserted into another one lives
// there from the start, so that its stage writes the part directly; a result of
// the kernel lives in the result's buffer.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/KernelStages.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Kernel/Models/ImageOrder.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc::kernel {

namespace {

class KernelReader {
public:
  KernelReader(exec::KernelInterface kernel, ArrayRef<MemRefType> layouts,
               ArrayRef<SharedStorage> shared, ArrayRef<int64_t> alignments)
      : kernel(kernel), body(kernel.getBody().front()), layouts(layouts),
        shared(shared), alignments(alignments) {}

  FailureOr<KernelProblem> run();

private:
  int64_t alignmentOf(TensorStorage::Kind kind, unsigned index,
                      Type element) const;
  int addTensor(TensorStorage::Kind kind, unsigned index, Type element,
                int64_t elements);
  TensorPlace densePlace(TensorStorage::Kind kind, RankedTensorType type);
  void placeArguments();
  void placeResults();
  void placeInto(Value value, const TensorPlace &place);
  LogicalResult visit(Operation *op);
  LogicalResult visitConstant(arith::ConstantOp constant);
  LogicalResult visitIota(exec::IotaOp iota);
  LogicalResult visitFill(linalg::FillOp fill);
  LogicalResult visitInsert(tensor::InsertSliceOp insert);
  LogicalResult visitGeneric(linalg::GenericOp generic);
  LogicalResult visitScan(exec::ScanOp scan);
  LogicalResult visitScatter(exec::ScatterOp scatter);
  LogicalResult addReads(linalg::GenericOp generic, Stage &stage,
                         StageBody &code);
  LogicalResult addWrites(linalg::GenericOp generic, Stage &stage,
                          StageBody &code);
  void addGathers(linalg::GenericOp generic, Stage &stage);
  LogicalResult addAccess(linalg::GenericOp generic, AffineMap map,
                          const TensorPlace &place, bool isWrite, Stage &stage,
                          const StageBody &code);
  const TensorPlace &placeOf(Value value);
  void addCopy(const TensorPlace &source, const TensorPlace &target,
               ArrayRef<int64_t> shape);
  void addStage(Stage stage, StageBody code);

  exec::KernelInterface kernel;
  Block &body;
  ArrayRef<MemRefType> layouts;
  ArrayRef<SharedStorage> shared;
  ArrayRef<int64_t> alignments;
  KernelProblem problem;
  /// Results that are an argument, a constant or another result.
  SmallVector<std::pair<Value, TensorPlace>> resultCopies;
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Temporaries begin at a multiple of 16 bytes. A vector of bits is packed, as
/// single ones in memory are not.
int64_t KernelReader::alignmentOf(TensorStorage::Kind kind, unsigned index,
                                  Type element) const {
  using Kind = TensorStorage::Kind;
  const int64_t bytes = getElementBytes(element);
  if (element.isInteger(1) || kind == Kind::Constant || kind == Kind::Iota)
    return bytes;
  if (kind == Kind::Temporary)
    return 16;
  unsigned number = index + (kind == Kind::Result ? body.getNumArguments() : 0);
  return number < alignments.size() ? alignments[number] : bytes;
}

int KernelReader::addTensor(TensorStorage::Kind kind, unsigned index,
                            Type element, int64_t elements) {
  using Kind = TensorStorage::Kind;
  problem.stages.tensors.push_back(
      {elements, getElementBytes(element), kind == Kind::Temporary,
       kind != Kind::Result && kind != Kind::Temporary,
       alignmentOf(kind, index, element)});
  problem.storages.push_back({kind, index, element, {}});
  return static_cast<int>(problem.storages.size()) - 1;
}

TensorPlace KernelReader::densePlace(TensorStorage::Kind kind,
                                     RankedTensorType type) {
  TensorPlace place;
  place.tensor =
      addTensor(kind, 0, type.getElementType(), type.getNumElements());
  place.strides = kind == TensorStorage::Kind::Temporary
                      ? getTemporaryStrides(layouts, type.getShape())
                      : computeStrides(type.getShape());
  return place;
}

void KernelReader::placeArguments() {
  for (auto [index, argument] : llvm::enumerate(body.getArguments())) {
    SmallVector<int64_t> strides = exec::getStrides(layouts[index]);
    RankedTensorType type = typeOf(argument);
    TensorPlace place;
    place.tensor =
        addTensor(TensorStorage::Kind::Input, index, type.getElementType(),
                  exec::getSpan(type.getShape(), strides));
    place.strides = strides;
    problem.places[argument] = place;
  }
}

/// Values that are yielded live in the results' buffers; so do the wholes that
/// they were inserted into and the parts that were inserted into them.
void KernelReader::placeResults() {
  unsigned inputs = body.getNumArguments();
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    SmallVector<int64_t> strides = exec::getStrides(layouts[inputs + index]);
    RankedTensorType type = typeOf(value);
    TensorPlace place;
    place.strides = strides;
    const auto *pair =
        llvm::find_if(shared, [&, i = index](const SharedStorage &storage) {
          return storage.second == i;
        });
    place.tensor = pair != shared.end()
                       ? problem.places[body.getArgument(pair->first)].tensor
                       : addTensor(TensorStorage::Kind::Result, index,
                                   type.getElementType(),
                                   exec::getSpan(type.getShape(), strides));
    Operation *definition = value.getDefiningOp();
    bool isMadeHere =
        isa_and_nonnull<linalg::GenericOp, exec::ScanOp, exec::ScatterOp,
                        linalg::FillOp, tensor::InsertSliceOp>(definition);
    if (isMadeHere && !problem.places.contains(value))
      placeInto(value, place);
    else
      resultCopies.push_back({value, place});
  }
}

/// Where the part goes whose whole is at `place`.
static TensorPlace placeOfPart(tensor::InsertSliceOp insert,
                               TensorPlace place) {
  for (auto [offset, step, stride] :
       llvm::zip_equal(insert.getStaticOffsets(), insert.getStaticStrides(),
                       place.strides)) {
    place.offset += offset * stride;
    stride *= step;
  }
  return place;
}

/// Whether the stage that makes the inserted part writes it where the whole is;
/// otherwise visitInsert copies it.
static bool isPartInPlace(tensor::InsertSliceOp insert) {
  Value part = insert.getSource();
  return part.getDefiningOp<linalg::GenericOp>() && part.hasOneUse();
}

/// Settles `value`, and what it is made of by insertion, at `place`, before any
/// stage mentions them.
void KernelReader::placeInto(Value value, const TensorPlace &place) {
  bool isNew = problem.places.try_emplace(value, place).second;
  assert(isNew && "a stage may have written to the earlier place");
  (void)isNew;
  auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert)
    return;
  if (insert.getDest().getDefiningOp<tensor::InsertSliceOp>())
    placeInto(insert.getDest(), place);
  if (!isPartInPlace(insert))
    return;
  bool isNewPart =
      problem.places.try_emplace(insert.getSource(), placeOfPart(insert, place))
          .second;
  assert(isNewPart && "a stage may have written to the earlier place");
  (void)isNewPart;
}

/// The tensor whose storage `value` is a part of: what it is inserted into, or
/// a later state of that, where placeInto settles both together.
static Value wholeOf(Value value) {
  for (OpOperand &use : value.getUses()) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
    if (!insert)
      continue;
    bool isEarlierState = insert.getDest() == value &&
                          value.getDefiningOp<tensor::InsertSliceOp>();
    if (isEarlierState || isPartInPlace(insert))
      return wholeOf(insert.getResult());
  }
  return value;
}

/// The place of `value`; a temporary's is made at its first mention, and with
/// it those of all that shares its storage: a stage that writes a part must not
/// write elsewhere than where the whole is read.
const TensorPlace &KernelReader::placeOf(Value value) {
  if (!problem.places.contains(value)) {
    Value whole = wholeOf(value);
    placeInto(whole, densePlace(TensorStorage::Kind::Temporary, typeOf(whole)));
  }
  return problem.places.find(value)->second;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void KernelReader::addStage(Stage stage, StageBody code) {
  problem.stages.stages.push_back(std::move(stage));
  problem.bodies.push_back(std::move(code));
}

/// One loop a dimension of `shape` that has more than one index.
static Stage makeStage(ArrayRef<int64_t> shape) {
  Stage stage;
  for (int64_t size : shape)
    if (size != 1)
      stage.sizes.push_back(size);
  stage.reduced.assign(stage.sizes.size(), false);
  stage.counted.assign(stage.sizes.size(), false);
  return stage;
}

static StageAccess accessAll(const TensorPlace &place, ArrayRef<int64_t> shape,
                             bool isWrite) {
  StageAccess access{place.tensor, isWrite, place.offset, {}};
  for (auto [size, stride] : llvm::zip_equal(shape, place.strides))
    if (size != 1)
      access.strides.push_back(stride);
  return access;
}

void KernelReader::addCopy(const TensorPlace &source, const TensorPlace &target,
                           ArrayRef<int64_t> shape) {
  Stage stage = makeStage(shape);
  StageBody code;
  if (source.splat)
    code.fill = source.splat;
  else
    stage.accesses.push_back(accessAll(source, shape, false));
  stage.accesses.push_back(accessAll(target, shape, true));
  addStage(std::move(stage), std::move(code));
}

static TypedAttr scalarConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  return constant ? constant.getValue() : TypedAttr();
}

LogicalResult KernelReader::visitConstant(arith::ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements)
    return success(); // A number.
  if (elements.isSplat()) {
    problem.places[constant].splat =
        cast<TypedAttr>(elements.getSplatValue<Attribute>());
    return success();
  }
  TensorPlace place =
      densePlace(TensorStorage::Kind::Constant, typeOf(constant.getResult()));
  problem.storages[place.tensor].constant = elements;
  problem.places[constant] = place;
  return success();
}

LogicalResult KernelReader::visitIota(exec::IotaOp iota) {
  problem.places[iota] =
      densePlace(TensorStorage::Kind::Iota, typeOf(iota.getResult()));
  return success();
}

/// A fill that is yielded, or that something is inserted into, is a stage; for
/// a reduction or a read it is only a number.
LogicalResult KernelReader::visitFill(linalg::FillOp fill) {
  TypedAttr number = scalarConstant(fill.getInputs()[0]);
  if (!number)
    return fill.emitError("K2: expected a fill with a constant");
  Value result = fill.getResult(0);
  ArrayRef<int64_t> shape = typeOf(result).getShape();
  TensorPlace splat;
  splat.splat = number;
  if (problem.places.contains(result))
    addCopy(splat, problem.places[result], shape);
  else
    problem.places[result] = splat;
  for (OpOperand &use : result.getUses())
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
        insert && insert.getDest() == result)
      addCopy(splat, TensorPlace(placeOf(insert.getResult())), shape);
  return success();
}

/// Whether the whole can be written in place: nothing else sees it.
static bool isFreshWhole(Value whole) {
  Operation *made = whole.getDefiningOp();
  return isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(made) ||
         (isa_and_nonnull<tensor::InsertSliceOp>(made) && whole.hasOneUse());
}

LogicalResult KernelReader::visitInsert(tensor::InsertSliceOp insert) {
  if (!insert.getStrides().empty() || !insert.getOffsets().empty() ||
      insert.getSourceType().getRank() != insert.getDestType().getRank() ||
      !isFreshWhole(insert.getDest()))
    return insert.emitError("K2: expected an insertion at constant offsets "
                            "and strides into a new tensor");
  TensorPlace target = placeOfPart(insert, placeOf(insert.getResult()));
  const TensorPlace &source = placeOf(insert.getSource());
  bool isThere = source.tensor == target.tensor &&
                 source.offset == target.offset && !source.splat;
  if (!isThere)
    addCopy(TensorPlace(source), target, insert.getSourceType().getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// Generic nests
//===----------------------------------------------------------------------===//

/// Adds the access of `place` through `map`, whose results are sums of
/// multiples of loops.
LogicalResult KernelReader::addAccess(linalg::GenericOp generic, AffineMap map,
                                      const TensorPlace &place, bool isWrite,
                                      Stage &stage, const StageBody &code) {
  StageAccess access{place.tensor, isWrite, place.offset,
                     std::vector<int64_t>(stage.sizes.size(), 0)};
  for (auto [expression, stride] :
       llvm::zip_equal(map.getResults(), place.strides)) {
    SmallVector<int64_t> factors;
    if (!expression.isPureAffine() ||
        failed(getFlattenedAffineExpr(expression, map.getNumDims(), 0,
                                      &factors)) ||
        factors.size() != map.getNumDims() + 1)
      return generic.emitError("K2: expected sums of multiples of loops as "
                               "indices, got ")
             << AffineMapAttr::get(map);
    for (auto [loop, number] : llvm::enumerate(code.loops))
      if (number >= 0)
        access.strides[number] += factors[loop] * stride;
    access.offset += factors.back() * stride;
  }
  stage.accesses.push_back(std::move(access));
  return success();
}

LogicalResult KernelReader::addReads(linalg::GenericOp generic, Stage &stage,
                                     StageBody &code) {
  for (OpOperand *input : generic.getDpsInputOperands()) {
    code.reads.push_back(-1);
    if (generic.getMatchingBlockArgument(input).use_empty())
      continue;
    if (input->get().getDefiningOp<tensor::EmptyOp>())
      return generic.emitError("K2: expected no read of an empty tensor");
    const TensorPlace &place = placeOf(input->get());
    if (place.splat)
      continue;
    code.reads.back() = static_cast<int>(stage.accesses.size());
    if (failed(addAccess(generic, generic.getMatchingIndexingMap(input),
                         TensorPlace(place), false, stage, code)))
      return failure();
  }
  return success();
}

LogicalResult KernelReader::addWrites(linalg::GenericOp generic, Stage &stage,
                                      StageBody &code) {
  bool reduces = generic.getNumReductionLoops() != 0;
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    if (reduces) {
      auto fill = output.get().getDefiningOp<linalg::FillOp>();
      TypedAttr start =
          fill ? scalarConstant(fill.getInputs()[0]) : TypedAttr();
      if (!start)
        return generic.emitError("K2: expected an output that starts as a "
                                 "fill with a constant");
      code.starts.push_back(start);
    } else if (!output.get().getDefiningOp<tensor::EmptyOp>()) {
      return generic.emitError("K2: expected an output that starts empty");
    }
    TensorPlace place = placeOf(generic.getTiedOpResult(&output));
    if (failed(addAccess(generic, generic.getMatchingIndexingMap(&output),
                         place, true, stage, code)))
      return failure();
  }
  return success();
}

/// Tensors read at computed indices, and loops whose counters are computed
/// with.
void KernelReader::addGathers(linalg::GenericOp generic, Stage &stage) {
  for (Operation &op : *generic.getBody())
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      const TensorPlace &place = placeOf(extract.getTensor());
      if (!place.splat)
        stage.gathers.push_back(place.tensor);
    }
}

Operation *combinerOf(const StageBody &code, unsigned number) {
  Block &body = *code.body;
  Value carried = body.getArgument(code.inputs.size() + number);
  Operation *combiner =
      body.getTerminator()->getOperand(number).getDefiningOp();
  bool isSimple =
      combiner && combiner->getBlock() == &body &&
      combiner->getNumOperands() == 2 &&
      llvm::is_contained(combiner->getOperands(), carried) &&
      carried.hasOneUse() &&
      isa<arith::AddFOp, arith::AddIOp, arith::MaxNumFOp, arith::MinNumFOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::MulFOp>(combiner);
  return isSimple ? combiner : nullptr;
}

LogicalResult KernelReader::visitGeneric(linalg::GenericOp generic) {
  Stage stage;
  StageBody code;
  code.body = generic.getBody();
  code.inputs = generic.getInputs();
  for (auto [size, iterator] : llvm::zip_equal(
           generic.getStaticLoopRanges(), generic.getIteratorTypesArray())) {
    code.loops.push_back(size == 1 ? -1 : static_cast<int>(stage.sizes.size()));
    if (size == 1)
      continue;
    stage.sizes.push_back(size);
    stage.reduced.push_back(iterator == utils::IteratorType::reduction);
    stage.counted.push_back(false);
  }
  for (auto index : generic.getBody()->getOps<linalg::IndexOp>())
    if (int loop = code.loops[index.getDim()]; loop >= 0)
      stage.counted[loop] = true;
  if (failed(addReads(generic, stage, code)))
    return failure();
  addGathers(generic, stage);
  if (failed(addWrites(generic, stage, code)))
    return failure();
  stage.combines = true;
  for (unsigned number = 0; number < generic.getNumDpsInits(); ++number)
    stage.combines &= combinerOf(code, number) != nullptr;
  addStage(std::move(stage), std::move(code));
  return success();
}

/// Every tensor is read and written where the loops are; in reverse, the
/// scanned loop counts from the last element.
LogicalResult KernelReader::visitScan(exec::ScanOp scan) {
  ArrayRef<int64_t> shape = typeOf(scan.getResult(0)).getShape();
  auto dimension = static_cast<size_t>(scan.getDimension());
  Stage stage = makeStage(shape);
  StageBody code;
  code.body = &scan.getBody().front();
  code.inputs = scan.getInputs();
  int loops = 0;
  for (int64_t size : shape)
    code.loops.push_back(size == 1 ? -1 : loops++);
  stage.scans = true;
  int scanned = code.loops[dimension];
  if (scanned >= 0)
    stage.reduced[scanned] = true;
  auto addAccess = [&](const TensorPlace &place, bool isWrite) {
    StageAccess access = accessAll(place, shape, isWrite);
    if (scan.getReverse() && scanned >= 0) {
      access.offset += access.strides[scanned] * (shape[dimension] - 1);
      access.strides[scanned] = -access.strides[scanned];
    }
    stage.accesses.push_back(access);
  };
  for (Value input : scan.getInputs()) {
    TensorPlace place = placeOf(input);
    code.reads.push_back(place.splat ? -1
                                     : static_cast<int>(stage.accesses.size()));
    if (!place.splat)
      addAccess(place, /*isWrite=*/false);
  }
  for (auto [result, start] :
       llvm::zip_equal(scan.getResults(), scan.getStarts())) {
    code.starts.push_back(cast<TypedAttr>(start));
    addAccess(TensorPlace(placeOf(result)), /*isWrite=*/true);
  }
  addStage(std::move(stage), std::move(code));
  return success();
}

/// A copy of the whole, then a nest that changes it.
LogicalResult KernelReader::visitScatter(exec::ScatterOp scatter) {
  Value whole = scatter.getWhole();
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return scatter.emitError("K2: expected a whole with elements to change");
  TensorPlace target = placeOf(scatter.getResult());
  addCopy(TensorPlace(placeOf(whole)), target, typeOf(whole).getShape());

  ArrayRef<int64_t> shape = typeOf(scatter.getInputs().front()).getShape();
  Stage stage = makeStage(shape);
  StageBody code;
  code.body = &scatter.getBody().front();
  code.inputs = scatter.getInputs();
  stage.scatters = true;
  stage.reduced.assign(stage.sizes.size(), true);
  int loops = 0;
  for (int64_t size : shape)
    code.loops.push_back(size == 1 ? -1 : loops++);
  for (Value input : scatter.getInputs()) {
    TensorPlace place = placeOf(input);
    code.reads.push_back(place.splat ? -1
                                     : static_cast<int>(stage.accesses.size()));
    if (!place.splat)
      stage.accesses.push_back(accessAll(place, shape, /*isWrite=*/false));
  }
  StageAccess write{target.tensor, true, target.offset,
                    std::vector<int64_t>(stage.sizes.size(), 0)};
  for (auto [dim, number] : llvm::enumerate(scatter.getLoops())) {
    if (number < 0) {
      write.computed.push_back(
          {target.strides[dim], typeOf(whole).getDimSize(dim)});
    } else if (int loop = code.loops[number]; loop >= 0) {
      write.strides[loop] = target.strides[dim];
      stage.reduced[loop] = false;
    }
  }
  stage.accesses.push_back(write);
  addStage(std::move(stage), std::move(code));
  return success();
}

LogicalResult KernelReader::visit(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp constant) { return visitConstant(constant); })
      .Case([&](exec::IotaOp iota) { return visitIota(iota); })
      .Case([&](linalg::FillOp fill) { return visitFill(fill); })
      .Case([&](tensor::InsertSliceOp insert) { return visitInsert(insert); })
      .Case([&](linalg::GenericOp generic) { return visitGeneric(generic); })
      .Case([&](exec::ScanOp scan) { return visitScan(scan); })
      .Case([&](exec::ScatterOp scatter) { return visitScatter(scatter); })
      .Case([&](tensor::EmptyOp) { return success(); })
      .Default([](Operation *other) {
        return other->emitError("K2: expected a loop nest, an insertion or a "
                                "constant in a kernel, got '")
               << other->getName() << "'";
      });
}

/// Loops over nothing have no digits and no blocks.
static LogicalResult verifyElements(exec::KernelInterface kernel) {
  for (TypeRange types : {kernel.getInputTypes(), kernel.getYieldedTypes()})
    for (Type type : types)
      if (cast<RankedTensorType>(type).getNumElements() == 0)
        return kernel->emitError("K2: expected tensors with elements, got ")
               << type;
  return success();
}

FailureOr<KernelProblem> KernelReader::run() {
  if (failed(verifyElements(kernel)))
    return failure();
  placeArguments();
  placeResults();
  // Fills come first: a part may be written before the fill of its whole.
  for (bool early : {true, false})
    for (Operation &op : body.without_terminator())
      if (isa<arith::ConstantOp, exec::IotaOp, linalg::FillOp>(op) == early &&
          failed(visit(&op)))
        return failure();
  for (auto &[value, place] : resultCopies)
    addCopy(TensorPlace(placeOf(value)), place, typeOf(value).getShape());
  return std::move(problem);
}

FailureOr<KernelProblem> readKernel(exec::KernelInterface kernel,
                                    ArrayRef<MemRefType> layouts,
                                    ArrayRef<SharedStorage> shared,
                                    ArrayRef<int64_t> alignments) {
  return KernelReader(kernel, layouts, shared, alignments).run();
}

} // namespace shardc::kernel
