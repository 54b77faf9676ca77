//===- KernelRunner.cpp - Runs a function of operators on this machine ----===//
// SPDX-License-Identifier: Apache-2.0
//
// A small executor of kernels and views: every value has its own buffer, views
// point into their source's.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Target/KernelRunner.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/KernelModels.h"
#include "passes/Kernel/Passes.h"
#include "passes/Target/KernelCode.h"
#include "passes/Target/KernelOutliner.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

int64_t Tensor::elements() const {
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

std::vector<double> Tensor::numbers() const {
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

Tensor Tensor::from(const std::string &dtype, std::vector<int64_t> shape,
                    const std::vector<double> &numbers) {
  const llvm::fltSemantics *semantics = floatSemantics(dtype);
  size_t size = elementBytes(dtype);
  Tensor tensor{dtype, std::move(shape), {}};
  for (double number : numbers) {
    uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(number));
    if (semantics) {
      llvm::APFloat value(number);
      bool losesInfo;
      value.convert(*semantics, llvm::APFloat::rmNearestTiesToEven,
                    &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    const char *begin = reinterpret_cast<const char *>(&bits);
    tensor.bytes.insert(tensor.bytes.end(), begin, begin + size);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

class Executor {
public:
  Executor(func::FuncOp function, ModuleOp kernels, const RunOptions &options)
      : function(function), outliner(kernels), kernels(kernels),
        options(options) {}

  std::vector<Tensor> run(const std::vector<Tensor> &inputs);

private:
  LogicalResult outlineAll();
  bool loadCode();
  void runKernel(exec::KernelOp kernel);
  Tensor read(Value value);
  std::vector<char> &allocate(Value value);

  func::FuncOp function;
  target::KernelOutliner outliner;
  ModuleOp kernels;
  RunOptions options;
  std::map<Operation *, target::KernelFunction> functions;
  std::map<void *, std::vector<char>> buffers;
  std::map<void *, char *> pointers;
  void *library = nullptr;
};

} // namespace

static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static MemRefType layoutOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(value.getContext(), 0,
                                                exec::getStrides(value)));
}

LogicalResult Executor::outlineAll() {
  for (auto kernel : function.getOps<exec::KernelOp>()) {
    SmallVector<MemRefType> layouts;
    for (Value value : kernel.getInputs())
      layouts.push_back(layoutOf(value));
    for (Value value : kernel.getResults())
      layouts.push_back(layoutOf(value));
    auto outlined = outliner.outline(kernel, layouts);
    if (failed(outlined))
      return failure();
    functions[kernel] = *outlined;
  }
  return success();
}

bool Executor::loadCode() {
  auto code = target::generateCpuKernels(kernels);
  if (failed(code))
    return false;
  int file = memfd_create("kernels", 0);
  bool written = write(file, code->data(), code->size()) ==
                 static_cast<ssize_t>(code->size());
  std::string path = "/proc/self/fd/" + std::to_string(file);
  library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  if (!library)
    ADD_FAILURE() << dlerror();
  return library;
}

std::vector<char> &Executor::allocate(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::vector<char> &buffer = buffers[value.getAsOpaquePointer()];
  buffer.assign(type.getNumElements() * bytesOf(type.getElementType()), 0x7f);
  pointers[value.getAsOpaquePointer()] = buffer.data();
  return buffer;
}

void Executor::runKernel(exec::KernelOp kernel) {
  const target::KernelFunction &made = functions[kernel];
  std::vector<std::vector<char>> scratch;
  for (MemRefType type : made.scratch)
    scratch.emplace_back(type.getNumElements() *
                             bytesOf(type.getElementType()),
                         0x7f);
  for (Value result : kernel.getResults())
    allocate(result);
  for (const target::KernelLaunch &launch : made.launches) {
    std::vector<void *> operands;
    for (const target::KernelOperand &operand : launch.operands) {
      using Kind = target::KernelOperand::Kind;
      Value value = operand.kind == Kind::Input
                        ? kernel.getInputs()[operand.index]
                    : operand.kind == Kind::Result
                        ? kernel.getResult(operand.index)
                        : Value();
      operands.push_back(value ? pointers[value.getAsOpaquePointer()]
                               : scratch[operand.index].data());
    }
    auto *code = reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(
        dlsym(library, launch.symbol.c_str()));
    ASSERT_TRUE(code) << launch.symbol;
    for (int64_t part = options.parts; part-- > 0;)
      code(operands.data(), launch.extent * part / options.parts,
           launch.extent * (part + 1) / options.parts);
  }
}

Tensor Executor::read(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string dtype;
  llvm::raw_string_ostream(dtype) << type.getElementType();
  Tensor tensor{dtype, type.getShape().vec(), {}};
  int64_t size = type.getNumElements() * bytesOf(type.getElementType());
  const char *begin = pointers[value.getAsOpaquePointer()];
  tensor.bytes.assign(begin, begin + size);
  return tensor;
}

std::vector<Tensor> Executor::run(const std::vector<Tensor> &inputs) {
  if (failed(outlineAll()) || !loadCode())
    return {};
  for (auto [argument, tensor] :
       llvm::zip_equal(function.getArguments(), inputs))
    allocate(argument) = tensor.bytes;
  for (auto [argument, tensor] :
       llvm::zip_equal(function.getArguments(), inputs))
    pointers[argument.getAsOpaquePointer()] =
        buffers[argument.getAsOpaquePointer()].data();
  std::vector<Tensor> results;
  for (Operation &op : function.getBody().front()) {
    if (auto kernel = dyn_cast<exec::KernelOp>(op))
      runKernel(kernel);
    if (auto view = dyn_cast<exec::ViewOp>(op))
      pointers[view.getResult().getAsOpaquePointer()] =
          pointers[view.getSource().getAsOpaquePointer()] +
          view.getOffset() * bytesOf(view.getType().getElementType());
    if (isa<func::ReturnOp>(op))
      for (Value value : op.getOperands())
        results.push_back(read(value));
  }
  dlclose(library);
  return results;
}

static void registerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  aten::AtenDialect, exec::ExecDialect, fsdp::FsdpDialect,
                  func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
  registerKernelModels(registry);
}

static LogicalResult runKernelPhase(ModuleOp module, bool fuse) {
  PassManager passes(module.getContext());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createFormKernelsPass());
  if (fuse)
    functions.addPass(createFuseKernelsPass());
  functions.addPass(createMaterializeViewsPass());
  functions.addPass(createVerifyKernelsPass());
  return passes.run(module);
}

std::vector<Tensor> runKernels(const std::string &ir,
                               const std::vector<Tensor> &inputs,
                               const RunOptions &options) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(ir, &context);
  if (!module || failed(runKernelPhase(*module, options.fuse))) {
    ADD_FAILURE() << "the kernel phase failed";
    return {};
  }
  OwningOpRef<ModuleOp> kernels =
      ModuleOp::create(UnknownLoc::get(&context), "kernels");
  auto function = module->lookupSymbol<func::FuncOp>("test");
  std::vector<Tensor> results =
      Executor(function, *kernels, options).run(inputs);
  EXPECT_FALSE(results.empty()) << "code generation failed";
  return results;
}

} // namespace shardc::test
