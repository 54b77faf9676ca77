//===- RowOperators.cpp - Operators by what they do with rows -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tables, and what follows from an operator's name alone.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowOperators.h"

#include "compiler/Pt2/Selections.h"

#include <limits>

namespace shardc::pt2 {

namespace operators {

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
                           "fill",
                           "zero",
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

const Names joining = {"cat", "concat", "concatenate", "gather", "stack"};

const std::map<std::string_view, std::string_view> lastDims = {
    {"layer_norm", "normalized_shape"},
    {"linear", ""},
    {"rms_norm", "normalized_shape"}};

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

const Names reshaping = {
    "_unsafe_view", "expand",    "expand_as",      "flatten",  "movedim",
    "permute",      "reshape",   "reshape_as",     "moveaxis", "mT",
    "numpy_T",      "swapdims",  "squeeze",        "swapaxes", "t",
    "transpose",    "unsqueeze", "unsqueeze_copy", "view",     "view_as"};
const Names inOrder = {"_unsafe_view", "flatten", "reshape",
                       "reshape_as",   "view",    "view_as"};

const Names creation = {"empty",     "empty_like", "full",     "full_like",
                        "new_empty", "new_full",   "new_ones", "new_zeros",
                        "ones",      "ones_like",  "zeros",    "zeros_like"};

const Names elementLosses = {"binary_cross_entropy",
                             "binary_cross_entropy_with_logits",
                             "hinge_embedding_loss",
                             "huber_loss",
                             "kl_div",
                             "l1_loss",
                             "margin_ranking_loss",
                             "mse_loss",
                             "poisson_nll_loss",
                             "smooth_l1_loss",
                             "soft_margin_loss"};
const Names classLosses = {"cross_entropy_loss", "nll_loss", "nll_loss_nd"};
const Names products = {"bmm", "matmul", "mm", "mv"};
const std::map<std::string_view, Neutral> reductions = {
    {"all", Neutral::One},
    {"amax", Neutral::Lowest},
    {"amin", Neutral::Highest},
    {"any", Neutral::Zero},
    {"count_nonzero", Neutral::Zero},
    {"linalg_vector_norm", Neutral::Zero},
    {"logsumexp", Neutral::Lowest},
    {"max", Neutral::Lowest},
    {"min", Neutral::Highest},
    {"nansum", Neutral::Zero},
    {"norm", Neutral::Zero},
    {"prod", Neutral::One}};
const std::map<std::string_view, Neutral> along = {
    {"softmax", Neutral::Lowest}, {"log_softmax", Neutral::Lowest}};
const Names rowLosses = {"cosine_embedding_loss", "triplet_margin_loss"};
const Names accumulations = {"index_add", "scatter_add"};

} // namespace operators

using namespace operators;

bool isFunction(const Node &node) {
  std::string_view name = baseName(node);
  return !changesArgument(node) && name != "dropout" &&
         name != "feature_dropout" &&
         (elementwise.contains(name) || mixing.contains(name) ||
          joining.contains(name) || reshaping.contains(name));
}

bool keepsOrder(const Node &node) {
  std::string_view name = baseName(node);
  return inOrder.contains(name) || name == "squeeze" || name == "unsqueeze" ||
         name == "contiguous" || name == "clone" || name == "detach" ||
         name == "alias";
}

bool changesArgument(const Node &node) {
  std::string_view target = node.target;
  target = target.substr(0, target.rfind('.'));
  // `__and__` is Python's operator.
  return target.ends_with('_') && !target.ends_with("__");
}

ArgumentValue neutralNumber(const Node &node, ScalarType dtype) {
  std::string_view name = baseName(node);
  auto found = reductions.find(name);
  Neutral neutral =
      found == reductions.end() ? along.find(name)->second : found->second;
  if (neutral == Neutral::Zero || neutral == Neutral::One)
    return static_cast<int64_t>(neutral == Neutral::One);
  double infinity = std::numeric_limits<double>::infinity();
  if (dtype == ScalarType::Bool)
    return static_cast<int64_t>(neutral == Neutral::Highest);
  if (dtype == ScalarType::Int64 || dtype == ScalarType::Int32) {
    bool isWide = dtype == ScalarType::Int64;
    int64_t highest = isWide ? std::numeric_limits<int64_t>::max()
                             : std::numeric_limits<int32_t>::max();
    return neutral == Neutral::Highest ? highest : -highest - 1;
  }
  return neutral == Neutral::Highest ? infinity : -infinity;
}

bool takesNumberAsTensor(const Node &node, std::string_view argument) {
  static const Names operators = {"add", "div", "mul", "sub"};
  bool isReversed = node.target == "torch.ops.aten.rsub.Scalar";
  return (isReversed || (node.target.ends_with(".Tensor") &&
                         operators.contains(baseName(node)))) &&
         argument == "other";
}

bool takesSizes(const Node &node) {
  std::string_view name = baseName(node);
  return creation.contains(name) || reshaping.contains(name);
}

} // namespace shardc::pt2
