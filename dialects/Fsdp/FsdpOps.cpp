//===- FsdpOps.cpp - Verifiers and syntax of fsdp operations --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What an fsdp operation alone can be wrong about, and the syntax of `module`
// and `update`.
// Rules that relate operations are the `verify-` passes'.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/BoundRegion.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shardc::fsdp;

//===----------------------------------------------------------------------===//
// mesh
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  constexpr size_t maxAxes = 4; // Of an artifact: runtime/format/Mesh.h.
  if (getAxes().size() != getSizes().size() || getAxes().empty() ||
      getAxes().size() > maxAxes)
    return emitOpError("expected from 1 to ")
           << maxAxes << " axes with a size each";
  for (auto [number, axis] : llvm::enumerate(getAxes()))
    if (findAxis(cast<StringAttr>(axis)) != number)
      return emitOpError("expected axes of different names, got ") << axis;
  for (int64_t size : getSizes())
    if (size < 1)
      return emitOpError("expected at least 1 rank, got ") << size;
  return success();
}

std::optional<unsigned> MeshOp::findAxis(StringRef name) {
  for (auto [number, axis] : llvm::enumerate(getAxes()))
    if (cast<StringAttr>(axis).getValue() == name)
      return number;
  return std::nullopt;
}

int64_t MeshOp::getRanks() { return llvm::product_of(getSizes()); }

int64_t MeshOp::getShards() {
  std::optional<unsigned> replicas = findAxis(replicateAxis);
  return getRanks() / (replicas ? getSizes()[*replicas] : 1);
}

static SmallVector<StringRef> axesIf(MeshOp mesh, bool areReplicas) {
  SmallVector<StringRef> axes;
  for (auto axis : mesh.getAxes().getAsRange<StringAttr>())
    if ((axis == MeshOp::replicateAxis) == areReplicas)
      axes.push_back(axis);
  return axes;
}

SmallVector<StringRef> MeshOp::getShardAxes() {
  return axesIf(*this, /*areReplicas=*/false);
}

SmallVector<StringRef> MeshOp::getReplicaAxes() {
  return axesIf(*this, /*areReplicas=*/true);
}

SmallVector<StringRef> MeshOp::getLastAxes(int64_t ranks) {
  SmallVector<StringRef> axes = getShardAxes();
  int64_t together = 1;
  for (size_t first = axes.size(); first-- > 0;) {
    together *= getSizes()[*findAxis(axes[first])];
    if (together == ranks)
      return SmallVector<StringRef>(ArrayRef(axes).drop_front(first));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// group
//===----------------------------------------------------------------------===//

std::string GroupOp::describeReshard() {
  return getReshardTo() ? std::to_string(*getReshardTo())
                        : stringifyReshard(getReshard()).str();
}

//===----------------------------------------------------------------------===//
// Names of results
//===----------------------------------------------------------------------===//

/// "layers.3.attn" -> "attn". A name that is a number alone keeps the component
/// before it: "layers.3".
static StringRef lastComponent(StringRef path) {
  StringRef last = path.rsplit('.').second;
  if (last.empty())
    return path;
  if (!llvm::all_of(last, llvm::isDigit))
    return last;
  size_t before = path.drop_back(last.size() + 1).rfind('.');
  return before == StringRef::npos ? path : path.drop_front(before + 1);
}

void shardc::fsdp::ModuleOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  for (Value result : getResults())
    setNameFn(result, lastComponent(getPath()));
}

/// Of "optimizer#bias_correction1" what comes after the number sign.
void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  StringRef name = lastComponent(getSymbol());
  setNameFn(getResult(), name.substr(name.find_last_of('#') + 1));
}

void CaptureOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  if (std::optional<StringRef> buffer = getBuffer())
    setNameFn(getResult(), lastComponent(*buffer));
}

void ViewOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getResult(), getParameter());
}

void UnshardOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getResult(), getGroup());
}

void WaitOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getResult(),
            cast<PendingType>(getPending().getType()).getGroup().getValue());
}

//===----------------------------------------------------------------------===//
// module
//===----------------------------------------------------------------------===//

/// A region's arguments are the operands, and its results those of `op`.
static LogicalResult verifyBoundRegion(Operation *op) {
  Block &block = op->getRegion(0).front();
  if (block.getArgumentTypes() != op->getOperandTypes())
    return op->emitOpError("expected region arguments with the inputs' types");
  if (block.getTerminator()->getOperandTypes() != op->getResultTypes())
    return op->emitOpError("expected yielded values with the results' types");
  return success();
}

LogicalResult shardc::fsdp::ModuleOp::verify() {
  return verifyBoundRegion(*this);
}

bool shardc::fsdp::isCapturedOnly(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           unsigned index = use.getOperandNumber();
           if (auto call = dyn_cast<ModuleOp>(use.getOwner()))
             return call.isCaptured(index);
           if (isa<YieldOp>(use.getOwner()))
             if (auto call = dyn_cast<ModuleOp>(use.getOwner()->getParentOp()))
               return call.isResultCaptured(index);
           return isa<CaptureOp>(use.getOwner());
         });
}

