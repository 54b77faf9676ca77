//===- KernelOutliner.cpp - Functions for the kernels of a program --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a kernel's region into stages, schedules them and writes one function
// a launch. Kernels whose region, layouts and sharing print the same share
// functions, so that every layer of a model runs the same code.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/KernelOutliner.h"

#include "dialects/Exec/Layout.h"
#include "passes/Kernel/Emission/KernelLoops.h"
#include "passes/Kernel/Emission/KernelStages.h"
#include "passes/Kernel/Schedule/KernelScheduleChecker.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;

namespace shardc::kernel {

/// What decides the code of a kernel, as text: IR that is read back is the
/// same, unless options of the printer leave constants out.
static std::string keyOf(exec::KernelInterface kernel,
                         ArrayRef<MemRefType> layouts,
                         ArrayRef<SharedStorage> shared,
                         ArrayRef<int64_t> alignments) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  auto flags = OpPrintingFlags().useLocalScope();
  flags.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  AsmState state(kernel, flags);
  for (Operation &op : kernel.getBody().front()) {
    op.print(stream, state);
    stream << "\n";
  }
  llvm::interleaveComma(layouts, stream);
  for (auto [input, result] : shared)
    stream << ";" << input << "=" << result;
  for (int64_t alignment : alignments)
    stream << "," << alignment;
  return key;
}

/// `kernel_` and the label in letters that every linker accepts; the prefix
/// keeps clear of the C library's names.
static std::string symbolBase(StringRef label) {
  constexpr size_t longest = 56;
  std::string base = "kernel_";
  for (char letter : label.take_front(longest))
    base += llvm::isAlnum(letter) ? letter : '_';
  return base;
}

