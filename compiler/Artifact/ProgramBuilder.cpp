//===- ProgramBuilder.cpp - Commands of the artifact ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// program.json from `exec.program`: one command an operation.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc {

static format::Space toSpace(exec::Space space) {
  switch (space) {
  case exec::Space::arena:
    return format::Space::Arena;
  case exec::Space::state:
    return format::Space::State;
  case exec::Space::input:
    return format::Space::Input;
  case exec::Space::scalar:
    return format::Space::Scalar;
  case exec::Space::constant:
    return format::Space::Constant;
  }
  llvm_unreachable("every space is named");
}

static format::Access toAccess(exec::Access access) {
  switch (access) {
  case exec::Access::read:
    return format::Access::Read;
  case exec::Access::write:
    return format::Access::Write;
  case exec::Access::read_write:
    return format::Access::ReadWrite;
  }
  llvm_unreachable("every access is named");
}

static format::BufferReference toBuffer(exec::RefAttr ref) {
  format::BufferReference buffer;
  buffer.space = toSpace(ref.getSpace());
  buffer.index = ref.getIndex();
  buffer.offset = ref.getOffset();
  buffer.rankStride = ref.getRankStride();
  buffer.bytes = ref.getBytes();
  return buffer;
}

static format::TensorReference toTensor(exec::RefAttr ref) {
  MemRefType type = ref.getType();
  format::TensorReference tensor;
  tensor.buffer = toBuffer(ref);
  tensor.dtype = toDtype(type.getElementType());
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  if (!type.getLayout().isIdentity()) {
    SmallVector<int64_t> strides;
    int64_t offset;
    LogicalResult strided = type.getStridesAndOffset(strides, offset);
    assert(succeeded(strided) && "the memory phase makes strided places");
    (void)strided;
    // Strides of dimensions of size 1 say nothing: without them the tensor is
    // what calls of contiguous tensors want.
    if (!exec::isRowMajor(type.getShape(), strides))
      tensor.strides.assign(strides.begin(), strides.end());
  }
  return tensor;
}

/// A value of a library call's settings.
static format::AttributeValue toValue(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, format::AttributeValue>(attribute)
      .Case([](BoolAttr value) { return value.getValue(); })
      .Case([](IntegerAttr value) { return value.getInt(); })
      .Case([](FloatAttr value) { return value.getValueAsDouble(); })
      .Case([](StringAttr value) { return value.str(); })
      .Case([](DenseI64ArrayAttr value) {
        return std::vector<int64_t>(value.asArrayRef().begin(),
                                    value.asArrayRef().end());
      })
      .Default([](Attribute) -> format::AttributeValue {
        llvm_unreachable("verify-kernels checked the settings");
      });
}

static format::Action toAction(exec::LaunchOp op) {
  format::LaunchCommand launch;
  launch.kernel = op.getKernel().str();
  launch.extent = op.getExtent();
  for (Attribute ref : op.getOperandsAttr())
    launch.operands.push_back(toBuffer(cast<exec::RefAttr>(ref)));
  return launch;
}

static format::Action toAction(exec::CallOp op) {
  format::LibraryCommand call;
  call.call = op.getCall().str();
  for (NamedAttribute setting : op.getSettings())
    call.attributes[setting.getName().str()] = toValue(setting.getValue());
  for (Attribute ref : op.getOperandsAttr())
    call.operands.push_back(toTensor(cast<exec::RefAttr>(ref)));
  for (Attribute ref : op.getOutputsAttr())
    call.results.push_back(toTensor(cast<exec::RefAttr>(ref)));
  return call;
}

static format::Action toAction(exec::AllGatherOp op) {
  format::AllGatherCommand gather;
  gather.buffer = toBuffer(op.getBuffer());
  gather.slotBytes = op.getSlot();
  return gather;
}

static format::Action toAction(exec::ReduceScatterOp op) {
  format::ReduceScatterCommand reduction;
  reduction.buffer = toBuffer(op.getBuffer());
  reduction.dtype = toDtype(op.getBuffer().getType().getElementType());
  reduction.elements = op.getOutput().getType().getNumElements();
  reduction.output = toBuffer(op.getOutput());
  return reduction;
}

