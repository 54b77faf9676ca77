//===- EinsumOperators.cpp - Translation of einsum ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An equation becomes permutations, views, matrix products and sums: the
// operands are joined one by one from the left, and a label is summed away as
// soon as neither the result nor a later operand has it.
//
//   bhid,bhjd->bhij   matmul over d of [bh, i, d] and [bh, d, j]
//   i,j->ij           mul of [i, 1] and [1, j]
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

#include <map>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// The names of a tensor's dimensions. The ellipsis stands for labels '0' to
/// '9', of which the last dimension is '9'.
using Labels = std::string;

struct LabelledTensor {
  Value value;
  Labels labels;

  int64_t sizeOf(char label) const {
    return Decomposition::typeOf(value).getDimSize(labels.find(label));
  }
  bool has(char label) const { return labels.find(label) != std::string::npos; }
};

struct Equation {
  SmallVector<Labels> operands;
  Labels result;
};

class Contraction {
public:
  explicit Contraction(NodeCall &call) : build(call) {}

  Value contract(SmallVector<LabelledTensor> tensors, const Labels &result);
  LabelledTensor takeDiagonals(LabelledTensor tensor);

  Decomposition build;

private:
  LabelledTensor sumUnless(LabelledTensor tensor, const Labels &kept);
  LabelledTensor dropUnit(LabelledTensor tensor, const LabelledTensor &other);
  Value arrange(const LabelledTensor &tensor, const Labels &order,
                ArrayRef<int64_t> shape);
  LabelledTensor join(LabelledTensor a, LabelledTensor b, const Labels &kept);
};

} // namespace

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

/// `text` with its ellipsis replaced by the labels of `dimensions` dimensions.
static std::string spellEllipsis(StringRef text, int64_t dimensions) {
  size_t place = text.find("...");
  if (place == StringRef::npos)
    return text.str();
  std::string labels;
  for (int64_t i = 10 - dimensions; i < 10; ++i)
    labels += static_cast<char>('0' + i);
  return (text.take_front(place) + labels + text.drop_front(place + 3)).str();
}

/// The labels that occur once, sorted: the result of an equation without `->`.
/// The ellipsis comes first.
static Labels implicitResult(ArrayRef<Labels> operands) {
  std::map<char, int> counts;
  for (const Labels &labels : operands)
    for (char label : labels)
      counts[label] += llvm::isDigit(label) ? 0 : 1;
  Labels result;
  for (auto [label, count] : counts)
    if (count < 2)
      result += label;
  return result;
}

/// Parses the equation for operands of these ranks; nothing where it does not
/// fit them.
static std::optional<Equation> parseEquation(StringRef text,
                                             ArrayRef<Value> tensors) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact),
                [](char c) { return !llvm::isSpace(c); });
  auto [left, right] = StringRef(compact).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != tensors.size())
    return std::nullopt;
  Equation equation;
  int64_t widest = 0;
  for (auto [part, tensor] : llvm::zip_equal(parts, tensors)) {
    bool hasEllipsis = part.contains("...");
    int64_t named = part.size() - (hasEllipsis ? 3 : 0);
    int64_t hidden = Decomposition::typeOf(tensor).getRank() - named;
    if (hidden < 0 || hidden > 10 || (hidden > 0 && !hasEllipsis))
      return std::nullopt;
    widest = std::max(widest, hidden);
    equation.operands.push_back(spellEllipsis(part, hidden));
  }
  bool isExplicit = compact.find("->") != std::string::npos;
  equation.result = isExplicit ? spellEllipsis(right, widest)
                               : implicitResult(equation.operands);
  return equation;
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// A label that occurs twice in one operand takes the diagonal.
LabelledTensor Contraction::takeDiagonals(LabelledTensor tensor) {
  ArrayRef<int64_t> shape = Decomposition::typeOf(tensor.value).getShape();
  SmallVector<int64_t> sizes, strides;
  Labels labels;
  int64_t stride = Decomposition::typeOf(tensor.value).getNumElements();
  for (auto [label, size] : llvm::zip_equal(tensor.labels, shape)) {
    stride /= std::max<int64_t>(size, 1);
    size_t known = labels.find(label);
    if (known != std::string::npos) {
      strides[known] += stride;
      continue;
    }
    labels += label;
    sizes.push_back(size);
    strides.push_back(stride);
  }
  if (labels == tensor.labels)
    return tensor;
  Value diagonal = build.build<aten::AsStridedOp>(
      tensor.value, ArrayRef<int64_t>(sizes), ArrayRef<int64_t>(strides), 0);
  return {diagonal, labels};
}

