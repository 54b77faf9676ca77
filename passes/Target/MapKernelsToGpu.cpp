//===- MapKernelsToGpu.cpp - Iterations become threads --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   module @kernels {                      gpu.module @kernels {
//     func.func @f(%x, %begin, %end) {       gpu.func @f(%x, %begin, %end)
//     kernel {
//       scf.parallel (%i) = (%begin)           %t = gpu.global_id x
//           to (%end) { … }             ->     scf.if %begin + %t < %end { … }
//
// Iterations are independent, so that nothing needs to be synchronised.
//===----------------------------------------------------------------------===//

#include "passes/Target/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "shardc-map-kernels-to-gpu"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_MAPKERNELSTOGPUPASS
#include "passes/Target/Passes.h.inc"

namespace {
struct MapKernelsToGpuPass
    : impl::MapKernelsToGpuPassBase<MapKernelsToGpuPass> {
  void runOnOperation() override;
};
} // namespace

/// The body of `loop` for the iteration that this thread runs.
static void writeThread(OpBuilder &builder, scf::ParallelOp loop,
                        IRMapping &values) {
  Location location = loop.getLoc();
  Value begin = values.lookup(loop.getLowerBound().front());
  Value end = values.lookup(loop.getUpperBound().front());
  Value thread = gpu::GlobalIdOp::create(builder, location, gpu::Dimension::x);
  Value iteration = arith::AddIOp::create(builder, location, begin, thread);
  Value isInside = arith::CmpIOp::create(
      builder, location, arith::CmpIPredicate::slt, iteration, end);
  auto inside = scf::IfOp::create(builder, location, isInside,
                                  /*withElseRegion=*/false);
  OpBuilder body = inside.getThenBodyBuilder();
  values.map(loop.getInductionVars().front(), iteration);
  for (Operation &op : loop.getBody()->without_terminator())
    body.clone(op, values);
}

/// The threads of a block.
static int32_t threadsOf(func::FuncOp function) {
  auto threads = function->getAttrOfType<IntegerAttr>("exec.threads");
  return threads ? static_cast<int32_t>(threads.getInt()) : 1;
}

static void mapFunction(func::FuncOp function, OpBuilder &builder) {
  auto kernel =
      gpu::GPUFuncOp::create(builder, function.getLoc(), function.getSymName(),
                             function.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({threadsOf(function), 1, 1}));
  IRMapping values;
  values.map(function.getArguments(), kernel.getArguments());
  OpBuilder body = OpBuilder::atBlockBegin(&kernel.getBody().front());
  for (Operation &op : function.getBody().front())
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      writeThread(body, loop, values);
    else if (isa<func::ReturnOp>(op))
      gpu::ReturnOp::create(body, op.getLoc());
    else
      body.clone(op, values);
}

static void mapModule(ModuleOp kernels) {
  OpBuilder builder(kernels);
  auto mapped = gpu::GPUModuleOp::create(builder, kernels.getLoc(),
                                         *kernels.getSymName());
  builder.setInsertionPointToStart(mapped.getBody());
  for (Operation &op : *kernels.getBody())
    if (auto function = dyn_cast<func::FuncOp>(op))
      mapFunction(function, builder);
    else
      builder.clone(op);
  kernels.erase();
}

void MapKernelsToGpuPass::runOnOperation() {
  getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                          UnitAttr::get(&getContext()));
  for (auto kernels :
       llvm::make_early_inc_range(getOperation().getOps<ModuleOp>()))
    if (kernels.getSymName() == "kernels")
      mapModule(kernels);
}

} // namespace shardc
