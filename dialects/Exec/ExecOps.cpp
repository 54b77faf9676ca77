//===- ExecOps.cpp - Verifiers and syntax of exec operations --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What an exec operation alone can be wrong about, and the syntax of `kernel`.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/FormatEnums.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/BoundRegion.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace shardc::exec;

/// `orders` has one permutation of dimensions, or an empty list, a result.
static LogicalResult verifyOrders(Operation *op, ArrayAttr orders) {
  if (orders.size() != op->getNumResults())
    return op->emitOpError("expected one order a result, got ")
           << orders.size() << " for " << op->getNumResults();
  for (auto [order, result] : llvm::zip_equal(orders, op->getResults())) {
    auto permutation = dyn_cast<DenseI64ArrayAttr>(order);
    if (!permutation)
      return op->emitOpError("expected orders of array<i64>, got ") << order;
    SmallVector<int64_t> sorted(permutation.asArrayRef());
    llvm::sort(sorted);
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    bool whole = sorted.empty() || static_cast<int64_t>(sorted.size()) == rank;
    for (auto [i, dim] : llvm::enumerate(sorted))
      whole &= dim == static_cast<int64_t>(i);
    if (!whole)
      return op->emitOpError("expected a permutation of ")
             << rank << " dimensions, got " << order;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expected region arguments with the inputs' types");
  if (block.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("expected yielded values with the results' types");
  return getOrder() ? verifyOrders(*this, *getOrder()) : success();
}

/// `exec.kernel "label" (%x = %y : type, …) -> (types) attributes {…} {region}`
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr label;
  if (parser.parseAttribute(label, "label", result.attributes))
    return failure();
  if (parseBoundRegion(parser, result))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " " << getLabelAttr();
  printBoundRegion(printer, *this, {"label"});
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  SmallVector<Type> arguments, carried;
  SmallVector<Value> tensors(getInputs());
  llvm::append_range(tensors, getResults());
  if (getNumResults() == 0)
    return emitOpError("expected a result");
  auto shape = cast<RankedTensorType>(getResult(0).getType()).getShape();
  for (Value tensor : tensors) {
    if (cast<RankedTensorType>(tensor.getType()).getShape() != shape)
      return emitOpError("expected tensors of one shape");
    arguments.push_back(getElementTypeOrSelf(tensor.getType()));
  }
  carried.assign(arguments.begin() + getInputs().size(), arguments.end());
  if (getDimension() >= shape.size())
    return emitOpError("expected a dimension of the tensors");
  auto typeOf = [](Attribute start) {
    auto typed = dyn_cast<TypedAttr>(start);
    return typed ? typed.getType() : Type();
  };
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!llvm::equal(llvm::map_range(getStarts(), typeOf), carried) ||
      !llvm::equal(block.getArgumentTypes(), arguments) || !yield ||
      !llvm::equal(yield.getOperandTypes(), carried))
    return emitOpError("expected starts, region arguments and yielded values "
                       "of the tensors' element types");
  return success();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// Each loop at most once, where the whole is as long as the loop.
static bool areLoops(ArrayRef<int64_t> loops, ArrayRef<int64_t> iterations,
                     ArrayRef<int64_t> whole) {
  if (loops.size() != whole.size())
    return false;
  SmallVector<bool> seen(iterations.size());
  for (auto [loop, size] : llvm::zip_equal(loops, whole)) {
    if (loop == -1)
      continue;
    if (loop < 0 || loop >= static_cast<int64_t>(iterations.size()) ||
        seen[loop] || iterations[loop] > size)
      return false;
    seen[loop] = true;
  }
  return true;
}

void ScatterOp::partition(SmallVectorImpl<Operation *> &independent,
                          SmallVectorImpl<Operation *> &dependent) {
  Block &block = getBody().front();
  DenseSet<Value> values = {block.getArguments().back()};
  for (Operation &op : block.without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
      return values.contains(operand);
    });
    (depends ? dependent : independent).push_back(&op);
    if (depends)
      values.insert_range(op.getResults());
  }
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected an input");
  ArrayRef<int64_t> iterations = shapeOf(getInputs().front());
  SmallVector<Type> arguments;
  for (Value input : getInputs()) {
    ArrayRef<int64_t> shape = shapeOf(input);
    if (shape.size() != iterations.size() ||
        llvm::any_of(llvm::zip_equal(shape, iterations), [](auto sizes) {
          return std::get<0>(sizes) < std::get<1>(sizes);
        }))
      return emitOpError("expected inputs no smaller than the first");
    arguments.push_back(getElementTypeOrSelf(input.getType()));
  }
  if (!areLoops(getLoops(), iterations, shapeOf(getWhole())))
    return emitOpError("expected for each dimension of the whole a loop that "
                       "fits, each once, or -1");
  Type element = getElementTypeOrSelf(getWhole().getType());
  arguments.push_back(element);
  SmallVector<Type> yielded(llvm::count(getLoops(), -1),
                            IndexType::get(getContext()));
  yielded.push_back(element);
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!llvm::equal(block.getArgumentTypes(), arguments) || !yield ||
      !llvm::equal(yield.getOperandTypes(), yielded))
    return emitOpError("expected a body that takes elements of the inputs and "
                       "the whole and yields indices and an element");
  SmallVector<Operation *> independent, dependent;
  partition(independent, dependent);
  for (Value index : yield.getOperands().drop_back())
    if (index == block.getArguments().back() ||
        llvm::is_contained(dependent, index.getDefiningOp()))
      return emitOpError("expected indices that do not depend on the whole's "
                         "element");
  return success();
}

