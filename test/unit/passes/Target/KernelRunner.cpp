//===- KernelRunner.cpp - Runs a function of operators on this machine ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles with the same passes as shardc; the executor knows kernels and
// views.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Target/KernelRunner.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/FormatEnums.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/Emission/KernelOutliner.h"
#include "passes/Kernel/Models/KernelModels.h"
#include "passes/Kernel/Passes.h"
#include "passes/Kernel/Schedule/SharedMemory.h"
#include "passes/Target/KernelCode.h"
#include "passes/Target/Passes.h"
#include "runtime/device/GpuBlocks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cstring>
#include <dlfcn.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace shardc::test {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int64_t HostTensor::elements() const {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

static const llvm::fltSemantics *floatSemantics(const std::string &dtype) {
  if (dtype == "f32")
    return &llvm::APFloat::IEEEsingle();
  if (dtype == "f64")
    return &llvm::APFloat::IEEEdouble();
  if (dtype == "bf16")
    return &llvm::APFloat::BFloat();
  return nullptr;
}

static size_t elementBytes(const std::string &dtype) {
  const llvm::fltSemantics *semantics = floatSemantics(dtype);
  return semantics ? llvm::APFloat::getSizeInBits(*semantics) / 8 : 8;
}

std::vector<double> HostTensor::numbers() const {
  const llvm::fltSemantics *semantics = floatSemantics(dtype);
  size_t size = elementBytes(dtype);
  std::vector<double> numbers;
  for (size_t at = 0; at < bytes.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[at], size);
    if (!semantics) {
      numbers.push_back(static_cast<double>(static_cast<int64_t>(bits)));
      continue;
    }
    llvm::APFloat value(*semantics, llvm::APInt(size * 8, bits));
    numbers.push_back(value.convertToDouble());
  }
  return numbers;
}

HostTensor HostTensor::from(const std::string &dtype,
                            std::vector<int64_t> shape,
                            const std::vector<double> &numbers) {
  const llvm::fltSemantics *semantics = floatSemantics(dtype);
  size_t size = elementBytes(dtype);
  HostTensor tensor{dtype, std::move(shape), {}};
  for (double number : numbers) {
    uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(number));
    if (semantics) {
      llvm::APFloat value(number);
      bool losesInfo;
      value.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    const char *begin = reinterpret_cast<const char *>(&bits);
    tensor.bytes.insert(tensor.bytes.end(), begin, begin + size);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

struct CompiledKernels::State {
  State(const DialectRegistry &registry, Machine machine)
      : context(registry), machine(machine) {
    context.loadAllAvailableDialects();
  }
  const char *targetName() const {
    return machine == Machine::Processor ? "x86-64-v3" : "cuda";
  }

  LogicalResult compile(const std::string &ir, bool fuse);
  LogicalResult outlineAll();
  FailureOr<SmallVector<char, 0>> generateCode();
  LogicalResult loadCode();

  MLIRContext context;
  Machine machine;
  OwningOpRef<ModuleOp> module, kernels;
  std::map<Operation *, kernel::KernelFunction> functions;
  void *library = nullptr;
  int file = -1;
  std::function<void(ModuleOp)> plant;
  std::string violation;
};

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, aten::AtenDialect,
              exec::ExecDialect, fsdp::FsdpDialect, func::FuncDialect,
              gpu::GPUDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
              scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  registerKernelModels(registry);
  return registry;
}

static LogicalResult runKernelPhase(ModuleOp module, const char *targetName,
                                    bool fuse) {
  PassManager passes(module.getContext());
  SetTargetPassOptions target;
  target.target = targetName;
  passes.addPass(createSetTargetPass(target));
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createFormKernelsPass());
  if (fuse)
    functions.addPass(createFuseKernelsPass());
  functions.addPass(createMaterializeViewsPass());
  functions.addPass(createSplitReductionsPass());
  functions.addPass(createVerifyKernelsPass());
  return passes.run(module);
}

static MemRefType layoutOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(value.getContext(), 0, exec::getStrides(value)));
}

