//===- RowRules.cpp - operators that treat rows alike ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One line an operator of native_functions.yaml. A rule says which dimensions
// an operator mixes; the rows must not be among them, and must come out in a
// dimension that the sizes of the export show.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowRules.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/Selections.h"

#include <algorithm>
#include <set>

namespace shardc::pt2 {

namespace {

using Names = std::set<std::string_view>;

/// Element by element, operands broadcast.
const Names elementwise = {"__and__",
                           "__or__",
                           "__xor__",
                           "abs",
                           "absolute",
                           "acos",
                           "acosh",
                           "add",
                           "addcdiv",
                           "addcmul",
                           "alias",
                           "arccos",
                           "arcsin",
                           "arctan",
                           "arctan2",
                           "asin",
                           "asinh",
                           "atan",
                           "atan2",
                           "atanh",
                           "bitwise_and",
                           "bitwise_not",
                           "bitwise_or",
                           "bitwise_xor",
                           "broadcast_tensors",
                           "ceil",
                           "celu",
                           "clamp",
                           "clamp_max",
                           "clamp_min",
                           "clip",
                           "clone",
                           "contiguous",
                           "copy",
                           "copysign",
                           "cos",
                           "cosh",
                           "deg2rad",
                           "detach",
                           "detach_copy",
                           "digamma",
                           "div",
                           "divide",
                           "dropout",
                           "elu",
                           "eq",
                           "erf",
                           "erfc",
                           "erfinv",
                           "exp",
                           "exp2",
                           "expm1",
                           "feature_dropout",
                           "floor",
                           "floor_divide",
                           "fmax",
                           "fmin",
                           "fmod",
                           "frac",
                           "ge",
                           "gelu",
                           "greater",
                           "greater_equal",
                           "gt",
                           "hardshrink",
                           "hardsigmoid",
                           "hardswish",
                           "hardtanh",
                           "heaviside",
                           "hypot",
                           "isfinite",
                           "isinf",
                           "isnan",
                           "le",
                           "leaky_relu",
                           "lerp",
                           "less",
                           "less_equal",
                           "lgamma",
                           "lift_fresh_copy",
                           "log",
                           "log10",
                           "log1p",
                           "log2",
                           "log_sigmoid",
                           "logaddexp",
                           "logaddexp2",
                           "logical_and",
                           "logical_not",
                           "logical_or",
                           "logical_xor",
                           "logit",
                           "lt",
                           "masked_fill",
                           "maximum",
                           "minimum",
                           "mish",
                           "mul",
                           "multiply",
                           "nan_to_num",
                           "ne",
                           "neg",
                           "negative",
                           "not_equal",
                           "positive",
                           "pow",
                           "rad2deg",
                           "reciprocal",
                           "relu",
                           "relu6",
                           "remainder",
                           "round",
                           "rsqrt",
                           "rsub",
                           "selu",
                           "sgn",
                           "sigmoid",
                           "sign",
                           "silu",
                           "sin",
                           "sinc",
                           "sinh",
                           "softplus",
                           "softshrink",
                           "special_entr",
                           "special_erf",
                           "special_expit",
                           "special_log1p",
                           "special_xlog1py",
                           "special_xlogy",
                           "sqrt",
                           "square",
                           "sub",
                           "subtract",
                           "tan",
                           "tanh",
                           "threshold",
                           "to",
                           "_to_copy",
                           "true_divide",
                           "trunc",
                           "type_as",
                           "where",
                           "xlogy"};

/// The dimensions that an operator mixes: an argument, and its default. Where
/// there is none, as in `amax(x)`, it mixes all.
struct MixedDims {
  std::string_view argument;
  std::optional<int64_t> fallback;
};
const std::map<std::string_view, MixedDims> mixing = {
    {"_log_softmax", {"dim", {}}},  {"_softmax", {"dim", {}}},
    {"all", {"dim", {}}},           {"amax", {"dim", {}}},
    {"amin", {"dim", {}}},          {"any", {"dim", {}}},
    {"argmax", {"dim", {}}},        {"argmin", {"dim", {}}},
    {"argsort", {"dim", -1}},       {"chunk", {"dim", 0}},
    {"count_nonzero", {"dim", {}}}, {"cosine_similarity", {"dim", 1}},
    {"cummax", {"dim", {}}},        {"cummin", {"dim", {}}},
    {"cumprod", {"dim", {}}},       {"cumsum", {"dim", {}}},
    {"flip", {"dims", {}}},         {"glu", {"dim", -1}},
    {"index_select", {"dim", {}}},  {"linalg_vector_norm", {"dim", {}}},
    {"log_softmax", {"dim", {}}},   {"logcumsumexp", {"dim", {}}},
    {"logsumexp", {"dim", {}}},     {"max", {"dim", {}}},
    {"mean", {"dim", {}}},          {"median", {"dim", {}}},
    {"min", {"dim", {}}},           {"narrow", {"dim", {}}},
    {"norm", {"dim", {}}},          {"prod", {"dim", {}}},
    {"select", {"dim", {}}},        {"slice", {"dim", 0}},
    {"softmax", {"dim", {}}},       {"sort", {"dim", -1}},
    {"split", {"dim", 0}},          {"split_with_sizes", {"dim", 0}},
    {"std", {"dim", {}}},           {"std_mean", {"dim", {}}},
    {"sum", {"dim", {}}},           {"topk", {"dim", -1}},
    {"unbind", {"dim", 0}},         {"unflatten", {"dim", {}}},
    {"var", {"dim", {}}},           {"var_mean", {"dim", {}}},
};

/// Along one dimension, every tensor with the rows in another one.
const Names joining = {"cat", "concat", "concatenate", "gather", "stack"};

/// The last dimensions alone; the dimension before them stays where it is.
const std::map<std::string_view, std::string_view> lastDims = {
    {"layer_norm", "normalized_shape"},
    {"linear", ""},
    {"rms_norm", "normalized_shape"}};

/// Sample by sample of the first dimension.
const Names samples = {"adaptive_avg_pool1d",
                       "adaptive_avg_pool2d",
                       "adaptive_max_pool2d",
                       "avg_pool1d",
                       "avg_pool2d",
                       "avg_pool3d",
                       "constant_pad_nd",
                       "conv1d",
                       "conv2d",
                       "conv3d",
                       "conv_transpose1d",
                       "conv_transpose2d",
                       "group_norm",
                       "max_pool1d",
                       "max_pool2d",
                       "max_pool3d",
                       "pixel_shuffle",
                       "pixel_unshuffle",
                       "pad",
                       "prelu",
                       "scaled_dot_product_attention",
                       "upsample_bilinear2d",
                       "upsample_nearest2d"};

/// The same elements in another shape.
const Names reshaping = {
    "_unsafe_view", "expand",         "expand_as", "flatten",
    "movedim",      "permute",        "reshape",   "reshape_as",
    "squeeze",      "swapaxes",       "t",         "transpose",
    "unsqueeze",    "unsqueeze_copy", "view",      "view_as"};
/// Of these, the ones that only know the order of elements.
const Names inOrder = {"_unsafe_view", "flatten", "reshape",
                       "reshape_as",   "view",    "view_as"};

/// The same number everywhere.
const Names creation = {"empty",     "empty_like", "full",     "full_like",
                        "new_empty", "new_full",   "new_ones", "new_zeros",
                        "ones",      "ones_like",  "zeros",    "zeros_like"};

const Names elementLosses = {"binary_cross_entropy",
                             "binary_cross_entropy_with_logits",
                             "huber_loss",
                             "kl_div",
                             "l1_loss",
                             "mse_loss",
                             "poisson_nll_loss",
                             "smooth_l1_loss",
                             "soft_margin_loss"};
const Names classLosses = {"cross_entropy_loss", "nll_loss", "nll_loss_nd"};
const Names products = {"bmm", "matmul", "mm"};
const Names accumulations = {"index_add", "index_put", "scatter_add"};

const TensorMeta &metaOf(const Graph &graph, std::string_view name) {
  static const TensorMeta nothing{};
  const TensorMeta *meta = graph.findTensor(name);
  return meta ? *meta : nothing;
}

/// What a rule needs to know of a node.
class NodeRows {
public:
  NodeRows(const Graph &graph, const Node &node)
      : graph(graph), node(node), name(baseName(node)) {
    for (const std::string &input : inputTensors(node))
      if (std::optional<RowDim> rows = rowDim(metaOf(graph, input)))
        inputs.push_back({&metaOf(graph, input), *rows});
      else
        others.push_back(&metaOf(graph, input));
    for (const std::string &output : outputTensors(node))
      if (const TensorMeta *meta = graph.findTensor(output)) {
        if (std::optional<RowDim> rows = rowDim(*meta))
          outputs.push_back({meta, *rows});
        else
          ++outputsWithout;
      }
  }

