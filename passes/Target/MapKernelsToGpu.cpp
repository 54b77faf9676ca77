//===- MapKernelsToGpu.cpp - Functions become kernels of a GPU ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   module @kernels {                      gpu.module @kernels {
//     func.func @f(%x) {                     gpu.func @f(%x)
//       %0 = memref.alloca() : …,    ->          workgroup(%0: …) kernel {
//         #gpu.address_space<workgroup>>
//
// Outlining has divided the iterations over blocks and threads; what threads
// share becomes memory of the workgroup.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Target.h"
#include "passes/Target/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "shardc-map-kernels-to-gpu"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_MAPKERNELSTOGPUPASS
#include "passes/Target/Passes.h.inc"
#include "runtime/format/TargetKinds.h"

namespace {
struct MapKernelsToGpuPass
    : impl::MapKernelsToGpuPassBase<MapKernelsToGpuPass> {
  void runOnOperation() override;
};
} // namespace

/// An alloca of what the threads of a block share, as memory of `kernel`.
static void addShared(gpu::GPUFuncOp kernel, memref::AllocaOp alloca,
                      IRMapping &values) {
  unsigned number = kernel.getNumWorkgroupAttributions();
  Value memory =
      kernel.addWorkgroupAttribution(alloca.getType(), alloca.getLoc());
  if (IntegerAttr alignment = alloca.getAlignmentAttr())
    kernel.setWorkgroupAttributionAttr(
        number, LLVM::LLVMDialect::getAlignAttrName(), alignment);
  values.map(alloca, memory);
}

static LogicalResult mapFunction(func::FuncOp function, OpBuilder &builder) {
  auto threads = function->getAttrOfType<IntegerAttr>("exec.threads");
  if (!threads)
    return function.emitError("expected a kernel with blocks: it was outlined "
                              "for a processor");
  auto kernel =
      gpu::GPUFuncOp::create(builder, function.getLoc(), function.getSymName(),
                             function.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  // Where a multiprocessor gets one block ptxas need not spill registers for
  // more of them.
  auto extent = function->getAttrOfType<IntegerAttr>("exec.extent");
  if (extent &&
      extent.getInt() <= findTarget(shardc::format::cudaTarget)->fewestUnits)
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(1));
  kernel.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr(
      {static_cast<int32_t>(threads.getInt()), 1, 1}));
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (Attribute alignment = function.getArgAttr(i, "exec.alignment"))
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), alignment);
  IRMapping values;
  values.map(function.getArguments(), kernel.getArguments());
  OpBuilder body = OpBuilder::atBlockBegin(&kernel.getBody().front());
  for (Operation &op : function.getBody().front()) {
    auto alloca = dyn_cast<memref::AllocaOp>(op);
    if (alloca && alloca.getType().getMemorySpace())
      addShared(kernel, alloca, values);
    else if (isa<func::ReturnOp>(op))
      gpu::ReturnOp::create(body, op.getLoc());
    else
      body.clone(op, values);
  }
  return success();
}

static LogicalResult mapModule(ModuleOp kernels) {
  OpBuilder builder(kernels);
  auto mapped = gpu::GPUModuleOp::create(builder, kernels.getLoc(),
                                         *kernels.getSymName());
  builder.setInsertionPointToStart(mapped.getBody());
  for (Operation &op : *kernels.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      builder.clone(op);
    else if (failed(mapFunction(function, builder)))
      return failure();
  }
  kernels.erase();
  return success();
}

void MapKernelsToGpuPass::runOnOperation() {
  getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                          UnitAttr::get(&getContext()));
  for (auto kernels :
       llvm::make_early_inc_range(getOperation().getOps<ModuleOp>()))
    if (kernels.getSymName() == "kernels" && failed(mapModule(kernels)))
      return signalPassFailure();
}

} // namespace shardc
