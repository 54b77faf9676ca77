//===- ProgramBuilder.cpp - Commands of the artifact ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// program.json from `exec.program`: one command an operation.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
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

static format::BufferReference toBuffer(const exec::Reference &reference) {
  format::BufferReference buffer;
  buffer.space = toSpace(reference.space);
  buffer.index = reference.index;
  buffer.offset = reference.offset;
  buffer.rankStride = reference.rankStride;
  buffer.bytes = reference.getBytes();
  return buffer;
}

static format::TensorReference toTensor(const exec::Reference &reference) {
  MemRefType type = reference.type;
  format::TensorReference tensor;
  tensor.buffer = toBuffer(reference);
  tensor.dtype = toDtype(type.getElementType());
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  // Strides of dimensions of size 1 say nothing: without them the tensor is
  // what calls of contiguous tensors want.
  SmallVector<int64_t> strides = exec::getStrides(type);
  if (!exec::isRowMajor(type.getShape(), strides))
    tensor.strides.assign(strides.begin(), strides.end());
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

namespace {

/// The members of each kind of command.
struct ActionBuilder {
  const exec::References &references;

  format::BufferReference buffer(Value memory) const {
    return toBuffer(references.get(memory));
  }
  format::TensorReference tensor(Value memory) const {
    return toTensor(references.get(memory));
  }
  static MemRefType typeOf(Value memory) {
    return cast<MemRefType>(memory.getType());
  }

  format::Action operator()(exec::LaunchOp op) const {
    format::LaunchCommand launch;
    launch.kernel = op.getKernel().str();
    launch.extent = op.getExtent();
    for (Value argument : op.getArguments())
      launch.operands.push_back(buffer(argument));
    return launch;
  }

  format::Action operator()(exec::CallOp op) const {
    format::LibraryCommand call;
    call.call = op.getCall().str();
    for (NamedAttribute setting : op.getSettings())
      call.attributes[setting.getName().str()] = toValue(setting.getValue());
    for (Value input : op.getInputs())
      call.operands.push_back(tensor(input));
    for (Value output : op.getOutputs())
      call.results.push_back(tensor(output));
    return call;
  }

  format::Action operator()(exec::AllGatherOp op) const {
    return format::AllGatherCommand{buffer(op.getBuffer()),
                                    static_cast<int64_t>(op.getSlot())};
  }

  format::Action operator()(exec::ReduceScatterOp op) const {
    return format::ReduceScatterCommand{
        buffer(op.getBuffer()),
        toDtype(typeOf(op.getBuffer()).getElementType()),
        typeOf(op.getOutput()).getNumElements(), buffer(op.getOutput())};
  }

  format::Action operator()(exec::AllReduceOp op) const {
    MemRefType type = typeOf(op.getBuffer());
    return format::AllReduceCommand{
        buffer(op.getBuffer()), toDtype(type.getElementType()),
        type.getNumElements(), op.getDoubleDouble()};
  }

  format::Action operator()(exec::CopyOp op) const {
    return format::CopyCommand{buffer(op.getSource()), buffer(op.getTarget())};
  }

  format::Action operator()(exec::FillOp op) const {
    return format::FillCommand{buffer(op.getTarget()), 0};
  }
};

} // namespace

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
static format::Command toCommand(CommandOp op, const ActionBuilder &actions) {
  format::Command command;
  command.section = toSection(op.getSection());
  command.stream = op.getStream();
  command.waits.assign(op.getWaits().begin(), op.getWaits().end());
  if (op.getRecords())
    command.records = *op.getRecords();
  command.module = getModulePath(op->getLoc()).str();
  if constexpr (std::is_same_v<CommandOp, exec::LaunchOp>)
    command.label = op.getLabel().str();
  command.action = actions(op);
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
    int64_t element = exec::getElementBytes(memref.getElementType());
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
    scalar.dtype = toDtype(op.getMemory().getType().getElementType());
    if (op.getBeta())
      scalar.beta = op.getBeta()->convertToDouble();
    program.scalars.push_back(scalar);
  }
  if (auto kernels = module.lookupSymbol<ModuleOp>("kernels"))
    for (auto function : kernels.getOps<func::FuncOp>())
      program.kernels.push_back(toSignature(function));
  auto op = *module.getOps<exec::ProgramOp>().begin();
  program.arenaBytes = *op.getArena();
  program.eventCount = op.getEvents();
  for (Attribute stream : op.getStreams())
    program.streams.push_back(cast<StringAttr>(stream).str());
  exec::References references(module);
  ActionBuilder actions{references};
  for (Operation &command : op.getBody().front())
    llvm::TypeSwitch<Operation *>(&command)
        .Case<exec::LaunchOp, exec::CallOp, exec::AllGatherOp,
              exec::ReduceScatterOp, exec::AllReduceOp, exec::CopyOp,
              exec::FillOp>([&](auto concrete) {
          program.commands.push_back(toCommand(concrete, actions));
        });
  return program;
}

} // namespace shardc
