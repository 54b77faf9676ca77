//===- Attention.cpp - Scaled dot-product attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Heads with an optional mask and dropout, forward and backward.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCallCheck.h"
#include "runtime/format/Operations.h"

#include <optional>

namespace shardc::format {

using Shape = std::vector<int64_t>;

/// The tensors of attention in both directions; gradients are as what they are
/// of.
struct AttentionTensors {
  const TensorReference &query, &key, &value, &output, &logSumExp;
};

/// A mask broadcasts to the scores [B, H, T, S], to which it is added, so that
/// it has their dtype.
static bool checkAttentionMask(LibraryCallCheck &check,
                               const AttentionTensors &of,
                               const TensorReference &mask) {
  if (!check.rank(mask, 4) || !check.dtype(mask, {of.logSumExp.dtype}))
    return false;
  const Shape &q = of.query.shape;
  const Shape scores = {q[0], q[1], q[2], of.key.shape[2]};
  for (size_t i = 0; i < scores.size(); ++i)
    if (!check.require(mask.shape[i] == 1 || mask.shape[i] == scores[i],
                       "the mask does not broadcast to the scores"))
      return false;
  return true;
}

static bool checkAttentionShapes(LibraryCallCheck &check,
                                 const AttentionTensors &of) {
  if (!check.dtype(of.query, floats) || !check.attribute<bool>("is_causal") ||
      !check.require(check.command.attributes.contains("scale"),
                     "attribute 'scale' is missing") ||
      !check.rank(of.query, 4) || !check.rank(of.key, 4) ||
      !check.rank(of.value, 4))
    return false;
  const Shape &q = of.query.shape, &k = of.key.shape;
  const int64_t valueWidth = of.value.shape[3];
  const Dtype dtype = of.query.dtype;
  const Dtype wide = dtype == Dtype::F64 ? Dtype::F64 : Dtype::F32;
  return check.require(q[0] == k[0] && k[1] > 0 && q[1] % k[1] == 0 &&
                           q[3] == k[3] && q[3] > 0 && k[2] > 0 &&
                           valueWidth > 0,
                       "query and key have different dimensions") &&
         check.dtype(of.key, {dtype}) && check.dtype(of.value, {dtype}) &&
         check.dtype(of.output, {dtype}) &&
         check.shape(of.value, {k[0], k[1], k[2], valueWidth}) &&
         check.shape(of.output, {q[0], q[1], q[2], valueWidth}) &&
         check.dtype(of.logSumExp, {wide}) &&
         check.shape(of.logSumExp, {q[0], q[1], q[2]});
}

/// The operands from `first` on are seed, step and slice of the run.
static bool checkDropout(LibraryCallCheck &check, size_t first) {
  const double p = attributeOr(check.command.attributes, "dropout_p", 0.0);
  if (!check.require(p > 0 && p <= 1, "attribute 'dropout_p' must be above 0 "
                                      "and at most 1") ||
      !check.attribute<int64_t>("stream"))
    return false;
  for (size_t i = first; i < first + 3; ++i)
    if (!check.dtype(check.operand(i), {Dtype::I64}) ||
        !check.shape(check.operand(i), {}))
      return false;
  return true;
}

/// What may follow the first `count` operands: a mask, and the three numbers of
/// dropout. Returns whether there is a mask; nothing on failure.
static std::optional<bool> checkAttentionRest(LibraryCallCheck &check,
                                              const AttentionTensors &tensors,
                                              size_t count) {
  const size_t rest = check.operands() - count;
  const bool drops = rest >= 3, hasMask = rest % 3 == 1;
  if (!check.require(rest % 3 < 2, "expected a mask, or three numbers of the "
                                   "run for dropout, or both") ||
      !check.require(drops == check.command.attributes.contains("dropout_p"),
                     "attribute 'dropout_p' stands for three operands") ||
      (hasMask && !checkAttentionMask(check, tensors, check.operand(count))) ||
      (drops && !checkDropout(check, count + rest - 3)))
    return std::nullopt;
  return hasMask;
}

static void checkAttention(LibraryCallCheck &check) {
  const AttentionTensors tensors = {check.operand(0), check.operand(1),
                                    check.operand(2), check.result(0),
                                    check.result(1)};
  if (checkAttentionShapes(check, tensors))
    checkAttentionRest(check, tensors, 3);
}

static void checkAttentionBackward(LibraryCallCheck &check) {
  const AttentionTensors tensors = {check.operand(1), check.operand(2),
                                    check.operand(3), check.operand(4),
                                    check.operand(5)};
  if (!checkAttentionShapes(check, tensors))
    return;
  auto isLike = [&](const TensorReference &gradient,
                    const TensorReference &of) {
    return check.dtype(gradient, {of.dtype}) && check.shape(gradient, of.shape);
  };
  if (!isLike(check.operand(0), tensors.output) ||
      !isLike(check.result(0), tensors.query) ||
      !isLike(check.result(1), tensors.key) ||
      !isLike(check.result(2), tensors.value))
    return;
  const std::optional<bool> hasMask = checkAttentionRest(check, tensors, 6);
  if (hasMask && check.kind.results > 3 &&
      check.require(*hasMask, "expected a mask"))
    isLike(check.result(3), check.operand(6));
}

static int64_t countAttentionOf(const Command &command, size_t query,
                                AttentionProducts products) {
  const Shape &q = command.operands[query].shape;
  const Shape &v = command.operands[query + 2].shape;
  return attentionOperations(q[0] * q[1], q[2], v[2], q[3], v[3], products);
}
static int64_t countAttention(const Command &command) {
  return countAttentionOf(command, 0, attentionForward);
}
static int64_t countAttentionBackward(const Command &command) {
  return countAttentionOf(command, 1, attentionBackward);
}

/// Two numbers for each row of scores: the sum of output times its gradient,
/// and the factor that log-sum-exp becomes.
static int64_t attentionBackwardBytes(const Command &command) {
  const TensorReference &logSumExp = command.operands[5];
  return 2 * alignWorkspace(elementCount(logSumExp.shape) *
                            byteSize(logSumExp.dtype));
}

constinit const LibraryCallKind kindOfAttention = {
    .id = CallId::Attention,
    .minOperands = 3,
    .maxOperands = 7,
    .results = 2,
    .layout = headLayout,
    .check = checkAttention,
    .work = WorkKind::Attention,
    .countOperations = countAttention,
};

constinit const LibraryCallKind kindOfAttentionBackward = {
    .id = CallId::AttentionBackward,
    .minOperands = 6,
    .maxOperands = 10,
    .results = 3,
    .layout = headLayout,
    .check = checkAttentionBackward,
    .work = WorkKind::Attention,
    .countOperations = countAttentionBackward,
    .isBackward = true,
    .kernelBytes = attentionBackwardBytes,
};

constinit const LibraryCallKind kindOfAttentionBackwardMask = {
    .id = CallId::AttentionBackwardMask,
    .minOperands = 7,
    .maxOperands = 10,
    .results = 4,
    .layout = headLayout,
    .check = checkAttentionBackward,
    .work = WorkKind::Attention,
    .countOperations = countAttentionBackward,
    .isBackward = true,
    .kernelBytes = attentionBackwardBytes,
};

} // namespace shardc::format
