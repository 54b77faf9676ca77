//===- CreationOperators.cpp - Translation of new tensors -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors that a program is born with become constants: the sizes are known.
// `empty` is zeros, so that a program computes the same numbers every time.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The result's type. Elements that differ are kept in the program, so their
/// number has a limit.
static FailureOr<RankedTensorType> constantType(NodeCall &call,
                                                bool isSplat = false) {
  constexpr int64_t limit = 1 << 24;
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the constant's dtype is not supported";
  if (!isSplat && type.getNumElements() > limit)
    return call.error("E0136") << "a constant of " << type.getNumElements()
                               << " elements, the limit is " << limit;
  return type;
}

static LogicalResult setConstant(NodeCall &call, RankedTensorType type,
                                 ArrayRef<Attribute> elements) {
  auto value = DenseElementsAttr::get(type, elements);
  call.setResult(aten::ConstantOp::create(call.builder(), call.loc(), value));
  return success();
}

//===----------------------------------------------------------------------===//
// Equal elements
//===----------------------------------------------------------------------===//

static LogicalResult setSplat(NodeCall &call, Scalar scalar) {
  FailureOr<RankedTensorType> type = constantType(call, /*isSplat=*/true);
  if (failed(type))
    return failure();
  call.setResult(splat(call, *type, scalar));
  return success();
}

template <int value>
static LogicalResult translateNumber(NodeCall &call) {
  return setSplat(call, int64_t(value));
}

static LogicalResult translateFull(NodeCall &call) {
  return setSplat(call, call.scalar("fill_value"));
}

static LogicalResult translateScalarTensor(NodeCall &call) {
  return setSplat(call, call.scalar("s"));
}

/// A number in place of each element of `self`.
static LogicalResult setFilled(NodeCall &call, Scalar scalar) {
  call.setResult(connect(call.builder(),
                         splat(call, call.typeOf("self"), scalar),
                         call.tensor("self")));
  return success();
}

/// fill with a number, or with a 0-d tensor.
static LogicalResult translateFill(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  if (call.isNumber("value"))
    return setFilled(call, call.scalar("value"));
  Value value = call.convert(call.tensor("value"), type.getElementType());
  return call.translate<aten::ExpandOp>(value, type.getShape());
}

static LogicalResult translateZero(NodeCall &call) {
  return setFilled(call, int64_t(0));
}

/// A number on the diagonal; with `wrap` a matrix that is higher than wide has
/// a further one below each, after an empty row.
static LogicalResult translateFillDiagonal(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  bool wraps = call.boolean("wrap") && type.getRank() == 2;
  SmallVector<bool> onDiagonal(type.getNumElements(), false);
  int64_t step = 0, last = 0, stride = 1;
  for (int64_t size : llvm::reverse(type.getShape())) {
    step += stride;
    last = last == 0 ? size : std::min(last, size);
    stride *= size;
  }
  for (int64_t i = 0, place = 0;
       place < type.getNumElements() && (wraps || i < last); ++i, place += step)
    onDiagonal[place] = true;
  auto maskType = type.clone(call.builder().getI1Type());
  Value mask = aten::ConstantOp::create(
      call.builder(), call.loc(), DenseElementsAttr::get(maskType, onDiagonal));
  Value number =
      splat(call, type.clone(ArrayRef<int64_t>()), call.scalar("fill_value"));
  return setComputed(
      call, call.create<aten::WhereOp>(mask, number, call.tensor("self")));
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

template <bool hasStart, bool hasStep>
static LogicalResult translateArange(NodeCall &call) {
  FailureOr<RankedTensorType> type = constantType(call);
  if (failed(type))
    return failure();
  Scalar start = int64_t(0), step = int64_t(1);
  if constexpr (hasStart)
    start = call.scalar("start");
  if constexpr (hasStep)
    step = call.scalar("step");
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type->getNumElements(); ++i) {
    // ATen's arange computes start + i * step in double or int64.
    Scalar element = toDouble(start) + double(i) * toDouble(step);
    if (std::holds_alternative<int64_t>(start) &&
        std::holds_alternative<int64_t>(step))
      element = std::get<int64_t>(start) + i * std::get<int64_t>(step);
    elements.push_back(elementAttribute(type->getElementType(), element));
  }
  return setConstant(call, *type, elements);
}