  RowUse use() const {
    if (isAlone())
      return RowUse::Alone;
    if (!outputs.empty() || !sameRows())
      return RowUse::Unknown;
    if (name == "sum")
      return RowUse::Sum;
    if (name == "mean")
      return RowUse::Mean;
    if (elementLosses.contains(name) && isElementwise(true))
      return RowUse::ElementLoss;
    if (classLosses.contains(name) && rowsAreIn(0) && inputs.size() == 2)
      return RowUse::ClassLoss;
    if (accumulations.contains(name))
      return RowUse::Accumulation;
    return RowUse::Unknown;
  }

private:
  struct Rows {
    const TensorMeta *meta;
    RowDim at;
    size_t rank() const { return meta->sizes.size(); }
  };
  const Graph &graph;
  const Node &node;
  std::string_view name;
  std::vector<Rows> inputs, outputs;
  std::vector<const TensorMeta *> others;
  size_t outputsWithout = 0;

  /// Whether all rows are those of one selection; what keeps the order of
  /// elements may make several rows of one.
  bool sameRows() const {
    const Rows &first = inputs.empty() ? outputs.front() : inputs.front();
    auto isSame = [&](const Rows &rows) {
      return rows.at.symbol == first.at.symbol ||
             (inOrder.contains(name) &&
              RowCount::fromText(rows.at.symbol).symbol ==
                  RowCount::fromText(first.at.symbol).symbol);
    };
    return std::ranges::all_of(inputs, isSame) &&
           std::ranges::all_of(outputs, isSame);
  }

