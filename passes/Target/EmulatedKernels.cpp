//===- EmulatedKernels.cpp - A GPU's kernels as host code -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   gpu.func @f(%x: memref<8xf32>)          func.func @f(%thread: !llvm.ptr)
//     %t = gpu.thread_id x            ->      %t = the thread's number
//     %0 = memref.load %x[%t]                 %p = access(%thread, 0, %t * 4,
//     4,
//                                                         false)
//     gpu.barrier                             %0 = llvm.load %p
//                                             barrier(%thread, 0)
//
// From the same device IR that becomes PTX: whatever a thread does to memory or
// with other threads becomes a call of a function that its first argument has
// (runtime/device/GpuThread.h), which checks what a GPU does not. The rest is
// arithmetic, and compiled as a processor's kernels are.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelCode.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/Schedule/SharedMemory.h"
#include "passes/Target/HostCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::target {

namespace {

/// What a thread can call, in the order of GpuHooks.
enum class Hook { Access, Barrier, WarpBarrier, ShuffleXor };

/// Writes one kernel as a function of a thread.
class ThreadFunction {
public:
  ThreadFunction(gpu::GPUFuncOp kernel, OpBuilder &module);

  void write();

private:
  void placeMemory();
  Value constant(int64_t value);
  Value constant32(int64_t value);
  Value toInteger(Value index);
  Value field(int64_t offset, Type type);
  Value call(Hook hook, Type result, ArrayRef<Value> operands);
  Value addressOf(Value memory, Value index, int64_t elements, bool isWrite);
  Value loadFrom(Value address, int64_t number, Type element);
  void storeTo(Value address, int64_t number, Value element);
  bool isShared(Value memory) const { return places.contains(memory); }
  void replace(Operation *op);
  void replaceLoad(memref::LoadOp load);
  void replaceStore(memref::StoreOp store);
  void replaceVectorLoad(vector::LoadOp load);
  void replaceVectorStore(vector::StoreOp store);
  SmallVector<Value> elementsOf(Value vector);
  void eraseVectors();
  void replaceShuffle(NVVM::ShflOp shuffle);
  Value site() { return constant(sites++); }

  gpu::GPUFuncOp kernel;
  OpBuilder builder;
  Location location;
  func::FuncOp function;
  Value thread;
  /// Of operands and shared memory: the number that hooks know it by, and where
  /// it begins there.
  struct Place {
    int64_t number, offset;
  };
  DenseMap<Value, Place> places;
  /// The elements of vectors that were loaded.
  DenseMap<Value, SmallVector<Value>> vectors;
  int64_t sites = 0;
};

} // namespace

ThreadFunction::ThreadFunction(gpu::GPUFuncOp kernel, OpBuilder &module)
    : kernel(kernel), builder(kernel.getContext()), location(kernel.getLoc()) {
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  function = func::FuncOp::create(module, location, kernel.getName(),
                                  builder.getFunctionType(pointer, {}));
  thread = function.addEntryBlock()->getArgument(0);
}

void ThreadFunction::placeMemory() {
  for (auto [number, operand] : llvm::enumerate(
           kernel.getArguments().take_front(kernel.getNumArguments())))
    places[operand] = {static_cast<int64_t>(number), 0};
  SharedMemory shared;
  for (BlockArgument memory : kernel.getWorkgroupAttributions())
    places[memory] = {-1, shared.add(cast<MemRefType>(memory.getType()))};
}

Value ThreadFunction::constant(int64_t value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getI64IntegerAttr(value));
}

Value ThreadFunction::toInteger(Value index) {
  return arith::IndexCastOp::create(builder, location, builder.getI64Type(),
                                    index);
}

/// What lies `offset` bytes behind the start of the thread.
Value ThreadFunction::field(int64_t offset, Type type) {
  Value place = LLVM::GEPOp::create(
      builder, location, thread.getType(), builder.getI8Type(), thread,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::LoadOp::create(builder, location, type, place);
}

Value ThreadFunction::call(Hook hook, Type result, ArrayRef<Value> operands) {
  Type pointer = thread.getType();
  Value hooks = field(0, pointer);
  Value place =
      LLVM::GEPOp::create(builder, location, pointer, pointer, hooks,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(hook)});
  SmallVector<Value> values = {
      LLVM::LoadOp::create(builder, location, pointer, place), thread};
  llvm::append_range(values, operands);
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(builder.getContext()),
      llvm::to_vector(ValueRange(values).drop_front().getTypes()));
  auto made = LLVM::CallOp::create(builder, location, type, values);
  return result ? made.getResult() : Value();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The address of `elements` elements of `memory` from `index` on.
