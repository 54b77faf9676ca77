//===- KernelLowering.cpp - Kernel functions in the llvm dialect ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Upstream conversions in order, after three steps of our own: elementary
// functions, bf16 as integers in memory, and allocas at the functions' starts.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelLowering.h"

#include "passes/Target/KernelMath.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace shardc::target {

void expandKernelMath(Operation *kernels) {
  RewritePatternSet patterns(kernels->getContext());
  populateKernelMathPatterns(patterns);
  walkAndApplyPatterns(kernels, std::move(patterns));
}

void addArithmeticLowering(OpPassManager &passes) {
  passes.addPass(affine::createAffineExpandIndexOpsPass());
  passes.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addPass(arith::createArithExpandOpsPass(expand));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

//===----------------------------------------------------------------------===//
// bf16 in memory
//===----------------------------------------------------------------------===//

/// `type` with 16-bit integers for bf16.
static MemRefType integerMemory(MemRefType type) {
  return MemRefType::get(type.getShape(),
                         IntegerType::get(type.getContext(), 16));
}

static void loadAsInteger(memref::LoadOp load) {
  OpBuilder builder(load);
  builder.setInsertionPointAfter(load);
  Type element = load.getType();
  load.getResult().setType(builder.getIntegerType(16));
  auto value = arith::BitcastOp::create(builder, load.getLoc(), element, load);
  load.getResult().replaceAllUsesExcept(value, value);
}

static void storeAsInteger(memref::StoreOp store) {
  OpBuilder builder(store);
  store.getValueMutable().assign(arith::BitcastOp::create(
      builder, store.getLoc(), builder.getIntegerType(16), store.getValue()));
}

/// Keeps the type bf16 out of LLVM IR: where a processor lacks it, LLVM calls
/// functions of compiler-rt, even for operations that it introduced itself.
static void storeBf16AsIntegers(ModuleOp kernels) {
  auto retype = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (type && type.getElementType().isBF16())
      value.setType(integerMemory(type));
  };
  kernels.walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op);
        load && load.getType().isBF16())
      loadAsInteger(load);
    if (auto store = dyn_cast<memref::StoreOp>(op);
        store && store.getValue().getType().isBF16())
      storeAsInteger(store);
    if (auto global = dyn_cast<memref::GlobalOp>(op);
        global && global.getType().getElementType().isBF16()) {
      auto values = cast<DenseElementsAttr>(global.getInitialValueAttr());
      MemRefType type = integerMemory(global.getType());
      global.setInitialValueAttr(values.bitcast(type.getElementType()));
      global.setType(type);
    }
    llvm::for_each(op->getResults(), retype);
  });
  for (auto function : kernels.getOps<func::FuncOp>()) {
    llvm::for_each(function.getArguments(), retype);
    function.setType(
        FunctionType::get(kernels.getContext(),
                          function.getBody().front().getArgumentTypes(), {}));
  }
}

//===----------------------------------------------------------------------===//
// The C library
//===----------------------------------------------------------------------===//

/// `function` of f64 in place of `op`.
static void callLibrary(ModuleOp kernels, Operation *op, StringRef function) {
  OpBuilder builder(op);
  Type type = op->getResult(0).getType();
  auto declaration = kernels.lookupSymbol<func::FuncOp>(function);
  if (!declaration) {
    OpBuilder atStart = OpBuilder::atBlockBegin(kernels.getBody());
    declaration = func::FuncOp::create(atStart, op->getLoc(), function,
                                       builder.getFunctionType(type, type));
    declaration.setPrivate();
    declaration->setAttr(LLVM::LLVMDialect::getReadnoneAttrName(),
                         builder.getUnitAttr());
  }
  auto call = func::CallOp::create(builder, op->getLoc(), declaration,
                                   op->getOperands());
  op->replaceAllUsesWith(call);
  op->erase();
}

/// What upstream conversions would compute from exp and log, which leaves no
/// digits near 0.
static void callExactFunctions(ModuleOp kernels) {
  kernels.walk([&](Operation *op) {
    if (isa<math::ExpM1Op>(op))
      callLibrary(kernels, op, "expm1");
    else if (isa<math::Log1pOp>(op))
      callLibrary(kernels, op, "log1p");
  });
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

void hoistAllocas(Operation *kernels) {
  kernels->walk([](memref::AllocaOp alloca) {
    auto function = alloca->getParentOfType<FunctionOpInterface>();
    alloca->moveBefore(&function.getFunctionBody().front().front());
  });
}

LogicalResult lowerKernelsToLlvm(ModuleOp kernels) {
  expandKernelMath(kernels);
  storeBf16AsIntegers(kernels);
  hoistAllocas(kernels);
  callExactFunctions(kernels);
  PassManager passes(kernels.getContext());
  addArithmeticLowering(passes);
  passes.addPass(createSCFToControlFlowPass());
  // What has an instruction first; the C library has the rest.
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions pointers;
  pointers.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(pointers));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(kernels);
}

} // namespace shardc::target