  bool rowsAreIn(size_t dim) const {
    auto isThere = [&](const Rows &rows) { return rows.at.dim == dim; };
    return std::ranges::all_of(inputs, isThere) &&
           std::ranges::all_of(outputs, isThere);
  }

  bool isAlone() const {
    if (outputs.empty() || outputsWithout || !sameRows())
      return false;
    if (creation.contains(name))
      return true;
    if (inputs.empty())
      return name == "expand";
    return elementwise.contains(name)     ? isElementwise(false)
           : joining.contains(name)       ? others.empty() && mixesOthers()
           : mixing.contains(name)        ? mixesOthers()
           : lastDims.contains(name)      ? mixesLast()
           : samples.contains(name)       ? rowsAreIn(0) && firstHasRows()
           : reshaping.contains(name)     ? keepsRows()
           : products.contains(name)      ? multipliesAlone()
           : classLosses.contains(name)   ? rowsAreIn(0) && inputs.size() == 2
           : elementLosses.contains(name) ? isElementwise(false)
           : name == "index"              ? indexesAlone()
           : name == "embedding"          ? !hasRows("weight")
                                          : name == "one_hot";
  }

  bool hasRows(std::string_view argument) const {
    const TensorRef *tensor = tensorInput(node, argument);
    return tensor && rowDim(metaOf(graph, tensor->name));
  }