LogicalResult CompiledKernels::State::outlineAll() {
  kernels = ModuleOp::create(UnknownLoc::get(&context), "kernels");
  kernel::KernelOutliner outliner(
      *kernels, kernel::preferencesOf(*findTarget(targetName())));
  WalkResult result = module->walk([&](exec::KernelOp kernel) {
    SmallVector<MemRefType> layouts;
    for (Value value : kernel.getInputs())
      layouts.push_back(layoutOf(value));
    for (Value value : kernel.getResults())
      layouts.push_back(layoutOf(value));
    // The allocator's; views may begin anywhere.
    SmallVector<int64_t> alignments;
    for (Value value : kernel->getOperands())
      alignments.push_back(value.getDefiningOp<exec::ViewOp>() ? 1 : 16);
    alignments.append(kernel.getNumResults(), 16);
    auto outlined = outliner.outline(kernel, layouts, {}, alignments);
    if (succeeded(outlined))
      functions[kernel] = *outlined;
    return WalkResult(outlined);
  });
  return failure(result.wasInterrupted());
}

FailureOr<SmallVector<char, 0>> CompiledKernels::State::generateCode() {
  if (machine == Machine::Processor)
    return target::generateCpuKernels(*kernels);
  OwningOpRef<ModuleOp> mapped = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder::atBlockBegin(mapped->getBody()).clone(**kernels);
  PassManager passes(&context);
  passes.addPass(createMapKernelsToGpuPass());
  if (failed(passes.run(*mapped)))
    return failure();
  return target::generateEmulatedKernels(
      *mapped->getOps<gpu::GPUModuleOp>().begin());
}

LogicalResult CompiledKernels::State::loadCode() {
  auto code = generateCode();
  if (failed(code))
    return failure();
  // Open as long as the library is loaded: dlopen knows libraries by name, and
  // a later file may get the number again.
  file = memfd_create("kernels", 0);
  bool written = write(file, code->data(), code->size()) ==
                 static_cast<ssize_t>(code->size());
  std::string path = "/proc/self/fd/" + std::to_string(file);
  library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library)
    ADD_FAILURE() << dlerror();
  return success(library);
}

LogicalResult CompiledKernels::State::compile(const std::string &ir,
                                              bool fuse) {
  module = parseSourceString<ModuleOp>(ir, &context);
  if (!module || failed(runKernelPhase(*module, targetName(), fuse)))
    return failure();
  if (failed(outlineAll()))
    return failure();
  if (plant)
    plant(*kernels);
  return loadCode();
}

CompiledKernels::CompiledKernels(const std::string &ir, bool fuse,
                                 Machine machine)
    : state(std::make_unique<State>(makeRegistry(), machine)) {
  EXPECT_TRUE(succeeded(state->compile(ir, fuse)));
}

CompiledKernels::CompiledKernels(const std::string &ir,
                                 const std::function<void(ModuleOp)> &plant)
    : state(std::make_unique<State>(makeRegistry(), Machine::EmulatedGpu)) {
  state->plant = plant;
  EXPECT_TRUE(succeeded(state->compile(ir, /*fuse=*/true)));
}

const std::string &CompiledKernels::violation() const {
  return state->violation;
}

CompiledKernels::~CompiledKernels() {
  if (state->library)
    dlclose(state->library);
  close(state->file);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// Runs one function once; every value has its own buffer.
class Executor {
public:
  Executor(void *library, ModuleOp kernels, Machine machine,
           const std::map<Operation *, kernel::KernelFunction> &functions,
           int64_t parts)
      : library(library), kernels(kernels), machine(machine),
        functions(functions), parts(parts) {}

  std::vector<HostTensor> run(func::FuncOp function,
                              const std::vector<HostTensor> &inputs);

  std::string violation;

private:
  void runKernel(exec::KernelOp kernel);
  void runLaunch(const kernel::KernelLaunch &launch,
                 const std::vector<void *> &operands);
  void runBlocks(const kernel::KernelLaunch &launch,
                 const std::vector<void *> &operands);
  HostTensor read(Value value);
  void allocate(Value value);

  void *library;
  ModuleOp kernels;
  Machine machine;
  const std::map<Operation *, kernel::KernelFunction> &functions;
  int64_t parts;
  std::map<void *, std::vector<char>> buffers;
  std::map<void *, char *> pointers;
};

} // namespace

static int64_t bytesOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() *
         llvm::divideCeil(shaped.getElementTypeBitWidth(), 8);
}

void Executor::allocate(Value value) {
  std::vector<char> &buffer = buffers[value.getAsOpaquePointer()];
  buffer.assign(bytesOf(value.getType()), 0x7f);
  pointers[value.getAsOpaquePointer()] = buffer.data();
}