static std::string unusedSymbol(ModuleOp kernels, const std::string &base,
                                size_t launches, size_t launch) {
  std::string part = launches == 1 ? "" : "_part" + std::to_string(launch);
  std::string name = base + part;
  for (unsigned i = 1; kernels.lookupSymbol(name); ++i)
    name = base + "_" + std::to_string(i) + part;
  return name;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Numbers the temporaries that pass between launches.
static SmallVector<MemRefType> numberScratch(KernelProblem &problem,
                                             const KernelSchedule &schedule) {
  SmallVector<MemRefType> scratch;
  for (auto [storage, placement] :
       llvm::zip_equal(problem.storages, schedule.placements)) {
    if (storage.kind != TensorStorage::Kind::Temporary || placement.isPrivate)
      continue;
    storage.index = scratch.size();
    scratch.push_back(MemRefType::get(placement.elements, storage.element));
  }
  return scratch;
}

/// The tensors that a launch gets by pointer: inputs, results, scratch.
static SmallVector<int> launchTensors(const KernelProblem &problem,
                                      const KernelSchedule &schedule,
                                      const Launch &launch) {
  SmallVector<int> tensors;
  auto add = [&](int tensor) {
    const TensorStorage &storage = problem.storages[tensor];
    using Kind = TensorStorage::Kind;
    bool isPassed = storage.kind == Kind::Input ||
                    storage.kind == Kind::Result ||
                    (storage.kind == Kind::Temporary &&
                     !schedule.placements[tensor].isPrivate);
    if (isPassed && !llvm::is_contained(tensors, tensor))
      tensors.push_back(tensor);
  };
  for (const ScheduledStage &scheduled : launch.stages) {
    const Stage &stage = schedule.merged.stages[scheduled.stage];
    for (const StageAccess &access : stage.accesses)
      add(access.tensor);
    for (int tensor : stage.gathers)
      add(tensor);
  }
  llvm::sort(tensors, [&](int a, int b) {
    const TensorStorage &first = problem.storages[a];
    const TensorStorage &second = problem.storages[b];
    return std::tuple(first.kind, first.index) <
           std::tuple(second.kind, second.index);
  });
  return tensors;
}

static KernelOperand::Kind kindOf(const TensorStorage &storage) {
  switch (storage.kind) {
  case TensorStorage::Kind::Input:
    return KernelOperand::Kind::Input;
  case TensorStorage::Kind::Result:
    return KernelOperand::Kind::Result;
  default:
    return KernelOperand::Kind::Scratch;
  }
}

/// Different elements that `access` reaches: its loops do not write twice.
static int64_t writtenElements(const Stage &stage, const StageAccess &access) {
  int64_t elements = 1;
  for (auto [size, stride] : llvm::zip_equal(stage.sizes, access.strides))
    if (stride != 0)
      elements *= size;
  return elements;
}

/// What a launch does with `tensor`. Stages write disjoint parts of it, or one
/// fills all of it before, so that it is full when their elements add up to it.
static exec::Access accessOf(const KernelSchedule &schedule,
                             const Launch &launch, int tensor) {
  bool reads = false;
  int64_t written = 0;
  for (const ScheduledStage &scheduled : launch.stages) {
    const Stage &stage = schedule.merged.stages[scheduled.stage];
    bool isRead = llvm::is_contained(stage.gathers, tensor);
    for (const StageAccess &access : stage.accesses)
      isRead |= access.tensor == tensor && !access.isWrite;
    reads |= isRead && written < schedule.merged.tensors[tensor].elements;
    for (const StageAccess &access : stage.accesses)
      if (access.tensor == tensor && access.isWrite)
        written += writtenElements(stage, access);
  }
  if (written == 0)
    return exec::Access::read;
  return reads ? exec::Access::read_write : exec::Access::write;
}

FailureOr<KernelFunction> KernelOutliner::outline(
    exec::KernelInterface kernel, ArrayRef<MemRefType> layouts,
    ArrayRef<SharedStorage> shared, ArrayRef<int64_t> alignments) {
  // A processor's vectors need no alignment.
  if (preferences.blockThreads == 1)
    alignments = {};
  std::string key = keyOf(kernel, layouts, shared, alignments);
  auto known = functions.find(key);
  if (known != functions.end())
    return known->second;
  FailureOr<KernelProblem> problem =
      readKernel(kernel, layouts, shared, alignments);
  if (failed(problem))
    return failure();
  KernelSchedule schedule = scheduleKernel(problem->stages, preferences);
  assert(isCorrect(checkSmallSchedule(problem->stages, schedule)));
  KernelFunction function;
  function.scratch = numberScratch(*problem, schedule);
  std::string base = symbolBase(kernel.getLabel());
  for (auto [i, launch] : llvm::enumerate(schedule.launches)) {
    SmallVector<int> tensors = launchTensors(*problem, schedule, launch);
    auto accesses = llvm::map_to_vector(tensors, [&](int tensor) {
      return accessOf(schedule, launch, tensor);
    });
    std::string name = unusedSymbol(kernels, base, schedule.launches.size(), i);
    createLaunchFunction(kernels, kernel.getLoc(), name, *problem, schedule,
                         launch, tensors, accesses);
    KernelLaunch &made = function.launches.emplace_back();
    made.symbol = name;
    made.extent = launch.gridBlocks();
    for (auto [tensor, access] : llvm::zip_equal(tensors, accesses)) {
      const TensorStorage &storage = problem->storages[tensor];
      made.operands.push_back({kindOf(storage), storage.index, access});
    }
  }
  functions[key] = function;
  return function;
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// The stage that writes `tensor`, or null when there is not exactly one.
static const Stage *writerOf(const KernelStages &kernel, int tensor) {
  const Stage *writer = nullptr;
  for (const Stage &stage : kernel.stages)
    for (const StageAccess &access : stage.accesses)
      if (access.tensor == tensor && access.isWrite) {
        if (writer)
          return nullptr;
        writer = &stage;
      }
  return writer;
}

/// Whether `result` may be written over `input`: no stage reads the input after
/// the one that writes the result, and every stage that reads it reads, in each
/// iteration, the element that the result's is written to, which no other
/// iteration writes.
static bool isElementwise(const KernelStages &kernel, int input, int result) {
  const Stage *writer = writerOf(kernel, result);
  if (!writer)
    return false;
  const StageAccess &write =
      *llvm::find_if(writer->accesses, [&](const StageAccess &access) {
        return access.tensor == result && access.isWrite;
      });
  if (writtenElements(*writer, write) != llvm::product_of(writer->sizes))
    return false;
  bool written = false;
  for (const Stage &stage : kernel.stages) {
    if (llvm::is_contained(stage.gathers, input))
      return false;
    for (const StageAccess &access : stage.accesses)
      if (access.tensor == input &&
          (written || stage.sizes != writer->sizes ||
           access.offset != write.offset || access.strides != write.strides))
        return false;
    written |= &stage == writer;
  }
  return true;
}

SmallVector<SharedStorage> getShareableStorage(exec::KernelInterface kernel) {
  SmallVector<MemRefType> layouts;
  SmallVector<Type> types(kernel.getInputTypes());
  llvm::append_range(types, kernel.getYieldedTypes());
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    layouts.push_back(
        MemRefType::get(tensor.getShape(), tensor.getElementType()));
  }
  SmallVector<SharedStorage> pairs;
  FailureOr<KernelProblem> problem = readKernel(kernel, layouts, {});
  if (failed(problem))
    return pairs;
  unsigned inputs = kernel.getInputTypes().size();
  // Tensors are numbered inputs first, then results.
  for (unsigned input = 0; input < inputs; ++input)
    for (unsigned result = 0; result < types.size() - inputs; ++result)
      if (types[input] == types[inputs + result] &&
          isElementwise(problem->stages, input, inputs + result))
        pairs.push_back({input, result});
  return pairs;
}

} // namespace shardc::kernel