  bool firstHasRows() const {
    std::vector<std::string> names = inputTensors(node);
    return !names.empty() && rowDim(metaOf(graph, names.front()));
  }

  /// Whether operands broadcast with the rows in one dimension from the right.
  /// The rows of a `loss` are in none of its results.
  bool isElementwise(bool isLoss) const {
    auto fromRight = [](const Rows &rows) { return rows.rank() - rows.at.dim; };
    size_t place = fromRight(isLoss ? inputs.front() : outputs.front());
    auto isThere = [&](const Rows &rows) { return fromRight(rows) == place; };
    auto isRepeated = [&](const TensorMeta *meta) {
      size_t rank = meta->sizes.size();
      return rank < place || meta->sizes[rank - place].value == 1;
    };
    return std::ranges::all_of(inputs, isThere) &&
           std::ranges::all_of(outputs, isThere) &&
           std::ranges::all_of(others, isRepeated);
  }

  /// The dimensions of the argument that a `rule` names, from the front of
  /// `rank`; empty where the operator mixes all.
  std::optional<std::set<int64_t>> mixedDims(const MixedDims &rule,
                                             size_t rank) const {
    std::set<int64_t> dims;
    const Argument *given = node.findInput(rule.argument);
    if (const auto *one = given ? given->getIf<int64_t>() : nullptr)
      dims.insert(*one);
    else if (const auto *list = given ? given->getIf<IntList>() : nullptr)
      dims.insert(list->begin(), list->end());
    else if (rule.fallback)
      dims.insert(*rule.fallback);
    if (dims.empty())
      return std::nullopt;
    std::set<int64_t> fromFront;
    for (int64_t dim : dims)
      fromFront.insert(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
    return fromFront;
  }

  bool mixesOthers() const {
    auto found = mixing.find(name);
    MixedDims rule =
        found == mixing.end() ? MixedDims{"dim", 0} : found->second;
    if (name == "index_select" && hasRows("index"))
      return !hasRows("self");
    if (joining.contains(name) && !std::ranges::all_of(inputs, [&](auto &rows) {
          return rows.at.dim == inputs.front().at.dim;
        }))
      return false;
    // Stacking adds a dimension and mixes none.
    if (name == "stack")
      return true;
    // `max(x, y)` is element by element.
    if ((name == "max" || name == "min") && tensorInput(node, "other"))
      return isElementwise(false);
    return std::ranges::all_of(inputs, [&](const Rows &rows) {
      std::optional<std::set<int64_t>> dims = mixedDims(rule, rows.rank());
      return dims && !dims->contains(static_cast<int64_t>(rows.at.dim));
    });
  }

  bool mixesLast() const {
    std::string_view shape = lastDims.find(name)->second;
    size_t count = 1;
    if (!shape.empty()) {
      const Argument *given = node.findInput(shape);
      const auto *list = given ? given->getIf<IntList>() : nullptr;
      count = list ? list->size() : SIZE_MAX;
    }
    return inputs.size() == 1 && firstHasRows() &&
           inputs.front().at.dim == outputs.front().at.dim &&
           inputs.front().rank() - inputs.front().at.dim > count;
  }

  /// Whether a change of shape leaves the rows one dimension.
  bool keepsRows() const {
    const Rows &from = inputs.front(), &to = outputs.front();
    if (inputs.size() > 1 && name != "view_as" && name != "reshape_as" &&
        name != "expand_as")
      return false;
    if (!inOrder.contains(name))
      return true;
    auto before = [](const Rows &rows) {
      int64_t elements = 1;
      for (size_t i = 0; i < rows.at.dim; ++i)
        elements *= rows.meta->sizes[i].value.value_or(0);
      return elements;
    };
    return firstHasRows() && before(from) == before(to);
  }

  /// Whether no product sums over rows.
  bool multipliesAlone() const {
    std::vector<std::string> names = inputTensors(node);
    if (names.size() != 2)
      return false;
    const TensorMeta &left = metaOf(graph, names[0]);
    const TensorMeta &right = metaOf(graph, names[1]);
    std::optional<RowDim> a = rowDim(left), b = rowDim(right);
    size_t rightRank = right.sizes.size();
    return !(a && a->dim + 1 == left.sizes.size()) &&
           !(b && b->dim + 2 == std::max<size_t>(rightRank, 2)) &&
           // Batches of products, the same of both.
           (!a || !b ||
            (left.sizes.size() - a->dim == rightRank - b->dim &&
             rightRank - b->dim > 2));
  }

  /// `x[..., indices]` of rows, or `x[rows]` of something else.
  bool indexesAlone() const {
    OptionalTensorList indices = indexTensors(node);
    size_t place = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!indices[i])
        continue;
      const TensorMeta &meta = metaOf(graph, indices[i]->name);
      std::optional<RowDim> rows = rowDim(meta);
      if (meta.dtype == ScalarType::Bool || meta.dtype == ScalarType::UInt8)
        return false;
      if (hasRows("self")) {
        // Rows of both would need the places of rows among themselves.
        if (rows || i == inputs.front().at.dim)
          return false;
        continue;
      }
      // Index tensors broadcast with the rows in one dimension.
      size_t rank = meta.sizes.size();
      if (rows && place && place != rank - rows->dim)
        return false;
      if (rows)
        place = rank - rows->dim;
    }
    for (const std::optional<TensorRef> &index : indices) {
      if (!index || hasRows("self"))
        continue;
      const TensorMeta &meta = metaOf(graph, index->name);
      size_t rank = meta.sizes.size();
      if (!rowDim(meta) && rank >= place && meta.sizes[rank - place].value != 1)
        return false;
    }
    return true;
  }
};

} // namespace