static format::Action toAction(exec::AllReduceOp op) {
  format::AllReduceCommand reduction;
  reduction.buffer = toBuffer(op.getBuffer());
  reduction.dtype = toDtype(op.getBuffer().getType().getElementType());
  reduction.elements = op.getBuffer().getType().getNumElements();
  reduction.doubleDouble = op.getDoubleDouble();
  return reduction;
}

static format::Action toAction(exec::CopyOp op) {
  return format::CopyCommand{toBuffer(op.getSource()),
                             toBuffer(op.getTarget())};
}

static format::Action toAction(exec::FillOp op) {
  return format::FillCommand{toBuffer(op.getTarget()), 0};
}

static format::Section toSection(exec::Section section) {
  switch (section) {
  case exec::Section::begin:
    return format::Section::Begin;
  case exec::Section::micro_batch:
    return format::Section::MicroBatch;
  case exec::Section::update:
    return format::Section::Update;
  }
  llvm_unreachable("every section is named");
}

template <typename CommandOp>
static format::Command toCommand(CommandOp op) {
  format::Command command;
  command.section = toSection(op.getSection());
  command.stream = op.getStream();
  command.waits.assign(op.getWaits().begin(), op.getWaits().end());
  if (op.getRecords())
    command.records = *op.getRecords();
  command.module = getModulePath(op->getLoc()).str();
  if constexpr (std::is_same_v<CommandOp, exec::LaunchOp>)
    command.label = op.getLabel().str();
  command.action = toAction(op);
  return command;
}

/// What the attributes and the operands' types of a kernel's function say.
static format::KernelSignature toSignature(func::FuncOp function) {
  format::KernelSignature signature;
  signature.name = function.getSymName().str();
  signature.extent =
      function->getAttrOfType<IntegerAttr>("exec.extent").getInt();
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      break; // The range of iterations.
    auto word = function.getArgAttrOfType<StringAttr>(number, "exec.access");
    exec::Access access =
        word ? *exec::symbolizeAccess(word.getValue()) : exec::Access::read;
    int64_t element = std::max<int64_t>(memref.getElementTypeBitWidth() / 8, 1);
    signature.operands.push_back(
        {memref.getNumElements() * element, element, toAccess(access)});
  }
  return signature;
}

static format::ScalarKind toScalarKind(StringRef kind) {
  if (kind == "learning_rate")
    return format::ScalarKind::LearningRate;
  if (kind == "gradient_scale")
    return format::ScalarKind::GradientScale;
  assert(kind == "bias_correction" && "the memory phase makes no other kind");
  return format::ScalarKind::BiasCorrection;
}

format::Program buildProgram(ModuleOp module) {
  format::Program program;
  for (auto op : module.getOps<exec::ScalarOp>()) {
    format::Scalar scalar;
    scalar.kind = toScalarKind(op.getKind());
    scalar.dtype = toDtype(op.getType());
    if (op.getBeta())
      scalar.beta = op.getBeta()->convertToDouble();
    program.scalars.push_back(scalar);
  }
  if (auto kernels = module.lookupSymbol<ModuleOp>("kernels"))
    for (auto function : kernels.getOps<func::FuncOp>())
      program.kernels.push_back(toSignature(function));
  auto op = *module.getOps<exec::ProgramOp>().begin();
  program.arenaBytes = op.getArena();
  program.eventCount = op.getEvents();
  for (Attribute stream : op.getStreams())
    program.streams.push_back(cast<StringAttr>(stream).str());
  for (Operation &command : op.getBody().front())
    llvm::TypeSwitch<Operation *>(&command)
        .Case<exec::LaunchOp, exec::CallOp, exec::AllGatherOp,
              exec::ReduceScatterOp, exec::AllReduceOp, exec::CopyOp,
              exec::FillOp>([&](auto concrete) {
          program.commands.push_back(toCommand(concrete));
        });
  return program;
}

} // namespace shardc