Value ThreadFunction::addressOf(Value memory, Value index, int64_t elements,
                                bool isWrite) {
  const Place place = places.at(memory);
  const int64_t bytes =
      getElementBytes(cast<MemRefType>(memory.getType()).getElementType());
  Value offset = arith::MulIOp::create(builder, location, toInteger(index),
                                       constant(bytes));
  if (place.offset != 0)
    offset = arith::AddIOp::create(builder, location, offset,
                                   constant(place.offset));
  return call(Hook::Access, thread.getType(),
              {constant(place.number), offset, constant(elements * bytes),
               constant(isWrite)});
}

/// The type that an element has in memory: a byte for a bit, an integer for a
/// number that processors may lack.
static Type storedType(Type element, OpBuilder &builder) {
  if (element.isInteger(1))
    return builder.getI8Type();
  if (element.isBF16() || element.isF16())
    return builder.getI16Type();
  return element;
}

static Value elementAddress(OpBuilder &builder, Location location,
                            Value address, int64_t number, Type stored) {
  return number == 0
             ? address
             : LLVM::GEPOp::create(
                   builder, location, address.getType(), stored, address,
                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)})
                   .getResult();
}

Value ThreadFunction::loadFrom(Value address, int64_t number, Type element) {
  Type stored = storedType(element, builder);
  Value value = LLVM::LoadOp::create(
      builder, location, stored,
      elementAddress(builder, location, address, number, stored));
  if (element.isInteger(1))
    return arith::TruncIOp::create(builder, location, element, value);
  return stored == element
             ? value
             : arith::BitcastOp::create(builder, location, element, value)
                   .getResult();
}

void ThreadFunction::storeTo(Value address, int64_t number, Value element) {
  Type stored = storedType(element.getType(), builder);
  if (element.getType().isInteger(1))
    element = arith::ExtUIOp::create(builder, location, stored, element);
  else if (stored != element.getType())
    element = arith::BitcastOp::create(builder, location, stored, element);
  LLVM::StoreOp::create(
      builder, location, element,
      elementAddress(builder, location, address, number, stored));
}

void ThreadFunction::replaceLoad(memref::LoadOp load) {
  if (!isShared(load.getMemRef()))
    return;
  Value address = addressOf(load.getMemRef(), load.getIndices().front(), 1,
                            /*isWrite=*/false);
  load.replaceAllUsesWith(loadFrom(address, 0, load.getType()));
  load.erase();
}

void ThreadFunction::replaceStore(memref::StoreOp store) {
  if (!isShared(store.getMemRef()))
    return;
  Value address = addressOf(store.getMemRef(), store.getIndices().front(), 1,
                            /*isWrite=*/true);
  storeTo(address, 0, store.getValue());
  store.erase();
}

/// One access, element by element from there on.
void ThreadFunction::replaceVectorLoad(vector::LoadOp load) {
  VectorType type = load.getVectorType();
  Value address = addressOf(load.getBase(), load.getIndices().front(),
                            type.getNumElements(), /*isWrite=*/false);
  SmallVector<Value> &elements = vectors[load.getResult()];
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(loadFrom(address, i, type.getElementType()));
}

/// The numbers that a vector is made of.
SmallVector<Value> ThreadFunction::elementsOf(Value vector) {
  if (auto known = vectors.find(vector); known != vectors.end())
    return known->second;
  Operation *made = vector.getDefiningOp();
  if (auto elements = dyn_cast_or_null<vector::FromElementsOp>(made))
    return llvm::to_vector(elements.getElements());
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  if (auto same = dyn_cast_or_null<vector::BroadcastOp>(made))
    return SmallVector<Value>(count, same.getSource());
  auto values =
      cast<DenseElementsAttr>(cast<arith::ConstantOp>(made).getValue());
  return llvm::map_to_vector(
      values.getValues<TypedAttr>(), [&](TypedAttr value) -> Value {
        return arith::ConstantOp::create(builder, location, value);
      });
}

