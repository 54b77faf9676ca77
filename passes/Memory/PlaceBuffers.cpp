//===- PlaceBuffers.cpp - Buffers get bytes of the arena ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = exec.buffer : memref<16xf32>  ->  %0 = exec.buffer at 64 :
//   memref<16xf32>
//
// A buffer lives from the first command that uses it to the last.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/Exec/Memory.h"
#include "passes/Memory/ArenaPacking.h"
#include "passes/Memory/ArenaPackingChecker.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-place-buffers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct PlaceBuffersPass : impl::PlaceBuffersPassBase<PlaceBuffersPass> {
  void runOnOperation() override;
};
} // namespace

/// Every offset in the arena is a multiple of this many bytes: a cache line,
/// and the alignment that vector loads and NCCL like best.
static constexpr int64_t arenaAlignment = 64;

/// When each of `buffers` is in use; never takes no bytes.
static std::vector<PackingItem>
findLifetimes(exec::ProgramOp program,
              MutableArrayRef<exec::BufferOp> buffers) {
  DenseMap<Value, size_t> numbers;
  for (exec::BufferOp buffer : buffers)
    numbers[buffer.getMemory()] = numbers.size();
  std::vector<PackingItem> items(buffers.size());
  std::vector<bool> used(buffers.size());
  int64_t time = 0;
  for (auto command :
       program.getBody().front().getOps<exec::CommandInterface>()) {
    for (const exec::OperandAccess &operand : exec::getAccesses(command)) {
      auto found = numbers.find(exec::getPlace(operand.memory).whole);
      if (found == numbers.end())
        continue;
      size_t number = found->second;
      PackingItem &item = items[number];
      if (!used[number])
        item = {exec::getSpanBytes(buffers[number].getMemory().getType()), time,
                time};
      item.last = time;
      used[number] = true;
    }
    ++time;
  }
  return items;
}

static void placeBuffers(exec::ProgramOp program) {
  auto buffers =
      llvm::to_vector(program.getBody().front().getOps<exec::BufferOp>());
  std::vector<PackingItem> items = findLifetimes(program, buffers);
  Packing packing = packArena(items, arenaAlignment);
  assert(isRight(checkPacking(items, arenaAlignment, packing)));
  for (auto [buffer, offset] : llvm::zip_equal(buffers, packing.offsets))
    buffer.setOffset(offset);
  program.setArena(packing.size);
  remark::analysis(program.getLoc(), remark::RemarkOpts::name("arena")
                                         .category(DEBUG_TYPE)
                                         .function(program.getSymName()))
      << remark::metric("arena_bytes", packing.size)
      << remark::metric("lower_bound_bytes", packing.lowerBound);
}

void PlaceBuffersPass::runOnOperation() {
  for (auto program : getOperation().getOps<exec::ProgramOp>())
    placeBuffers(program);
}

} // namespace shardc