/// On emulated threads.
void Executor::runBlocks(const kernel::KernelLaunch &launch,
                         const std::vector<void *> &operands) {
  auto function = kernels.lookupSymbol<func::FuncOp>(launch.symbol);
  runtime::GpuLaunch blocks;
  blocks.name = launch.symbol;
  blocks.kernel = reinterpret_cast<runtime::GpuKernel>(
      dlsym(library, launch.symbol.c_str()));
  ASSERT_TRUE(blocks.kernel) << launch.symbol;
  blocks.blocks = launch.extent;
  blocks.threads =
      function->getAttrOfType<IntegerAttr>("exec.threads").getInt();
  SharedMemory shared;
  for (auto alloca : function.getBody().front().getOps<memref::AllocaOp>())
    if (alloca.getType().getMemorySpace())
      shared.add(alloca.getType());
  blocks.sharedBytes = shared.bytes;
  for (auto [pointer, operand, type] :
       llvm::zip_equal(operands, launch.operands, function.getArgumentTypes()))
    blocks.operands.push_back({static_cast<std::byte *>(pointer), bytesOf(type),
                               exec::toFormat(operand.access)});
  Status status = runtime::GpuBlocks(static_cast<uint64_t>(parts)).run(blocks);
  if (!status.ok() && violation.empty())
    violation = status.message();
}

void Executor::runLaunch(const kernel::KernelLaunch &launch,
                         const std::vector<void *> &operands) {
  if (machine == Machine::EmulatedGpu)
    return runBlocks(launch, operands);
  auto *code = reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(
      dlsym(library, launch.symbol.c_str()));
  ASSERT_TRUE(code) << launch.symbol;
  for (int64_t part = parts; part-- > 0;)
    code(operands.data(), launch.extent * part / parts,
         launch.extent * (part + 1) / parts);
}

void Executor::runKernel(exec::KernelOp kernel) {
  const kernel::KernelFunction &function = functions.at(kernel);
  std::vector<std::vector<char>> scratch;
  for (MemRefType type : function.scratch)
    scratch.emplace_back(bytesOf(type), 0x7f);
  for (Value result : kernel.getResults())
    allocate(result);
  for (const kernel::KernelLaunch &launch : function.launches) {
    std::vector<void *> operands;
    for (const kernel::KernelOperand &operand : launch.operands) {
      using Kind = kernel::KernelOperand::Kind;
      if (operand.kind == Kind::Scratch) {
        operands.push_back(scratch[operand.index].data());
        continue;
      }
      Value value = operand.kind == Kind::Input
                        ? kernel.getInputs()[operand.index]
                        : kernel.getResult(operand.index);
      operands.push_back(pointers[value.getAsOpaquePointer()]);
    }
    runLaunch(launch, operands);
  }
}

HostTensor Executor::read(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string dtype;
  llvm::raw_string_ostream(dtype) << type.getElementType();
  HostTensor tensor{dtype, type.getShape().vec(), {}};
  const char *begin = pointers[value.getAsOpaquePointer()];
  tensor.bytes.assign(begin, begin + bytesOf(type));
  return tensor;
}

std::vector<HostTensor> Executor::run(func::FuncOp function,
                                      const std::vector<HostTensor> &inputs) {
  for (auto [argument, tensor] :
       llvm::zip_equal(function.getArguments(), inputs)) {
    allocate(argument);
    llvm::copy(tensor.bytes, pointers[argument.getAsOpaquePointer()]);
  }
  std::vector<HostTensor> results;
  for (Operation &op : function.getBody().front()) {
    if (auto kernel = dyn_cast<exec::KernelOp>(op))
      runKernel(kernel);
    if (auto view = dyn_cast<exec::ViewOp>(op))
      pointers[view.getResult().getAsOpaquePointer()] =
          pointers[view.getSource().getAsOpaquePointer()] +
          view.getOffset() * (view.getType().getElementTypeBitWidth() / 8);
    if (isa<func::ReturnOp>(op))
      for (Value value : op.getOperands())
        results.push_back(read(value));
  }
  return results;
}

std::vector<HostTensor>
CompiledKernels::run(const std::string &function,
                     const std::vector<HostTensor> &inputs, int64_t parts) {
  if (!state->library)
    return {};
  auto found = state->module->lookupSymbol<func::FuncOp>(function);
  Executor executor(state->library, *state->kernels, state->machine,
                    state->functions, parts);
  std::vector<HostTensor> results = executor.run(found, inputs);
  state->violation = executor.violation;
  if (!state->plant)
    EXPECT_EQ(state->violation, "");
  return results;
}

} // namespace shardc::test
