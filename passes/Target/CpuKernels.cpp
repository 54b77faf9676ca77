//===- CpuKernels.cpp - Kernel functions as host code ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// llvm dialect -> LLVM IR -> optimised object -> shared object. Each function
// gets a wrapper with the C ABI of docs/Format.md that loads the pointers from
// the operand list; inside, all pointers are noalias, which is what the memory
// planner guarantees and what lets loops become vector code.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelCode.h"

#include "passes/Target/HostCode.h"
#include "passes/Target/KernelLowering.h"
#include "passes/Target/SharedObject.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace mlir;

namespace shardc::target {

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static std::unique_ptr<llvm::Module>
translateKernels(ModuleOp kernels, llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  return translateModuleToLLVMIR(kernels, context, "kernels");
}

/// `void name(ptr operands, i64 begin, i64 end)` around `body`, which takes the
/// pointers themselves.
static void wrapKernel(llvm::Function &body) {
  llvm::Module &module = *body.getParent();
  std::string name = body.getName().str();
  body.setName(name + ".body");
  body.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type *pointer = builder.getPtrTy(), *integer = builder.getInt64Ty();
  auto *wrapper = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, integer, integer},
                              /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", wrapper));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : body.args()) {
    if (!argument.getType()->isPointerTy())
      continue;
    argument.addAttr(llvm::Attribute::NoAlias);
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(
        pointer, wrapper->getArg(0), arguments.size());
    arguments.push_back(builder.CreateLoad(pointer, slot));
  }
  arguments.append({wrapper->getArg(1), wrapper->getArg(2)});
  builder.CreateCall(&body, arguments);
  builder.CreateRetVoid();
}

static void setAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    // As wide as the processor has: LLVM spares some of them 512 bits.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void wrapKernels(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> bodies;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      bodies.push_back(&function);
  for (llvm::Function *body : bodies)
    wrapKernel(*body);
  // Inlining would trade the arguments' noalias for weaker metadata.
  for (llvm::Function *body : bodies)
    body->addFnAttr(llvm::Attribute::NoInline);
}

static void exportSignatures(llvm::Module &module,
                             ArrayRef<SignatureText> signatures) {
  for (const auto &[name, text] : signatures) {
    llvm::Constant *string =
        llvm::ConstantDataArray::getString(module.getContext(), text);
    new llvm::GlobalVariable(module, string->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, string,
                             name + ".signature");
  }
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CpuTarget &target) {
  static const bool isInitialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)isInitialized;
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return llvm::createStringError(message);
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.cpu, /*Features=*/"", llvm::TargetOptions(),
      llvm::Reloc::PIC_, /*CM=*/std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return llvm::createStringError("unknown processor '" + target.cpu + "'");
  return machine;
}

/// Whether a loop computes each of its results by so many operations that they
/// wait for each other: elementary functions, and more than one. What a loop
/// sums up keeps its order.
static bool isLongChain(const llvm::Loop &loop) {
  constexpr int fewestOperations = 24;
  int operations = 0;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &instruction : *block) {
      if (!instruction.getType()->isFloatTy())
        continue;
      if (isa<llvm::PHINode>(instruction) && block == loop.getHeader())
        return false;
      operations += isa<llvm::BinaryOperator, llvm::CallBase>(instruction);
    }
  return operations >= fewestOperations;
}

/// Two vectors side by side keep the processor busy where one leaves it waiting
/// for its own results.
static void interleaveLongChains(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (loop->isInnermost() && isLongChain(*loop))
        llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 2);
  }
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  interleaveLongChains(module);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  // Loops that matter are vector code already. Unrolling the others takes up
  // to four fifths of the compilation (loops over a few channels), and made no
  // measured step faster.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

static llvm::Expected<llvm::SmallVector<char, 0>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("the target has no object files");
  passes.run(module);
  return object;
}

static llvm::Expected<llvm::SmallVector<char, 0>>
compileModule(llvm::Module &module, const CpuTarget &target, HostEntry entry) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  if (entry == HostEntry::Range)
    wrapKernels(module);
  setAttributes(module, target);
  optimise(module, **machine);
  auto object = emitObject(module, **machine);
  if (!object)
    return object.takeError();
  return linkSharedObject(*object);
}

/// Their signatures are no attributes that LLVM knows.
static void dropSignatures(ModuleOp kernels) {
  for (auto function : kernels.getOps<func::FuncOp>()) {
    function->removeAttr("exec.extent");
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, "exec.access");
  }
}

FailureOr<SmallVector<char, 0>>
generateCpuKernels(ModuleOp kernels, const CpuTarget &target,
                   ArrayRef<SignatureText> signatures) {
  OwningOpRef<ModuleOp> copy = kernels.clone();
  dropSignatures(*copy);
  return compileHostCode(*copy, target, signatures, HostEntry::Range);
}

FailureOr<SmallVector<char, 0>>
compileHostCode(ModuleOp functions, const CpuTarget &target,
                ArrayRef<SignatureText> signatures, HostEntry entry) {
  if (failed(lowerKernelsToLlvm(functions)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateKernels(functions, context);
  if (!module)
    return functions.emitError("cannot translate kernels to LLVM IR"),
           failure();
  exportSignatures(*module, signatures);
  auto code = compileModule(*module, target, entry);
  if (!code)
    return functions.emitError("cannot compile kernels: ")
               << llvm::toString(code.takeError()),
           failure();
  return std::move(*code);
}

} // namespace shardc::target