//===----------------------------------------------------------------------===//
// library and view
//===----------------------------------------------------------------------===//

LogicalResult LibraryOp::verify() { return verifyOrders(*this, getOrder()); }

/// Whether elements are the same, but for the sign of integers.
static bool haveSameBits(Type a, Type b) {
  return a == b || (isa<IntegerType>(a) && isa<IntegerType>(b) &&
                    a.getIntOrFloatBitWidth() == b.getIntOrFloatBitWidth());
}

LogicalResult ViewOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  auto source = cast<RankedTensorType>(getSource().getType());
  if (static_cast<int64_t>(getStrides().size()) != result.getRank())
    return emitOpError("expected ")
           << result.getRank() << " strides, got " << getStrides().size();
  if (!haveSameBits(source.getElementType(), result.getElementType()))
    return emitOpError("expected one element type, got ")
           << source << " and " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// `#` is no letter of a value's name.
void StateOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  std::string name = getName().str();
  llvm::replace(name, '#', '.');
  setName(getMemory(), name);
}

void InputOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getMemory(), getName());
}

void ScalarOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getMemory(), getName());
}

shardc::format::Scalar ScalarOp::getKind() {
  const auto *found =
      llvm::find(shardc::format::scalarNames, std::string_view(getName()));
  return static_cast<shardc::format::Scalar>(
      found - shardc::format::scalarNames.begin());
}

LogicalResult ScalarOp::verify() {
  if (!llvm::is_contained(shardc::format::scalarNames,
                          std::string_view(getName())))
    return emitOpError("expected a scalar of the run, got '")
           << getName() << "'";
  shardc::format::Dtype dtype = dtypeOf(getKind());
  Type element = cast<MemRefType>(getMemory().getType()).getElementType();
  if (getDtype(element) == dtype)
    return success();
  return emitOpError("expected ") << dtypeName(dtype) << ", got " << element;
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<SectionOp>(op))
      return op.emitOpError("expected to be in an exec.section");
  return success();
}

SmallVector<SectionOp> shardc::exec::getSections(ProgramOp program) {
  return llvm::to_vector(program.getBody().front().getOps<SectionOp>());
}

std::vector<shardc::format::Section>
shardc::exec::describeSections(ProgramOp program) {
  std::vector<format::Section> sections;
  for (SectionOp section : getSections(program))
    sections.push_back({section.getName().str(), toFormat(section.getRepeat()),
                        std::nullopt, toFormat(section.getRun())});
  return sections;
}

SmallVector<CommandInterface> shardc::exec::getCommands(ProgramOp program) {
  SmallVector<CommandInterface> commands;
  for (SectionOp section : getSections(program))
    llvm::append_range(commands,
                       section.getBody().front().getOps<CommandInterface>());
  return commands;
}

SmallVector<BufferOp> shardc::exec::getBuffers(ProgramOp program) {
  SmallVector<BufferOp> buffers;
  for (SectionOp section : getSections(program))
    llvm::append_range(buffers, section.getBody().front().getOps<BufferOp>());
  return buffers;
}

LogicalResult SectionOp::verify() {
  if (Value condition = getCondition())
    if (!condition.getDefiningOp<StateOp>())
      return emitOpError("expected a state as the condition");
  return success();
}

LogicalResult PartOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  for (NamedAttribute stride :
       getStrides().value_or(DictionaryAttr::get(getContext())))
    if (!isa<IntegerAttr>(stride.getValue()) ||
        !findAxis(getMesh(module), stride.getName()))
      return emitOpError("expected strides of the mesh's axes, got ")
             << stride.getName();
  Type whole = cast<MemRefType>(getWhole().getType()).getElementType();
  Type part = cast<MemRefType>(getMemory().getType()).getElementType();
  if (!haveSameBits(whole, part))
    return emitOpError("expected one element type, got ")
           << whole << " and " << part;
  return success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Whether `tensors` are what `memory` holds.
static bool holds(TypeRange memory, TypeRange tensors) {
  if (memory.size() != tensors.size())
    return false;
  for (auto [held, type] : llvm::zip_equal(memory, tensors)) {
    auto memref = cast<MemRefType>(held);
    auto tensor = cast<RankedTensorType>(type);
    if (memref.getShape() != tensor.getShape() ||
        memref.getElementType() != tensor.getElementType())
      return false;
  }
  return true;
}

LogicalResult RunOp::verify() {
  Block &block = getBody().front();
  if (!holds(getInputs().getTypes(), block.getArgumentTypes()))
    return emitOpError("expected region arguments of what the inputs hold");
  if (!holds(getOutputs().getTypes(), block.getTerminator()->getOperandTypes()))
    return emitOpError("expected yielded values of what the outputs hold");
  return success();
}

LogicalResult shardc::exec::verifyAxes(Operation *op) {
  ArrayAttr axes = cast<CollectiveInterface>(op).getAxes();
  format::Mesh mesh = getMesh(op->getParentOfType<ModuleOp>());
  std::optional<int64_t> last;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    std::optional<int64_t> number = findAxis(mesh, axis);
    if (!number || (last && *number <= *last))
      return op->emitOpError("expected axes of the mesh, in its order, got ")
             << axes;
    last = number;
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getAccesses().size() != getArguments().size())
    return emitOpError("expected one access an argument, got ")
           << getAccesses().size() << " for " << getArguments().size();
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &argument : getArgumentsMutable()) {
    Access access = getAccess(argument.getOperandNumber());
    if (access != Access::write)
      effects.emplace_back(MemoryEffects::Read::get(), &argument);
    if (access != Access::read)
      effects.emplace_back(MemoryEffects::Write::get(), &argument);
  }
}