void ThreadFunction::replaceVectorStore(vector::StoreOp store) {
  SmallVector<Value> elements = elementsOf(store.getValueToStore());
  Value address = addressOf(store.getBase(), store.getIndices().front(),
                            static_cast<int64_t>(elements.size()),
                            /*isWrite=*/true);
  for (auto [number, element] : llvm::enumerate(elements))
    storeTo(address, static_cast<int64_t>(number), element);
  store.erase();
}

/// Takes the operations on vectors out that nothing uses any more, users first.
void ThreadFunction::eraseVectors() {
  SmallVector<Operation *> operations;
  kernel.getBody().walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isa<VectorType>(op->getResultTypes()[0]))
      operations.push_back(op);
  });
  for (Operation *op : llvm::reverse(operations))
    op->erase();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void ThreadFunction::replaceShuffle(NVVM::ShflOp shuffle) {
  auto wide = [&](Value value) -> Value {
    return arith::ExtUIOp::create(builder, location, builder.getI64Type(),
                                  value);
  };
  Value got = call(Hook::ShuffleXor, builder.getI32Type(),
                   {wide(shuffle.getThreadMask()), shuffle.getVal(),
                    wide(shuffle.getOffset()), site()});
  shuffle.replaceAllUsesWith(got);
  shuffle.erase();
}

void ThreadFunction::replace(Operation *op) {
  builder.setInsertionPoint(op);
  location = op->getLoc();
  constexpr int64_t blockOffset = 8, threadOffset = 16;
  auto replaceIndex = [&](int64_t offset) {
    Value number = field(offset, builder.getI64Type());
    op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(
        builder, location, builder.getIndexType(), number));
    op->erase();
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return replaceLoad(load);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return replaceStore(store);
  if (auto load = dyn_cast<vector::LoadOp>(op))
    return replaceVectorLoad(load);
  if (auto store = dyn_cast<vector::StoreOp>(op))
    return replaceVectorStore(store);
  if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
    extract.replaceAllUsesWith(
        elementsOf(extract.getSource())[extract.getStaticPosition().front()]);
    return extract.erase();
  }
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op))
    return replaceShuffle(shuffle);
  if (isa<gpu::BlockIdOp>(op))
    return replaceIndex(blockOffset);
  if (isa<gpu::ThreadIdOp>(op))
    return replaceIndex(threadOffset);
  if (isa<gpu::BarrierOp>(op)) {
    call(Hook::Barrier, nullptr, {site()});
    return op->erase();
  }
  if (auto warp = dyn_cast<NVVM::SyncWarpOp>(op)) {
    Value mask = arith::ExtUIOp::create(builder, location, builder.getI64Type(),
                                        warp.getMask());
    call(Hook::WarpBarrier, nullptr, {mask, site()});
    return op->erase();
  }
  if (isa<gpu::ReturnOp>(op)) {
    func::ReturnOp::create(builder, location);
    op->erase();
  }
}

void ThreadFunction::write() {
  placeMemory();
  SmallVector<Operation *> operations;
  kernel.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    replace(op);
  eraseVectors();
  Block &body = function.getBody().front();
  body.getOperations().splice(body.end(),
                              kernel.getBody().front().getOperations());
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// The kernels of `module` as functions of a thread, beside their constants.
static OwningOpRef<ModuleOp> writeFunctions(gpu::GPUModuleOp module) {
  OwningOpRef<ModuleOp> functions =
      ModuleOp::create(module.getLoc(), module.getName());
  OwningOpRef<gpu::GPUModuleOp> copy = module.clone();
  OpBuilder builder = OpBuilder::atBlockBegin(functions->getBody());
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody())) {
    if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
      ThreadFunction(kernel, builder).write();
    else
      builder.clone(op);
  }
  return functions;
}

FailureOr<SmallVector<char, 0>>
generateEmulatedKernels(gpu::GPUModuleOp kernels,
                        ArrayRef<SignatureText> signatures) {
  OwningOpRef<ModuleOp> functions = writeFunctions(kernels);
  return compileHostCode(*functions, {}, signatures, HostEntry::Thread);
}

} // namespace shardc::target