/// Sums over every label that is not `kept`.
LabelledTensor Contraction::sumUnless(LabelledTensor tensor,
                                      const Labels &kept) {
  SmallVector<int64_t> dims;
  Labels labels;
  for (auto [dim, label] : llvm::enumerate(tensor.labels)) {
    if (kept.find(label) == std::string::npos)
      dims.push_back(dim);
    else
      labels += label;
  }
  if (dims.empty())
    return tensor;
  return {build.sum(tensor.value, dims), labels};
}

/// `tensor` without the dimensions of size 1 that broadcast to the other's.
LabelledTensor Contraction::dropUnit(LabelledTensor tensor,
                                     const LabelledTensor &other) {
  Labels labels;
  SmallVector<int64_t> shape;
  for (char label : tensor.labels) {
    if (other.has(label) && tensor.sizeOf(label) == 1)
      continue;
    labels += label;
    shape.push_back(tensor.sizeOf(label));
  }
  return {build.view(tensor.value, shape), labels};
}

/// The dimensions in `order`, in the row-major `shape`.
Value Contraction::arrange(const LabelledTensor &tensor, const Labels &order,
                           ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (char label : order)
    dims.push_back(tensor.labels.find(label));
  return build.view(build.permute(tensor.value, dims), shape);
}

LabelledTensor Contraction::join(LabelledTensor a, LabelledTensor b,
                                 const Labels &kept) {
  a = dropUnit(sumUnless(a, kept + b.labels), b);
  b = a.value ? dropUnit(sumUnless(b, kept + a.labels), a) : b;
  if (!a.value || !b.value)
    return {};
  Labels batch, left, right, inner;
  SmallVector<int64_t> shape, rightShape;
  int64_t sizes[4] = {1, 1, 1, 1}; // batch, left, inner, right
  auto place = [&](const LabelledTensor &tensor, char label, Labels &labels,
                   int64_t &size) {
    labels += label;
    size *= tensor.sizeOf(label);
  };
  for (char label : a.labels) {
    if (!b.has(label))
      place(a, label, left, sizes[1]);
    else if (kept.find(label) != std::string::npos)
      place(a, label, batch, sizes[0]);
    else
      place(a, label, inner, sizes[2]);
  }
  for (char label : b.labels)
    if (!a.has(label))
      place(b, label, right, sizes[3]);
  for (char label : batch + left)
    shape.push_back(a.sizeOf(label));
  for (char label : right)
    shape.push_back(b.sizeOf(label));
  Value first =
      arrange(a, batch + left + inner, {sizes[0], sizes[1], sizes[2]});
  Value second =
      arrange(b, batch + inner + right, {sizes[0], sizes[2], sizes[3]});
  Value product =
      inner.empty() ? build.mul(first, second) : build.matmul(first, second);
  return {build.view(product, shape), batch + left + right};
}

Value Contraction::contract(SmallVector<LabelledTensor> tensors,
                            const Labels &result) {
  LabelledTensor joined = tensors.front();
  for (size_t i = 1; i < tensors.size() && joined.value; ++i) {
    Labels kept = result;
    for (const LabelledTensor &later : ArrayRef(tensors).drop_front(i + 1))
      kept += later.labels;
    joined = join(joined, tensors[i], kept);
  }
  if (!joined.value)
    return nullptr;
  joined = sumUnless(joined, result);
  SmallVector<int64_t> dims;
  for (char label : result)
    dims.push_back(joined.labels.find(label));
  return build.permute(joined.value, dims);
}

static LogicalResult translateEinsum(NodeCall &call) {
  SmallVector<Value> values = call.tensors("tensors");
  std::optional<Equation> equation =
      parseEquation(call.text("equation"), values);
  if (!equation || values.empty())
    return call.unsupported("equation", "one term for each operand, with a "
                                        "label for each dimension");
  Contraction contraction(call);
  SmallVector<LabelledTensor> tensors;
  for (auto [value, labels] : llvm::zip_equal(values, equation->operands)) {
    tensors.push_back(contraction.takeDiagonals({value, labels}));
    if (!tensors.back().value)
      return failure();
  }
  for (char label : equation->result)
    if (llvm::none_of(tensors, [&](const LabelledTensor &tensor) {
          return tensor.has(label);
        }))
      return call.unsupported("equation", "a result of the operands' labels");
  return contraction.build.finish(
      contraction.contract(tensors, equation->result));
}

void translation::addEinsumOperators(OperatorTable &table) {
  table.add("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> "
            "Tensor",
            translateEinsum);
}