/// As ATen's linspace: the second half is counted from the end.
static LogicalResult translateLinspace(NodeCall &call) {
  FailureOr<RankedTensorType> type = constantType(call);
  if (failed(type))
    return failure();
  double start = call.number("start"), end = call.number("end");
  int64_t steps = type->getNumElements();
  double step = steps > 1 ? (end - start) / double(steps - 1) : 0;
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < steps; ++i)
    elements.push_back(
        elementAttribute(type->getElementType(),
                         Scalar(i < steps / 2 || steps == 1
                                    ? start + step * double(i)
                                    : end - step * double(steps - i - 1))));
  return setConstant(call, *type, elements);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static LogicalResult translateEye(NodeCall &call) {
  FailureOr<RankedTensorType> type = constantType(call);
  if (failed(type))
    return failure();
  SmallVector<Attribute> elements;
  for (int64_t row = 0; row < type->getDimSize(0); ++row)
    for (int64_t column = 0; column < type->getDimSize(1); ++column)
      elements.push_back(
          elementAttribute(type->getElementType(), int64_t(row == column)));
  return setConstant(call, *type, elements);
}

/// The rows and then the columns of a triangle's elements.
template <bool isLower>
static LogicalResult translateTriangleIndices(NodeCall &call) {
  FailureOr<RankedTensorType> type = constantType(call);
  if (failed(type))
    return failure();
  int64_t offset = call.integer("offset");
  SmallVector<Attribute> rows, columns;
  for (int64_t row = 0; row < call.integer("row"); ++row)
    for (int64_t column = 0; column < call.integer("col"); ++column) {
      if (isLower ? column > row + offset : column < row + offset)
        continue;
      rows.push_back(elementAttribute(type->getElementType(), row));
      columns.push_back(elementAttribute(type->getElementType(), column));
    }
  rows.append(columns);
  return setConstant(call, *type, rows);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr StringRef options =
    ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None";

static void addFactory(OperatorTable &table, StringRef parameters,
                       TranslateFunction translate, StringRef more = "") {
  table.add((parameters + options + more + ") -> Tensor").str(), translate);
}

static void addFilled(OperatorTable &table) {
  StringRef format = ", MemoryFormat? memory_format=None";
  addFactory(table, "zeros(SymInt[] size", translateNumber<0>);
  addFactory(table, "ones(SymInt[] size", translateNumber<1>);
  addFactory(table, "full(SymInt[] size, Scalar fill_value", translateFull);
  addFactory(table, "empty.memory_format(SymInt[] size", translateNumber<0>,
             format);
  addFactory(table, "empty_strided(SymInt[] size, SymInt[] stride",
             translateNumber<0>);
  addFactory(table, "scalar_tensor(Scalar s", translateScalarTensor);
  const std::pair<StringRef, TranslateFunction> fillings[] = {
      {"zeros", translateNumber<0>},
      {"ones", translateNumber<1>},
      {"empty", translateNumber<0>}};
  for (const auto &[name, translate] : fillings) {
    addFactory(table, (name + "_like(Tensor self").str(), translate, format);
    addFactory(table, ("new_" + name + "(Tensor self, SymInt[] size").str(),
               translate);
  }
  addFactory(table, "full_like(Tensor self, Scalar fill_value", translateFull,
             format);
  addFactory(table, "new_full(Tensor self, SymInt[] size, Scalar fill_value",
             translateFull);
  addFactory(table,
             "new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride",
             translateNumber<0>);
  for (StringRef overload : {"Scalar", "Tensor"})
    table.addWithInPlace(
        ("fill." + overload + "(Tensor self, TensorOrScalar value) -> Tensor")
            .str(),
        translateFill);
  table.addWithInPlace("zero(Tensor self) -> Tensor", translateZero);
  table.add("fill_diagonal_(Tensor(a!) self, Scalar fill_value, "
            "bool wrap=False) -> Tensor(a!)",
            translateFillDiagonal);
}

void translation::addCreationOperators(OperatorTable &table) {
  addFilled(table);
  addFactory(table, "arange(Scalar end", translateArange<false, false>);
  addFactory(table, "arange.start(Scalar start, Scalar end",
             translateArange<true, false>);
  addFactory(table, "arange.start_step(Scalar start, Scalar end, Scalar step=1",
             translateArange<true, true>);
  addFactory(table, "linspace(Scalar start, Scalar end, int steps",
             translateLinspace);
  addFactory(table, "eye(SymInt n", translateEye);
  addFactory(table, "eye.m(SymInt n, SymInt m", translateEye);
  StringRef triangle = "_indices(int row, int col, int offset=0, *, "
                       "ScalarType? dtype=None, Layout? layout=None, "
                       "Device? device=None, bool? pin_memory=None) -> Tensor";
  table.add(("tril" + triangle).str(), translateTriangleIndices<true>);
  table.add(("triu" + triangle).str(), translateTriangleIndices<false>);
}
