//===- VerifyProgram.cpp - The contract of the memory phase ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules M1 to M6 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "shardc-verify-program"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#include "passes/Memory/Passes.h.inc"

namespace {

struct VerifyProgramPass : impl::VerifyProgramPassBase<VerifyProgramPass> {
  void runOnOperation() override;
};

/// What references may name.
struct Declarations {
  explicit Declarations(ModuleOp module) {
    for (Operation &op : *module.getBody()) {
      if (auto state = dyn_cast<exec::StateOp>(op))
        states.push_back(state);
      if (auto input = dyn_cast<exec::InputOp>(op))
        inputs.push_back(input.getType());
      if (auto scalar = dyn_cast<exec::ScalarOp>(op))
        scalars.push_back(scalar.getType());
      if (auto mesh = dyn_cast<fsdp::MeshOp>(op))
        ranks = mesh.getShard();
      if (auto nested = dyn_cast<ModuleOp>(op))
        kernels = nested;
    }
  }
  SmallVector<exec::StateOp> states;
  SmallVector<Type> inputs;
  SmallVector<Type> scalars;
  ModuleOp kernels;
  int64_t ranks = 1;
};

} // namespace

static int64_t bytesOf(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  Type element = shaped ? shaped.getElementType() : type;
  int64_t bytes = std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
  return shaped ? shaped.getNumElements() * bytes : bytes;
}

/// Bytes of what `ref` points into, or -1 when that is not declared.
static int64_t limitOf(exec::RefAttr ref, exec::ProgramOp program,
                       Declarations &declared) {
  auto within = [&](size_t count) {
    return ref.getIndex() >= 0 && ref.getIndex() < static_cast<int64_t>(count);
  };
  switch (ref.getSpace()) {
  case exec::Space::arena:
    return program.getArena();
  case exec::Space::state:
    return within(declared.states.size())
               ? bytesOf(declared.states[ref.getIndex()].getType())
               : -1;
  case exec::Space::input:
    return within(declared.inputs.size())
               ? bytesOf(declared.inputs[ref.getIndex()])
               : -1;
  case exec::Space::scalar:
    return within(declared.scalars.size())
               ? bytesOf(declared.scalars[ref.getIndex()])
               : -1;
  case exec::Space::constant:
    return -1;
  }
  return -1;
}

/// All references of a command, with whether the command writes them.
static SmallVector<std::pair<exec::RefAttr, bool>> refsOf(Operation *op) {
  SmallVector<std::pair<exec::RefAttr, bool>> refs;
  auto add = [&](ArrayAttr list, bool writes) {
    for (Attribute ref : list)
      refs.push_back({cast<exec::RefAttr>(ref), writes});
  };
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    for (auto [number, ref] : llvm::enumerate(launch.getOperandsAttr()))
      refs.push_back({cast<exec::RefAttr>(ref),
                      launch.getAccess(number) != exec::Access::read});
  if (auto call = dyn_cast<exec::CallOp>(op)) {
    add(call.getOperandsAttr(), false);
    add(call.getOutputsAttr(), true);
  }
  if (auto gather = dyn_cast<exec::AllGatherOp>(op))
    refs.push_back({gather.getBuffer(), true});
  if (auto reduction = dyn_cast<exec::ReduceScatterOp>(op)) {
    refs.push_back({reduction.getBuffer(), false});
    refs.push_back({reduction.getOutput(), true});
  }
  if (auto reduction = dyn_cast<exec::AllReduceOp>(op))
    refs.push_back({reduction.getBuffer(), true});
  if (auto copy = dyn_cast<exec::CopyOp>(op)) {
    refs.push_back({copy.getSource(), false});
    refs.push_back({copy.getTarget(), true});
  }
  if (auto fill = dyn_cast<exec::FillOp>(op))
    refs.push_back({fill.getTarget(), true});
  return refs;
}

