//===- Passes.cpp - All phases --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One line a phase, in pipeline order.
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Group/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Kernel/Models/KernelModels.h"
#include "passes/Kernel/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Shard/Passes.h"
#include "passes/Target/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace shardc {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, exec::ExecDialect, fsdp::FsdpDialect,
                  mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect>();
  registerKernelModels(registry);
}

void registerAllPasses() {
  registerImportPasses();
  registerGroupPasses();
  registerPrecisionPasses();
  registerShardPasses();
  registerDifferentiatePasses();
  registerSchedulePasses();
  registerKernelPasses();
  registerMemoryPasses();
  registerTargetPasses();
}

} // namespace shardc
