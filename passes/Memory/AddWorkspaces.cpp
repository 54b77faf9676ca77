//===- AddWorkspaces.cpp - Library calls get memory to work in ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   exec.call "matmul" (…) -> (…) {} on 0
//   -> %0 = exec.buffer : memref<1024xi8>
//      exec.call "matmul" (…) -> (…) {} workspace %0 : memref<1024xi8> on 0
//
// A buffer of its own for each call: what is used once has the shortest of
// lives, and packing finds bytes that nothing else has at that time.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/Exec/CallDescription.h"
#include "passes/Kernel/TargetOf.h"
#include "runtime/format/CallWorkspace.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-add-workspaces"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ADDWORKSPACESPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct AddWorkspacesPass : impl::AddWorkspacesPassBase<AddWorkspacesPass> {
  void runOnOperation() override;
};
} // namespace

/// Gives `call` its workspace, and returns its bytes.
static int64_t addWorkspace(exec::CallOp call) {
  const int64_t bytes = format::callWorkspaceBytes(exec::describeCall(call));
  if (bytes == 0)
    return 0;
  OpBuilder builder(call);
  auto type = MemRefType::get({bytes}, builder.getI8Type());
  auto buffer = exec::BufferOp::create(builder, call.getLoc(), type,
                                       /*offset=*/IntegerAttr());
  call.getWorkspaceMutable().assign(buffer.getMemory());
  return bytes;
}

void AddWorkspacesPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  if (!target->hasWorkspaces)
    return;
  for (auto program : getOperation().getOps<exec::ProgramOp>()) {
    int64_t count = 0, largest = 0;
    program.walk([&](exec::CallOp call) {
      const int64_t bytes = addWorkspace(call);
      count += bytes != 0;
      largest = std::max(largest, bytes);
    });
    remark::analysis(program.getLoc(), remark::RemarkOpts::name("workspaces")
                                           .category(DEBUG_TYPE)
                                           .function(program.getSymName()))
        << remark::metric("workspaces", count)
        << remark::metric("largest_bytes", largest);
  }
}

} // namespace shardc
