//===- ProgramBuilder.cpp - From a scheduled step to commands -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over the step, where values live, and the commands of kernels,
// library calls and views. ShardingCommands.cpp has those of fsdp operations.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ProgramBuilder.h"

#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

ProgramBuilder::ProgramBuilder(func::FuncOp step, ModuleOp kernels,
                               const StateTable &states, int64_t ranks,
                               bool keepKernels)
    : step(step), symbols(step->getParentOfType<ModuleOp>()),
      groups(step->getParentOfType<ModuleOp>()), states(states), ranks(ranks),
      keepKernels(keepKernels), outliner(kernels) {
  for (size_t i = 0; i < states.getStates().size(); ++i)
    stateBuffers.push_back(list.addBuffer(
        {exec::Space::state, static_cast<int64_t>(i), /*bytes=*/0}));
}

LogicalResult ProgramBuilder::build() {
  placeInputs();
  placeGradients();
  addInitialFills();
  for (Operation &op :
       llvm::make_early_inc_range(step.getBody().front().without_terminator()))
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult ProgramBuilder::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](exec::KernelOp kernel) { return visitKernel(kernel); })
      .Case([&](exec::LibraryOp library) { return visitLibrary(library); })
      .Case([&](exec::ViewOp view) { return visitView(view); })
      .Case([&](fsdp::BeginOp begin) { return visitBegin(begin); })
      .Case([&](fsdp::ReadOp read) { return visitRead(read), success(); })
      .Case([&](fsdp::WriteOp write) { return visitWrite(write); })
      .Case([&](fsdp::ViewOp view) {
        return visitParameterView(view), success();
      })
      .Case(
          [&](fsdp::UnshardStartOp start) { return visitUnshardStart(start); })
      .Case([&](fsdp::WaitOp wait) { return visitWait(wait), success(); })
      .Case([&](fsdp::ReshardOp) { return success(); })
      .Case([&](fsdp::ReduceScatterStartOp reduction) {
        return visitReduceScatter(reduction);
      })
      .Case([&](fsdp::RecordLossOp loss) { return visitLoss(loss); })
      .Case([&](fsdp::GradientNormOp norm) { return visitGradientNorm(norm); })
      .Case([&](fsdp::UpdateOp update) { return visitUpdate(update); })
      .Default([](Operation *other) {
        return other->emitError("expected an operation that has a command, "
                                "got '")
               << other->getName() << "'";
      });
}

