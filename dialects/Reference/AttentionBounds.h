//===- AttentionBounds.h - How exact attention can be ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Attention is not linear in the query and the key: a score that rounding moves
// by d changes a probability by the factor exp(d). These bounds follow an
// implementation that adds in a type with unit roundoff u, in any order, from
// the scores to the results.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_ATTENTIONBOUNDS_H
#define SHARDC_DIALECTS_REFERENCE_ATTENTIONBOUNDS_H

#include "dialects/Reference/Tensor.h"

namespace shardc::reference {

/// The operands of scaled_dot_product_attention (query, key, value), or of its
/// backward (gradient, query, key, value, output, log-sum-exp), and a mask of
/// numbers, if there is one.
struct AttentionProblem {
  llvm::ArrayRef<Tensor> tensors;
  /// What each probability [B, H, T, S] is multiplied by; nothing: by 1.
  std::vector<double> dropout;
  bool isCausal = false;
  double scale = 1;
  /// Of the type that sums are made in.
  double unit = 0;
};

/// The bounds of output and log-sum-exp, before they are rounded.
std::vector<std::vector<double>>
boundAttention(const AttentionProblem &problem);

/// The bounds of the gradients of query, key and value, and of the mask if
/// there is one.
std::vector<std::vector<double>>
boundAttentionBackward(const AttentionProblem &problem);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_ATTENTIONBOUNDS_H
