//===- CompileKernelsToCubin.cpp - GPU kernels as machine code ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// gpu.module -> NVVM -> PTX -> cubin, through MLIR's GPU pipeline. Elementary
// functions of f32 and bf16 conversions are expanded as for a processor, so
// that both targets compute the same formulas.
//===----------------------------------------------------------------------===//

#include "passes/Target/Passes.h"

#include "dialects/Fsdp/ModulePath.h"
#include "passes/Target/CudaToolkit.h"
#include "passes/Target/KernelCode.h"
#include "passes/Target/KernelLowering.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#define DEBUG_TYPE "shardc-compile-kernels-to-cubin"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_COMPILEKERNELSTOCUBINPASS
#include "passes/Target/Passes.h.inc"

namespace {
struct CompileKernelsToCubinPass
    : impl::CompileKernelsToCubinPassBase<CompileKernelsToCubinPass> {
  using impl::CompileKernelsToCubinPassBase<
      CompileKernelsToCubinPass>::CompileKernelsToCubinPassBase;
  void runOnOperation() override;

  OpPassManager makePipeline(const std::string &toolkit) const;

  /// The pipeline's dialects and what it needs of them.
  void getDependentDialects(DialectRegistry &registry) const override {
    makePipeline("").getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect>();
    arith::registerConvertArithToLLVMInterface(registry);
    cf::registerConvertControlFlowToLLVMInterface(registry);
    registerConvertFuncToLLVMInterface(registry);
    index::registerConvertIndexToLLVMInterface(registry);
    registerConvertMemRefToLLVMInterface(registry);
    registerConvertNVVMToLLVMInterface(registry);
    ub::registerConvertUBToLLVMInterface(registry);
    vector::registerConvertVectorToLLVMInterface(registry);
    NVVM::registerNVVMTargetInterfaceExternalModels(registry);
    gpu::registerOffloadingLLVMTranslationInterfaceExternalModels(registry);
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions with an instruction
//===----------------------------------------------------------------------===//

namespace {

/// A `math` operation as a call of the intrinsic of LLVM that NVPTX has an
/// instruction for. Left alone, conversion to NVVM calls NVIDIA's libdevice.
template <typename MathOp>
struct CallIntrinsic : OpRewritePattern<MathOp> {
  CallIntrinsic(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<MathOp>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    std::string name =
        (intrinsic + ".f" + Twine(type.getIntOrFloatBitWidth())).str();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, type, rewriter.getStringAttr(name), op->getOperands());
    return success();
  }

  StringRef intrinsic;
};

} // namespace

static void callIntrinsics(Operation *module) {
  MLIRContext *context = module->getContext();
  RewritePatternSet patterns(context);
  patterns.add<CallIntrinsic<math::AbsFOp>>(context, "llvm.fabs");
  patterns.add<CallIntrinsic<math::CeilOp>>(context, "llvm.ceil");
  patterns.add<CallIntrinsic<math::FloorOp>>(context, "llvm.floor");
  patterns.add<CallIntrinsic<math::FmaOp>>(context, "llvm.fma");
  patterns.add<CallIntrinsic<math::RoundEvenOp>>(context, "llvm.roundeven");
  patterns.add<CallIntrinsic<math::SqrtOp>>(context, "llvm.sqrt");
  patterns.add<CallIntrinsic<math::TruncOp>>(context, "llvm.trunc");
  walkAndApplyPatterns(module, std::move(patterns));
}

/// Where the CUDA toolkit with NVIDIA's library of functions is; empty for
/// none.
static std::string findToolkit() {
  std::optional<std::string> given = llvm::sys::Process::GetEnv("CUDA_HOME");
  SmallString<128> library(given.value_or("/usr/local/cuda"));
  std::string toolkit = library.str().str();
  llvm::sys::path::append(library, "nvvm", "libdevice", "libdevice.10.bc");
  return llvm::sys::fs::exists(library) ? toolkit : "";
}

/// The toolkit whose library has what expandKernelMath and callIntrinsics left,
/// which has no instruction: functions of f64. Empty where nothing is left.
static FailureOr<std::string> findFunctions(Operation *module) {
  Operation *first = nullptr;
  module->walk([&](Operation *op) {
    if (!first &&
        (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op)))
      first = op;
  });
  if (!first)
    return std::string();
  std::string toolkit = findToolkit();
  if (!toolkit.empty())
    return toolkit;
  emitNumberedError(first, "E0241")
      << "'" << first->getName() << "' of " << first->getResult(0).getType()
      << " needs the CUDA toolkit's libdevice to run on a GPU";
  return failure();
}

static void addNvvmLowering(OpPassManager &passes) {
  target::addArithmeticLowering(passes);
  passes.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions pointers;
  pointers.useBarePtrCallConv = true;
  pointers.indexBitwidth = 64;
  passes.addPass(createConvertGpuOpsToNVVMOps(pointers));
  passes.addPass(createReconcileUnrealizedCastsPass());
}

OpPassManager
CompileKernelsToCubinPass::makePipeline(const std::string &toolkit) const {
  OpPassManager passes(ModuleOp::getOperationName());
  addNvvmLowering(passes.nest<gpu::GPUModuleOp>());
  GpuNVVMAttachTargetOptions target;
  target.chip = chip;
  target.optLevel = 3;
  passes.addPass(createGpuNVVMAttachTarget(target));
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = format;
  binary.toolkitPath = toolkit;
  passes.addPass(createGpuModuleToBinaryPass(binary));
  return passes;
}

/// Takes the seconds that compilation took out of the objects: the same input
/// gives the same bytes.
static void dropTimes(ModuleOp module) {
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    SmallVector<Attribute> objects;
    for (Attribute attribute : binary.getObjects()) {
      auto object = cast<gpu::ObjectAttr>(attribute);
      objects.push_back(gpu::ObjectAttr::get(
          module.getContext(), object.getTarget(), object.getFormat(),
          object.getObject(), /*properties=*/nullptr, object.getKernels()));
    }
    binary.setObjectsAttr(ArrayAttr::get(module.getContext(), objects));
  }
}