Command &ProgramBuilder::addCommand(CommandKind kind, Location location,
                                    int64_t stream) {
  Command command{kind, location};
  command.section = section;
  command.stream = stream;
  list.commands.push_back(std::move(command));
  return list.commands.back();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void ProgramBuilder::placeInputs() {
  for (BlockArgument argument : step.getArguments()) {
    unsigned buffer =
        list.addBuffer({exec::Space::input, argument.getArgNumber(), 0});
    places[argument] = {
        buffer, 0, 0, getRowMajor(cast<RankedTensorType>(argument.getType()))};
  }
}

Place ProgramBuilder::statePlace(int64_t state) {
  return {stateBuffers[state], 0, 0,
          getRowMajor(states.getStates()[state].type)};
}

Place ProgramBuilder::scalarPlace(StringRef kind, std::optional<double> beta,
                                  Type type) {
  auto *found = llvm::find_if(scalars, [&](const RuntimeScalar &scalar) {
    return scalar.kind == kind && scalar.beta == beta && scalar.type == type;
  });
  int64_t index = found - scalars.begin();
  if (found == scalars.end())
    scalars.push_back({kind.str(), beta, type});
  unsigned buffer = list.addBuffer({exec::Space::scalar, index, 0});
  return {buffer, 0, 0, MemRefType::get({}, type)};
}

FailureOr<Place> ProgramBuilder::getPlace(Value value, Operation *user) {
  auto found = places.find(value);
  if (found != places.end())
    return found->second;
  return user->emitError("expected an operand that lives in a buffer");
}

/// Results live where they were assigned to, else in a buffer of their own,
/// stored in `order` (empty: row-major).
Place ProgramBuilder::placeResult(Value result, ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(result.getType());
  auto found = assigned.find(result);
  if (found != assigned.end())
    return places[result] = found->second;
  SmallVector<int64_t> strides = getRowMajorStrides(type.getShape());
  if (!order.empty()) {
    int64_t stride = 1;
    for (int64_t dim : llvm::reverse(order)) {
      strides[dim] = stride;
      stride *= type.getDimSize(dim);
    }
  }
  MemRefType memref = getStrided(type, strides);
  unsigned buffer = list.addArena(type.getNumElements() *
                                  getElementBytes(type.getElementType()));
  return places[result] = {buffer, 0, 0, memref};
}

//===----------------------------------------------------------------------===//
// Gradients live in their reduction's input
//===----------------------------------------------------------------------===//

void ProgramBuilder::placeGradients() {
  for (auto reduction :
       step.getBody().front().getOps<fsdp::ReduceScatterStartOp>())
    placeReduction(reduction);
}

void ProgramBuilder::placeReduction(fsdp::ReduceScatterStartOp reduction) {
  SmallVector<unsigned> &buffers = reduceInputs[reduction];
  DenseMap<Operation *, unsigned> bufferOf;
  for (fsdp::SegmentOp segment : segmentsOf(reduction.getGroup())) {
    unsigned buffer = list.addArena(segment.getElements() *
                                    getElementBytes(segment.getReduce()));
    buffers.push_back(buffer);
    bufferOf[segment] = buffer;
  }
  for (auto [symbol, gradient] :
       llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
    ParameterPlace place =
        groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
    auto type = cast<RankedTensorType>(gradient.getType());
    placeGradient(gradient, {bufferOf[place.segment],
                             static_cast<int64_t>(*place.member.getOffset()) *
                                 getElementBytes(type.getElementType()),
                             0, getRowMajor(type)});
  }
}

/// Whether `result` is stored row-major by the operation that makes it.
static bool isStoredRowMajor(OpResult result) {
  if (auto library = dyn_cast<exec::LibraryOp>(result.getOwner()))
    return cast<DenseI64ArrayAttr>(library.getOrder()[result.getResultNumber()])
        .empty();
  return isa<exec::KernelOp>(result.getOwner());
}

/// Assigns `gradient`, or the value that it is a whole row-major view of, to
/// `place`; false when its producer cannot write there.
bool ProgramBuilder::placeGradient(Value gradient, Place place) {
  if (auto view = gradient.getDefiningOp<exec::ViewOp>()) {
    auto source = cast<RankedTensorType>(view.getSource().getType());
    auto type = cast<RankedTensorType>(view.getType());
    bool whole = view.getOffset() == 0 &&
                 source.getNumElements() == type.getNumElements() &&
                 isRowMajor(getStrided(type, view.getStrides()));
    place.type = getRowMajor(source);
    return whole && placeGradient(view.getSource(), place);
  }
  auto result = dyn_cast<OpResult>(gradient);
  if (!result || !isStoredRowMajor(result))
    return false;
  return assigned.try_emplace(gradient, place).second;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::visitKernel(exec::KernelOp kernel) {
  SmallVector<Place> operands;
  for (Value input : kernel.getInputs()) {
    FailureOr<Place> place = getPlace(input, kernel);
    if (failed(place))
      return failure();
    operands.push_back(*place);
  }
  for (Value result : kernel.getResults())
    operands.push_back(placeResult(result, {}));
  return addLaunches(kernel, operands, {}, /*stream=*/0);
}

/// `operands` are the kernel's inputs, then its results.
LogicalResult
ProgramBuilder::addLaunches(exec::KernelOp kernel, ArrayRef<Place> operands,
                            ArrayRef<kernel::SharedStorage> shared,
                            int64_t stream) {
  SmallVector<MemRefType> layouts;
  for (const Place &place : operands)
    layouts.push_back(place.type);
  SmallVector<kernel::SharedStorage> shareable;
  if (!shared.empty())
    shareable = kernel::getShareableStorage(kernel);
  for (const kernel::SharedStorage &pair : shared)
    if (!llvm::is_contained(shareable, pair))
      return kernel.emitError("expected input ")
             << pair.first << " to be complete before result " << pair.second
             << " is written over it";
  FailureOr<kernel::KernelFunction> function =
      outliner.outline(kernel, layouts, shared);
  if (failed(function))
    return failure();
  SmallVector<Place> scratch;
  for (MemRefType type : function->scratch)
    scratch.push_back({list.addArena(getSpanBytes(type)), 0, 0, type});
  unsigned inputs = kernel.getInputs().size();
  size_t firstCommand = list.commands.size();
  for (const kernel::KernelLaunch &launch : function->launches) {
    Command &command = addCommand(CommandKind::launch, kernel.getLoc(), stream);
    command.name = launch.symbol;
    command.label = kernel.getLabel().str();
    command.extent = launch.extent;
    for (const kernel::KernelOperand &operand : launch.operands) {
      using Kind = kernel::KernelOperand::Kind;
      const Place &place = operand.kind == Kind::Input ? operands[operand.index]
                           : operand.kind == Kind::Result
                               ? operands[inputs + operand.index]
                               : scratch[operand.index];
      command.operands.push_back({place, operand.access});
    }
  }
  if (keepKernels)
    keepComputation(kernel, operands, firstCommand);
  return success();
}

void ProgramBuilder::keepComputation(exec::KernelOp kernel,
                                     ArrayRef<Place> operands,
                                     size_t firstCommand) {
  auto computation = std::make_shared<Computation>();
  IRMapping mapping;
  kernel.getBody().cloneInto(&computation->region, mapping);
  computation->launches = list.commands.size() - firstCommand;
  unsigned inputs = kernel.getInputs().size();
  for (auto [number, place] : llvm::enumerate(operands))
    (number < inputs ? computation->operands : computation->outputs)
        .push_back(place);
  list.commands[firstCommand].computation = std::move(computation);
}

LogicalResult ProgramBuilder::visitLibrary(exec::LibraryOp library) {
  SmallVector<Operand> operands;
  for (Value input : library.getInputs()) {
    FailureOr<Place> place = getPlace(input, library);
    if (failed(place))
      return failure();
    operands.push_back({*place, exec::Access::read});
  }
  for (auto [result, order] :
       llvm::zip_equal(library.getResults(), library.getOrder()))
    operands.push_back(
        {placeResult(result, cast<DenseI64ArrayAttr>(order).asArrayRef()),
         exec::Access::write});
  Command &command = addCommand(CommandKind::call, library.getLoc());
  command.name = library.getCall().str();
  command.settings = library.getSettings();
  command.operands.assign(operands.begin(), operands.end());
  return success();
}

LogicalResult ProgramBuilder::visitView(exec::ViewOp view) {
  FailureOr<Place> source = getPlace(view.getSource(), view);
  if (failed(source))
    return failure();
  auto type = cast<RankedTensorType>(view.getType());
  Place place = *source;
  place.offset += static_cast<int64_t>(view.getOffset()) *
                  getElementBytes(type.getElementType());
  place.type = getStrided(type, view.getStrides());
  places[view.getResult()] = place;
  return success();
}

} // namespace shardc