static LogicalResult verifyBounds(Operation *op, exec::ProgramOp program,
                                  Declarations &declared) {
  for (auto [ref, writes] : refsOf(op)) {
    int64_t limit = limitOf(ref, program, declared);
    if (limit < 0)
      return op->emitError("M1: expected a declared ")
             << exec::stringifySpace(ref.getSpace()) << ", got number "
             << ref.getIndex();
    int64_t lastSlot = ref.getRankStride() * (declared.ranks - 1);
    int64_t end = ref.getOffset() + lastSlot + ref.getBytes();
    if (ref.getOffset() < 0 || ref.getRankStride() < 0 || end > limit)
      return op->emitError("M1: expected bytes inside [0, ")
             << limit << "), got [" << ref.getOffset() << ", " << end << ")";
  }
  return success();
}

/// M4.
static LogicalResult verifyOverlap(Operation *op) {
  auto refs = refsOf(op);
  for (auto [i, first] : llvm::enumerate(refs))
    for (auto [j, second] : llvm::enumerate(refs)) {
      if (i == j || !first.second)
        continue;
      exec::RefAttr a = first.first, b = second.first;
      if (a.getSpace() == b.getSpace() && a.getIndex() == b.getIndex() &&
          a.getOffset() < b.getOffset() + b.getBytes() &&
          b.getOffset() < a.getOffset() + a.getBytes())
        return op->emitError("M4: expected a write that overlaps no other "
                             "operand, got operands ")
               << i << " and " << j;
    }
  return success();
}

static LogicalResult verifyEvents(Operation *op,
                                  llvm::DenseSet<int64_t> &recorded) {
  if (auto waits = op->getAttrOfType<DenseI64ArrayAttr>("waits"))
    for (int64_t event : waits.asArrayRef())
      if (!recorded.contains(event))
        return op->emitError("M3: expected event ")
               << event << " to be recorded before";
  if (auto records = op->getAttrOfType<IntegerAttr>("records"))
    if (!recorded.insert(records.getInt()).second)
      return op->emitError("M3: expected event ")
             << records.getInt() << " to be recorded once";
  return success();
}

/// M2.
static LogicalResult verifyKernel(Operation *op, Declarations &declared) {
  auto launch = dyn_cast<exec::LaunchOp>(op);
  if (launch &&
      (!declared.kernels || !declared.kernels.lookupSymbol(launch.getKernel())))
    return op->emitError("M2: expected a function of @kernels, got @")
           << launch.getKernel();
  return success();
}

/// M5.
static LogicalResult verifyReduction(Operation *op, Declarations &declared) {
  auto reduction = dyn_cast<exec::ReduceScatterOp>(op);
  if (!reduction)
    return success();
  exec::RefAttr output = reduction.getOutput();
  if (output.getSpace() != exec::Space::state ||
      declared.states[output.getIndex()].getRole() != exec::Role::gradient)
    return op->emitError("M5: expected a gradient state as the output");
  int64_t shard = output.getType().getNumElements();
  int64_t elements = reduction.getBuffer().getType().getNumElements();
  if (elements != shard * declared.ranks)
    return op->emitError("M5: expected ")
           << declared.ranks << " shards of " << shard << " elements, got "
           << elements;
  return success();
}

static LogicalResult verifyProgram(exec::ProgramOp program,
                                   Declarations &declared) {
  llvm::DenseSet<int64_t> recorded;
  exec::Section section = exec::Section::begin;
  for (Operation &op : program.getBody().front()) {
    if (isa<exec::ComputeOp>(op))
      continue;
    auto current = op.getAttrOfType<exec::SectionAttr>("section");
    if (!current || current.getValue() < section)
      return op.emitError("M6: expected sections in order");
    section = current.getValue();
    if (failed(verifyBounds(&op, program, declared)) ||
        failed(verifyKernel(&op, declared)) || failed(verifyOverlap(&op)) ||
        failed(verifyReduction(&op, declared)) ||
        failed(verifyEvents(&op, recorded)))
      return failure();
  }
  return success();
}

void VerifyProgramPass::runOnOperation() {
  Declarations declared(getOperation());
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    if (failed(verifyProgram(program, declared)))
      return signalPassFailure();
}

} // namespace shardc