void CompileKernelsToCubinPass::runOnOperation() {
  target::expandKernelMath(getOperation());
  target::hoistAllocas(getOperation());
  callIntrinsics(getOperation());
  FailureOr<std::string> toolkit = findFunctions(getOperation());
  if (failed(toolkit))
    return signalPassFailure();
  if (format == "bin" && !target::findToolkitProgram("ptxas")) {
    emitNumberedError(getOperation(), "E0242")
        << "ptxas, the CUDA toolkit's assembler, is neither in "
           "CUDA_HOME/bin nor in PATH; with --format ptx none is needed, and "
           "the driver compiles the kernels";
    return signalPassFailure();
  }
  OpPassManager passes = makePipeline(*toolkit);
  if (failed(runPipeline(passes, getOperation())))
    return signalPassFailure();
  dropTimes(getOperation());
}

namespace target {

FailureOr<SmallVector<char, 0>>
generateGpuKernels(gpu::GPUModuleOp kernels, StringRef chip, GpuFormat format) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.getLoc());
  (*module)->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                     UnitAttr::get(kernels.getContext()));
  OpBuilder::atBlockBegin(module->getBody()).clone(*kernels);
  PassManager manager(kernels.getContext());
  CompileKernelsToCubinPassOptions options;
  options.chip = chip.str();
  options.format = format == GpuFormat::Ptx ? "isa" : "bin";
  manager.addPass(createCompileKernelsToCubinPass(options));
  if (failed(manager.run(*module)))
    return failure();
  auto binary = *module->getOps<gpu::BinaryOp>().begin();
  auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
  StringRef bytes = object.getObject().getValue();
  return SmallVector<char, 0>(bytes.begin(), bytes.end());
}

} // namespace target
} // namespace shardc
