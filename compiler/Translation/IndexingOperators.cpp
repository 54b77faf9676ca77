//===- IndexingOperators.cpp - translation of look-ups and constants ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Embeddings, tensors that are known at compile time, and detach.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateEmbedding(NodeCall &call) {
  if (call.boolean("scale_grad_by_freq"))
    return call.unsupported("scale_grad_by_freq", "False");
  if (call.boolean("sparse"))
    return call.unsupported("sparse", "False");
  return call.translate<aten::EmbeddingOp>(call.tensor("weight"),
                                           call.tensor("indices"),
                                           call.integer("padding_idx"));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Attribute elementAttribute(Type element, const Scalar &scalar) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, toDouble(scalar));
  int64_t value = std::holds_alternative<int64_t>(scalar)
                      ? std::get<int64_t>(scalar)
                      : static_cast<int64_t>(toDouble(scalar));
  if (element.isInteger(1))
    value = value != 0;
  return IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), value,
                                         /*isSigned=*/true,
                                         /*implicitTrunc=*/true));
}

/// A constant of the result's type with one or all elements given.
static LogicalResult setConstant(NodeCall &call, ArrayRef<Attribute> elements) {
  RankedTensorType type = call.resultType();
  auto value = DenseElementsAttr::get(type, elements);
  call.setResult(aten::ConstantOp::create(call.builder(), call.loc(), value));
  return success();
}

template <bool isGiven, int otherwise>
static LogicalResult translateFull(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the constant's dtype is not supported";
  Scalar value = int64_t(otherwise);
  if constexpr (isGiven)
    value = call.scalar("fill_value");
  return setConstant(call, elementAttribute(type.getElementType(), value));
}

template <bool hasStart, bool hasStep>
static LogicalResult translateArange(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type || type.getRank() != 1)
    return call.error("E0136") << "the constant's dtype is not supported";
  constexpr int64_t limit = 1 << 24;
  if (type.getNumElements() > limit)
    return call.error("E0136") << "a constant of " << type.getNumElements()
                               << " elements, the limit is " << limit;
  Scalar start = int64_t(0), step = int64_t(1);
  if constexpr (hasStart)
    start = call.scalar("start");
  if constexpr (hasStep)
    step = call.scalar("step");
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    // ATen's arange computes start + i * step in double or int64.
    Scalar element = toDouble(start) + double(i) * toDouble(step);
    if (std::holds_alternative<int64_t>(start) &&
        std::holds_alternative<int64_t>(step))
      element = std::get<int64_t>(start) + i * std::get<int64_t>(step);
    elements.push_back(elementAttribute(type.getElementType(), element));
  }
  return setConstant(call, elements);
}

//===----------------------------------------------------------------------===//
// Gradient barriers
//===----------------------------------------------------------------------===//

/// Whether a gradient would flow from `value` to a trainable parameter.
static bool dependsOnParameter(Value value) {
  SmallVector<Value> open = {value};
  DenseSet<Value> seen;
  while (!open.empty()) {
    Value current = open.pop_back_val();
    Operation *op = current.getDefiningOp();
    if (!op || !seen.insert(current).second ||
        !isa<FloatType>(getElementTypeOrSelf(current)))
      continue;
    if (auto read = dyn_cast<fsdp::ReadOp>(op)) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<fsdp::ParameterOp>(
          op, read.getSymbolAttr());
      if (parameter && !parameter.getFrozen())
        return true;
    }
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

static LogicalResult translateDetach(NodeCall &call) {
  Value self = call.tensor("self");
  if (dependsOnParameter(self)) {
    InFlightDiagnostic diagnostic = call.error("E0131");
    diagnostic << "detaching a value that depends on trainable parameters is "
                  "not supported yet";
    return diagnostic;
  }
  call.setResult(self);
  return success();
}

static LogicalResult translateCopy(NodeCall &call) {
  call.setResult(call.tensor("self"));
  return success();
}

void translation::addIndexingOperators(OperatorTable &table) {
  table.add("embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
            "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
            translateEmbedding);
  const char *options = "*, ScalarType? dtype=None, Layout? layout=None, "
                        "Device? device=None, bool? pin_memory=None";
  auto addFactory = [&](StringRef parameters, TranslateFunction translate,
                        StringRef more = "") {
    table.add((parameters + ", " + options + more + ") -> Tensor").str(),
              translate);
  };
  addFactory("arange(Scalar end", translateArange<false, false>);
  addFactory("arange.start(Scalar start, Scalar end",
             translateArange<true, false>);
  addFactory("arange.start_step(Scalar start, Scalar end, Scalar step=1",
             translateArange<true, true>);
  addFactory("zeros(SymInt[] size", translateFull<false, 0>);
  addFactory("ones(SymInt[] size", translateFull<false, 1>);
  addFactory("full(SymInt[] size, Scalar fill_value", translateFull<true, 0>);
  StringRef format = ", MemoryFormat? memory_format=None";
  addFactory("zeros_like(Tensor self", translateFull<false, 0>, format);
  addFactory("ones_like(Tensor self", translateFull<false, 1>, format);
  addFactory("full_like(Tensor self, Scalar fill_value", translateFull<true, 0>,
             format);
  addFactory("new_zeros(Tensor self, SymInt[] size", translateFull<false, 0>);
  addFactory("new_ones(Tensor self, SymInt[] size", translateFull<false, 1>);
  addFactory("new_full(Tensor self, SymInt[] size, Scalar fill_value",
             translateFull<true, 0>);
  table.add("lift_fresh_copy(Tensor self) -> Tensor", translateCopy);
  table.add("detach(Tensor(a) self) -> Tensor(a)", translateDetach);
  table.add("detach_(Tensor(a!) self) -> Tensor(a!)", translateDetach);
}