std::optional<RowDim> rowDim(const TensorMeta &meta) {
  std::optional<RowDim> rows;
  for (size_t i = 0; i < meta.counts.size(); ++i) {
    if (meta.counts[i].empty())
      continue;
    if (rows)
      fail(errors::dataDependentSize,
           "two dimensions of a tensor have sizes that depend on data, " +
               rows->symbol + " and " + meta.counts[i],
           "compute with all elements, and choose by a mask only before sums "
           "and means");
    rows = RowDim{i, meta.counts[i]};
  }
  return rows;
}

std::vector<std::string> tensorNames(const Argument &argument) {
  std::vector<std::string> names;
  if (const auto *tensor = argument.getIf<TensorRef>())
    names.push_back(tensor->name);
  else if (const auto *list = argument.getIf<TensorList>())
    for (const TensorRef &element : *list)
      names.push_back(element.name);
  else if (const auto *some = argument.getIf<OptionalTensorList>())
    for (const std::optional<TensorRef> &element : *some)
      if (element)
        names.push_back(element->name);
  return names;
}

std::vector<std::string> inputTensors(const Node &node) {
  std::vector<std::string> names;
  for (const NamedArgument &input : node.inputs)
    for (std::string &name : tensorNames(input.argument))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> outputTensors(const Node &node) {
  std::vector<std::string> names;
  for (const Argument &output : node.outputs)
    for (std::string &name : tensorNames(output))
      names.push_back(std::move(name));
  return names;
}

RowUse rowUse(const Graph &graph, const Node &node) {
  return NodeRows(graph, node).use();
}

bool takesNumberAsTensor(const Node &node, std::string_view argument) {
  static const Names operators = {"add", "div", "mul", "sub"};
  return node.target.ends_with(".Tensor") &&
         operators.contains(baseName(node)) && argument == "other";
}

bool takesSizes(const Node &node) {
  std::string_view name = baseName(node);
  return creation.contains(name) || reshaping.contains(name);
}

} // namespace shardc::pt2
