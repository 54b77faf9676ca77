//===- ShardingCommands.cpp - Commands of fsdp operations -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gathers, reductions, buffers, metrics and the optimizer as commands of the
// ProgramBuilder.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ParallelCopy.h"
#include "passes/Memory/ProgramBuilder.h"
#include "passes/Memory/StateKernels.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc {

SmallVector<fsdp::SegmentOp> ProgramBuilder::segmentsOf(StringRef group) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  return llvm::to_vector(op.getBody().front().getOps<fsdp::SegmentOp>());
}

/// Gradients and metrics are sums over micro-batches: they start at zero.
void ProgramBuilder::addInitialFills() {
  section = exec::Section::begin;
  for (auto [index, state] : llvm::enumerate(states.getStates()))
    if (state.role == exec::Role::gradient ||
        state.role == exec::Role::metric) {
      Command &command = addCommand(CommandKind::fill, step.getLoc());
      command.operands.push_back({statePlace(index), exec::Access::write});
    }
  section = exec::Section::micro_batch;
}

LogicalResult ProgramBuilder::visitBegin(fsdp::BeginOp begin) {
  if (begin.getPhase() == fsdp::Phase::update) {
    addBufferWrites();
    section = exec::Section::update;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Model buffers
//===----------------------------------------------------------------------===//

/// A read sees the last value written in this micro-batch, else the state.
void ProgramBuilder::visitRead(fsdp::ReadOp read) {
  for (fsdp::WriteOp write : writes)
    if (write.getSymbol() == read.getSymbol()) {
      places[read.getResult()] = places.lookup(write.getValue());
      return;
    }
  places[read.getResult()] = statePlace(states.lookupBuffer(read.getSymbol()));
}

LogicalResult ProgramBuilder::visitWrite(fsdp::WriteOp write) {
  if (failed(getPlace(write.getValue(), write)))
    return failure();
  for (fsdp::WriteOp &earlier : writes)
    if (earlier.getSymbol() == write.getSymbol()) {
      earlier = write;
      return success();
    }
  writes.push_back(write);
  return success();
}

namespace {
struct BufferWrite {
  Place source, target;
  Location location;
};
} // namespace

/// States change after backward, which may still read the old values, and all
/// at once: a value may be another state's. One that is its own state's has the
/// state's type, so it is the whole of it, and nothing changes.
void ProgramBuilder::addBufferWrites() {
  SmallVector<BufferWrite> changes;
  std::vector<PlaceCopy> copies;
  for (fsdp::WriteOp write : writes) {
    Place source = places.lookup(write.getValue());
    Place target = statePlace(states.lookupBuffer(write.getSymbol()));
    if (source.buffer == target.buffer)
      continue;
    changes.push_back({source, target, write.getLoc()});
    copies.push_back({source.buffer, target.buffer});
  }
  DenseMap<unsigned, unsigned> savedIn;
  for (const CopyStep &next : orderCopies(copies)) {
    auto [source, target, location] = changes[next.copy];
    if (next.savesTarget) {
      Place aside = target;
      aside.buffer = list.addArena(getSpanBytes(target.type));
      addCopy(target, aside, location);
      savedIn[target.buffer] = aside.buffer;
    }
    if (auto saved = savedIn.find(source.buffer); saved != savedIn.end())
      source.buffer = saved->second;
    addCopy(source, target, location);
  }
  writes.clear();
}

void ProgramBuilder::addCopy(const Place &source, const Place &target,
                             Location location) {
  Command &command = addCommand(CommandKind::copy, location);
  command.operands.push_back({source, exec::Access::read});
  command.operands.push_back({target, exec::Access::write});
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::visitUnshardStart(fsdp::UnshardStartOp start) {
  SmallVector<unsigned> buffers;
  for (fsdp::SegmentOp segment : segmentsOf(start.getGroup()))
    if (failed(gatherSegment(start, segment, buffers)))
      return failure();
  gathered[start.getResult()] = buffers;
  return success();
}

/// Casts this rank's shard into its slot and gathers in place.
LogicalResult
ProgramBuilder::gatherSegment(fsdp::UnshardStartOp start,
                              fsdp::SegmentOp segment,
                              SmallVectorImpl<unsigned> &buffers) {
  Place shard = statePlace(states.lookup(segment).parameter);
  Type dtype = segment.getDtype();
  bool needsCast = shard.type.getElementType() != dtype;
  if (ranks == 1 && !needsCast) {
    buffers.push_back(shard.buffer);
    return success();
  }
  int64_t stream = static_cast<int64_t>(start.getStream());
  int64_t slotBytes = segment.getShard() * getElementBytes(dtype);
  unsigned buffer = list.addArena(slotBytes * ranks);
  buffers.push_back(buffer);
  auto slotType = RankedTensorType::get(shard.type.getShape(), dtype);
  Place slot{buffer, 0, slotBytes, getRowMajor(slotType)};
  if (needsCast) {
    OpBuilder builder(start);
    exec::KernelOp kernel =
        buildCastKernel(builder, start.getLoc(),
                        RankedTensorType::get(shard.type.getShape(),
                                              shard.type.getElementType()),
                        slotType);
    LogicalResult added = addLaunches(kernel, {shard, slot}, {}, stream);
    eraseStateKernel(kernel);
    if (failed(added))
      return failure();
  } else {
    Command &copy = addCommand(CommandKind::copy, start.getLoc(), stream);
    copy.operands.push_back({shard, exec::Access::read});
    copy.operands.push_back({slot, exec::Access::write});
  }
  if (ranks == 1)
    return success();
  Command &gather = addCommand(CommandKind::allGather, start.getLoc(), stream);
  gather.name = start.getGroup().str();
  gather.extent = slotBytes;
  Place whole{
      buffer, 0, 0,
      MemRefType::get({static_cast<int64_t>(segment.getElements())}, dtype)};
  gather.operands.push_back({whole, exec::Access::read_write});
  return success();
}

void ProgramBuilder::visitWait(fsdp::WaitOp wait) {
  auto found = gathered.find(wait.getPending());
  if (found == gathered.end())
    return; // A reduction: its value is the gradient states.
  SmallVector<unsigned> buffers = found->second;
  gathered[wait.getResult()] = buffers;
}

void ProgramBuilder::visitParameterView(fsdp::ViewOp view) {
  ParameterPlace place = groups.lookup(view.getParameter());
  auto type = cast<RankedTensorType>(view.getType());
  const SmallVector<unsigned> &buffers = gathered[view.getUnsharded()];
  SmallVector<fsdp::SegmentOp> segments = segmentsOf(place.group.getSymName());
  size_t index = llvm::find(segments, place.segment) - segments.begin();
  places[view.getResult()] = {buffers[index],
                              static_cast<int64_t>(*place.member.getOffset()) *
                                  getElementBytes(type.getElementType()),
                              0, getRowMajor(type)};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult
ProgramBuilder::visitReduceScatter(fsdp::ReduceScatterStartOp reduction) {
  SmallVector<fsdp::SegmentOp> segments = segmentsOf(reduction.getGroup());
  for (auto [segment, buffer] :
       llvm::zip_equal(segments, reduceInputs[reduction])) {
    if (segment.getFrozen())
      continue;
    if (failed(fillSegment(reduction, segment, buffer)))
      return failure();
    Command &command =
        addCommand(CommandKind::reduceScatter, reduction.getLoc(),
                   static_cast<int64_t>(reduction.getStream()));
    command.name = reduction.getGroup().str();
    command.extent = segment.getShard();
    Place whole{buffer, 0, 0,
                MemRefType::get({static_cast<int64_t>(segment.getElements())},
                                segment.getReduce())};
    command.operands.push_back({whole, exec::Access::read});
    command.operands.push_back({statePlace(states.lookup(segment).gradient),
                                exec::Access::read_write});
  }
  return success();
}

/// Copies gradients that were not written in place and zeroes what no gradient
/// covers.
LogicalResult ProgramBuilder::fillSegment(fsdp::ReduceScatterStartOp reduction,
                                          fsdp::SegmentOp segment,
                                          unsigned buffer) {
  int64_t element = getElementBytes(segment.getReduce());
  SmallVector<std::pair<int64_t, int64_t>> covered;
  for (auto [symbol, gradient] :
       llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
    ParameterPlace place =
        groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
    if (place.segment != segment)
      continue;
    auto type = cast<RankedTensorType>(gradient.getType());
    int64_t offset = *place.member.getOffset() * element;
    covered.push_back({offset, offset + type.getNumElements() * element});
    FailureOr<Place> source = getPlace(gradient, reduction);
    if (failed(source))
      return failure();
    if (source->buffer == buffer && source->offset == offset)
      continue;
    if (!isRowMajor(source->type))
      return reduction.emitError("expected a row-major gradient of ") << symbol;
    Command &copy = addCommand(CommandKind::copy, reduction.getLoc());
    copy.operands.push_back({*source, exec::Access::read});
    copy.operands.push_back(
        {{buffer, offset, 0, source->type}, exec::Access::write});
  }
  llvm::sort(covered);
  covered.push_back({static_cast<int64_t>(segment.getElements()) * element, 0});
  int64_t end = 0;
  for (auto [begin, next] : covered) {
    if (begin > end) {
      Command &fill = addCommand(CommandKind::fill, reduction.getLoc());
      fill.operands.push_back(
          {{buffer, end, 0,
            MemRefType::get({(begin - end) / element}, segment.getReduce())},
           exec::Access::write});
    }
    end = next;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::visitLoss(fsdp::RecordLossOp loss) {
  FailureOr<Place> place = getPlace(loss.getLoss(), loss);
  if (failed(place))
    return failure();
  Place total = statePlace(states.getLoss());
  OpBuilder builder(loss);
  exec::KernelOp kernel = buildLossKernel(
      builder, loss.getLoc(), states.getStates()[states.getLoss()].type,
      cast<RankedTensorType>(loss.getLoss().getType()));
  LogicalResult added = addLaunches(kernel, {total, *place, total},
                                    {kernel::SharedStorage{0, 0}}, 0);
  eraseStateKernel(kernel);
  return added;
}

/// Sums squares over this rank's gradients, then both metrics over ranks.
LogicalResult ProgramBuilder::visitGradientNorm(fsdp::GradientNormOp norm) {
  Command &squares = addCommand(CommandKind::call, norm.getLoc());
  squares.name = "sum_of_squares";
  squares.settings = DictionaryAttr::get(norm.getContext());
  for (auto [index, state] : llvm::enumerate(states.getStates()))
    if (state.role == exec::Role::gradient)
      squares.operands.push_back({statePlace(index), exec::Access::read});
  Place total = statePlace(states.getGradientNorm());
  squares.operands.push_back({total, exec::Access::write});
  if (ranks == 1)
    return success();
  Command &reduceSquares = addCommand(CommandKind::allReduce, norm.getLoc());
  reduceSquares.doubleDouble = true;
  reduceSquares.operands.push_back({total, exec::Access::read_write});
  Command &reduceLoss = addCommand(CommandKind::allReduce, norm.getLoc());
  reduceLoss.operands.push_back(
      {statePlace(states.getLoss()), exec::Access::read_write});
  return success();
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::visitUpdate(fsdp::UpdateOp update) {
  for (fsdp::SegmentOp segment : segmentsOf(update.getGroup()))
    if (!segment.getFrozen() && failed(updateSegment(update, segment)))
      return failure();
  return success();
}

LogicalResult ProgramBuilder::updateSegment(fsdp::UpdateOp update,
                                            fsdp::SegmentOp segment) {
  const SegmentStates &numbers = states.lookup(segment);
  RankedTensorType shard = states.getStates()[numbers.parameter].type;
  Type element = shard.getElementType();
  SmallVector<Place> operands = {statePlace(numbers.parameter)};
  for (int64_t state : numbers.optimizer)
    operands.push_back(statePlace(state));
  operands.push_back(statePlace(numbers.gradient));
  operands.push_back(scalarPlace("learning_rate", std::nullopt, element));
  operands.push_back(scalarPlace("gradient_scale", std::nullopt, element));
  OpBuilder builder(update);
  exec::KernelOp kernel;
  if (auto adamw = dyn_cast<fsdp::AdamWAttr>(update.getOptimizer())) {
    for (FloatAttr beta : {adamw.getBeta1(), adamw.getBeta2()})
      operands.push_back(
          scalarPlace("bias_correction", beta.getValueAsDouble(), element));
    kernel = buildAdamWKernel(builder, update.getLoc(), shard, adamw);
  } else {
    kernel = buildSgdKernel(builder, update.getLoc(), shard,
                            cast<fsdp::SgdAttr>(update.getOptimizer()));
  }
  // The parameter and the optimizer's states are written over themselves.
  SmallVector<kernel::SharedStorage> shared;
  for (unsigned i = 0; i <= numbers.optimizer.size(); ++i) {
    operands.push_back(operands[i]);
    shared.push_back({i, i});
  }
  LogicalResult added = addLaunches(kernel, operands, shared, 0);
  eraseStateKernel(kernel);
  return added;
}

} // namespace shardc
