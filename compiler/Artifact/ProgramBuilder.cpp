//===- ProgramBuilder.cpp - Commands of the artifact ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// program.json from `exec.program`: one command an operation.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "dialects/Exec/CallDescription.h"
#include "dialects/Exec/FormatEnums.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/ModulePath.h"

#include "passes/Kernel/Schedule/SharedMemory.h"
#include "passes/Target/KernelOperations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc {

static format::BufferReference toBuffer(const exec::Reference &reference) {
  format::BufferReference buffer;
  buffer.space = exec::toFormat(reference.space);
  buffer.index = reference.index;
  buffer.offset = reference.offset;
  buffer.rankStrides = reference.strides;
  buffer.bytes = reference.getBytes();
  return buffer;
}

static format::TensorReference toTensor(const exec::Reference &reference) {
  format::TensorReference tensor = exec::describeTensor(reference.type);
  tensor.buffer = toBuffer(reference);
  return tensor;
}

/// The command's kind, callee and attributes.
static void describe(Operation *op, format::Command &command) {
  using Kind = format::CommandKind;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](exec::LaunchOp launch) {
        command.kind = Kind::Launch;
        command.callee = launch.getKernel().str();
        command.label = launch.getLabel().str();
        command.attributes["extent"] = static_cast<int64_t>(launch.getExtent());
      })
      .Case([&](exec::CallOp call) {
        command.kind = Kind::Call;
        command.callee = call.getCall().str();
        command.attributes = exec::describeSettings(call.getSettings());
      })
      .Case([&](exec::AllGatherOp gather) {
        command.kind = Kind::AllGather;
        command.label = gather.getGroup().str();
        command.attributes["slot_bytes"] =
            static_cast<int64_t>(gather.getSlot());
      })
      .Case([&](exec::ReduceScatterOp reduction) {
        command.kind = Kind::ReduceScatter;
        command.label = reduction.getGroup().str();
      })
      .Case([&](exec::AllReduceOp reduction) {
        command.kind = Kind::AllReduce;
        if (reduction.getDoubleDouble())
          command.attributes["double_double"] = true;
      })
      .Case([&](exec::CopyOp) { command.kind = Kind::Copy; })
      .Case([&](exec::FillOp) { command.kind = Kind::Fill; })
      .Default([](Operation *) {
        llvm_unreachable("verify-program refuses other commands");
      });
}

static format::Command toCommand(exec::CommandInterface op,
                                 const exec::References &references) {
  format::Command command;
  command.stream = static_cast<int64_t>(op.getStream());
  command.waits.assign(op.getWaits().begin(), op.getWaits().end());
  if (std::optional<uint64_t> event = op.getRecords())
    command.records = static_cast<int64_t>(*event);
  command.module = getModulePath(op->getLoc()).str();
  auto call = dyn_cast<exec::CallOp>(*op);
  Value workspace = call ? call.getWorkspace() : Value();
  for (Value operand : op->getOperands())
    if (operand != workspace)
      command.operands.push_back(toTensor(references.get(operand)));
  if (workspace)
    command.workspace = toBuffer(references.get(workspace));
  describe(op, command);
  return command;
}

/// The number of the collective's communicator, which joins the table when it
/// is new.
static int64_t numberOf(exec::CollectiveInterface collective,
                        const format::Mesh &mesh, format::Program &program) {
  auto stream = cast<exec::CommandInterface>(*collective).getStream();
  format::CommunicatorShape shape = {exec::getAxes(collective, mesh),
                                     static_cast<int64_t>(stream)};
  auto &table = program.communicators;
  auto found = llvm::find(table, shape);
  if (found == table.end())
    found = table.insert(found, shape);
  return found - table.begin();
}

static void addSection(exec::SectionOp op, const exec::References &references,
                       format::Program &program) {
  const auto number = static_cast<int64_t>(program.sections.size());
  format::Section &section = program.sections.emplace_back();
  section.name = op.getName().str();
  section.repeat = exec::toFormat(op.getRepeat());
  section.run = exec::toFormat(op.getRun());
  if (Value condition = op.getCondition())
    section.condition = references.get(condition).index;
  for (auto command : op.getBody().front().getOps<exec::CommandInterface>()) {
    program.commands.push_back(toCommand(command, references));
    program.commands.back().section = number;
    if (auto collective = dyn_cast<exec::CollectiveInterface>(*command))
      program.commands.back().attributes["communicator"] =
          numberOf(collective, references.getMesh(), program);
  }
}

/// What the attributes and the operands' types of a kernel's function say.
static format::KernelSignature toSignature(func::FuncOp function) {
  format::KernelSignature signature;
  signature.name = function.getSymName().str();
  signature.extent =
      function->getAttrOfType<IntegerAttr>("exec.extent").getInt();
  if (auto threads = function->getAttrOfType<IntegerAttr>("exec.threads"))
    signature.threads = threads.getInt();
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      break; // The range of iterations.
    auto word = function.getArgAttrOfType<StringAttr>(number, "exec.access");
    exec::Access access =
        word ? *exec::symbolizeAccess(word.getValue()) : exec::Access::read;
    int64_t element = getElementBytes(memref.getElementType());
    auto alignment =
        function.getArgAttrOfType<IntegerAttr>(number, "exec.alignment");
    signature.operands.push_back({memref.getNumElements() * element,
                                  alignment ? alignment.getInt() : element,
                                  exec::toFormat(access)});
  }
  SharedMemory shared;
  for (auto alloca : function.getBody().front().getOps<memref::AllocaOp>())
    if (alloca.getType().getMemorySpace())
      shared.add(alloca.getType());
  signature.sharedBytes = shared.bytes;
  return signature;
}

static void addKernels(ModuleOp kernels, format::Program &program) {
  const llvm::StringMap<target::OperationCount> operations =
      target::countOperations(kernels);
  for (auto function : kernels.getOps<func::FuncOp>()) {
    format::KernelSignature signature = toSignature(function);
    const target::OperationCount once = operations.lookup(signature.name);
    signature.f32Operations = signature.extent * once.f32;
    signature.f64Operations = signature.extent * once.f64;
    program.kernels.push_back(std::move(signature));
  }
}

format::Program buildProgram(ModuleOp module) {
  format::Program program;
  for (auto op : module.getOps<exec::ScalarOp>())
    program.scalars.push_back(op.getKind());
  if (auto kernels = module.lookupSymbol<ModuleOp>("kernels"))
    addKernels(kernels, program);
  auto op = *module.getOps<exec::ProgramOp>().begin();
  program.arenaBytes = *op.getArena();
  program.eventCount = op.getEvents();
  for (Attribute stream : op.getStreams())
    program.streams.push_back(cast<StringAttr>(stream).str());
  exec::References references(module);
  for (exec::SectionOp section : exec::getSections(op))
    addSection(section, references, program);
  return program;
}

} // namespace shardc
