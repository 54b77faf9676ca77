//===- ThreadGroup.cpp - The threads that share an iteration --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group is part of a warp, a warp, or several.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/ThreadGroup.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

/// The iteration of this thread, and its number in the group; what follows is
/// written where the iteration exists.
Value ThreadGroup::beginThread() {
  Value block = state.create<gpu::BlockIdOp>(gpu::Dimension::x);
  Value thread = state.create<gpu::ThreadIdOp>(gpu::Dimension::x);
  if (state.launch.group > 1 && state.launch.group < warpThreads)
    state.groupMask = makeGroupMask(thread);
  if (state.launch.groups == 1) {
    state.member = state.launch.group == 1 ? state.constantIndex(0) : thread;
    return block;
  }
  std::tie(state.group, state.member) =
      state.divide(thread, state.launch.group);
  Value iteration = state.elementIndex(0, {state.launch.groups, 1},
                                       ArrayRef<Value>{block, state.group});
  if (state.launch.extent() % state.launch.groups == 0)
    return iteration;
  auto exists =
      state.create<scf::IfOp>(state.isLess(iteration, state.launch.extent()),
                              /*withElseRegion=*/false);
  state.builder.setInsertionPointToStart(&exists.getThenRegion().front());
  return iteration;
}

/// The lanes that meet: where all groups of a warp have an iteration or none
/// has, they do so together, which costs less than masks that a thread
/// computes; else those of this thread's group.
Value ThreadGroup::makeGroupMask(Value thread) {
  Type i32 = state.builder.getI32Type();
  auto firstLanes = [&](int64_t count) -> Value {
    const uint64_t lanes = (uint64_t(1) << count) - 1;
    return state.create<arith::ConstantOp>(
        state.builder.getI32IntegerAttr(static_cast<int32_t>(lanes)));
  };
  const int64_t together = std::min(state.launch.blockThreads(), warpThreads);
  if (state.launch.extent() % (together / state.launch.group) == 0)
    return firstLanes(together);
  Value lane = state.divide(thread, warpThreads).second;
  Value first = state.elementIndex(
      0, {state.launch.group}, {state.divide(lane, state.launch.group).first});
  Value shift = state.create<arith::IndexCastOp>(i32, first);
  return state.create<arith::ShLIOp>(firstLanes(state.launch.group), shift);
}

Value ThreadGroup::groupLanes() {
  return state.groupMask ? state.groupMask
                         : state
                               .create<arith::ConstantOp>(
                                   state.builder.getI32IntegerAttr(-1))
                               .getResult();
}

/// All threads of the group come here before one goes on, and see what the
/// others have written.
void ThreadGroup::meet() {
  if (state.launch.group > warpThreads)
    state.create<gpu::BarrierOp>();
  else if (state.launch.group > 1)
    state.create<NVVM::SyncWarpOp>(groupLanes());
}

/// `elements` elements for each group of the block; groups begin at multiples
/// of 16 bytes.
Value ThreadGroup::allocateShared(int64_t elements, Type element) {
  auto space = gpu::AddressSpaceAttr::get(state.builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(state.sharedStride(elements, element) *
                                  state.launch.groups,
                              element, MemRefLayoutAttrInterface(), space);
  OpBuilder::InsertionGuard guard(state.builder);
  Block *entry = &state.function.getBody().front();
  state.builder.setInsertionPointToStart(entry);
  return state.create<memref::AllocaOp>(type,
                                        state.builder.getI64IntegerAttr(16));
}

} // namespace shardc::kernel