FlatSymbolRefAttr shardc::fsdp::stateOf(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (auto capture = dyn_cast_or_null<CaptureOp>(op))
    return capture.getBufferAttr();
  auto read = dyn_cast_or_null<ReadOp>(op);
  return read ? read.getSymbolAttr() : FlatSymbolRefAttr();
}

bool shardc::fsdp::ModuleOp::isCaptured(unsigned input) {
  return isCapturedOnly(getBody().getArgument(input));
}

bool shardc::fsdp::ModuleOp::isResultCaptured(unsigned result) {
  return isCapturedOnly(getResult(result));
}

/// `fsdp.module "path" : "type" (call 1)? (group @g)? (%x = %y : type, …)
/// -> (types) attributes {…} {region}`
ParseResult shardc::fsdp::ModuleOp::parse(OpAsmParser &parser,
                                          OperationState &result) {
  // Strings, not attributes: after an attribute a colon would begin its type.
  std::string path, type;
  if (parser.parseString(&path) || parser.parseColon() ||
      parser.parseString(&type))
    return failure();
  Builder &builder = parser.getBuilder();
  result.addAttribute("path", builder.getStringAttr(path));
  result.addAttribute("type", builder.getStringAttr(type));
  if (succeeded(parser.parseOptionalKeyword("call"))) {
    IntegerAttr call;
    if (parser.parseAttribute(call, builder.getI64Type(), "call",
                              result.attributes))
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("group"))) {
    FlatSymbolRefAttr group;
    if (parser.parseAttribute(group, "group", result.attributes))
      return failure();
  }
  if (parseBoundRegion(parser, result))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void shardc::fsdp::ModuleOp::print(OpAsmPrinter &printer) {
  printer << " " << getPathAttr() << " : " << getTypeAttr();
  if (getCall() != 0)
    printer << " call " << getCall();
  if (getGroupAttr()) {
    printer << " group ";
    printer.printAttributeWithoutType(getGroupAttr());
  }
  printBoundRegion(printer, *this, {"path", "type", "call", "group"});
}

//===----------------------------------------------------------------------===//
// Casts and collectives
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  auto source = cast<RankedTensorType>(getValue().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (source.getShape() != result.getShape())
    return emitOpError("expected equal shapes, got ")
           << source << " and " << result;
  if (!isa<FloatType>(source.getElementType()) ||
      !isa<FloatType>(result.getElementType()))
    return emitOpError("expected floating-point tensors, got ")
           << source << " and " << result;
  return success();
}

static LogicalResult verifyReduction(Operation *op, ArrayAttr parameters,
                                     ValueRange gradients) {
  if (parameters.size() != gradients.size())
    return op->emitOpError("expected one parameter a gradient, got ")
           << parameters.size() << " and " << gradients.size();
  for (Attribute parameter : parameters)
    if (!isa<FlatSymbolRefAttr>(parameter))
      return op->emitOpError("expected parameter symbols, got ") << parameter;
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  return verifyReduction(*this, getParameters(), getGradients());
}

LogicalResult ReduceScatterStartOp::verify() {
  return verifyReduction(*this, getParameters(), getGradients());
}

static LogicalResult verifyReplicas(Operation *op, Operation *reduction) {
  if (isa_and_nonnull<ReduceScatterOp, ReduceScatterStartOp>(reduction))
    return success();
  return op->emitOpError("expected the result of a reduction");
}

LogicalResult AllReduceOp::verify() {
  return verifyReplicas(*this, getShard().getDefiningOp());
}

LogicalResult AllReduceStartOp::verify() {
  return verifyReplicas(*this, getReduced().getDefiningOp());
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

void shardc::fsdp::ScalarOp::getAsmResultNames(OpAsmSetValueNameFn setNameFn) {
  setNameFn(getResult(), stringifyScalar(getName()));
}

LogicalResult shardc::fsdp::ScalarOp::verify() {
  Type element = getType().getElementType();
  if (isInteger(getName()) == element.isInteger())
    return success();
  return emitOpError("expected ")
         << (isInteger(getName()) ? "i64" : "f64") << ", got " << element;
}

LogicalResult UpdateOp::verify() { return verifyBoundRegion(*this); }

/// `fsdp.update "sgd" (%x = %y : type, …) -> (types) {region}`
ParseResult UpdateOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string optimizer;
  if (parser.parseString(&optimizer) || parseBoundRegion(parser, result))
    return failure();
  result.addAttribute("optimizer",
                      parser.getBuilder().getStringAttr(optimizer));
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void UpdateOp::print(OpAsmPrinter &printer) {
  printer << " " << getOptimizerAttr();
  printBoundRegion(printer, *this, {"optimizer"});
}
