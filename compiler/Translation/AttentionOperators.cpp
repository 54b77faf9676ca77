//===- AttentionOperators.cpp - translation of attention ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scaled dot-product attention, as long as it is unmasked or causal.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateAttention(NodeCall &call) {
  if (!call.isNone("attn_mask"))
    return call.unsupported("attn_mask", "None",
                            "pass is_causal=True instead of a causal mask");
  if (call.number("dropout_p") != 0.0)
    return call.unsupported("dropout_p", "0.0",
                            "export the model with attention dropout 0");
  RankedTensorType query = call.typeOf("query"), key = call.typeOf("key");
  if (query.getRank() != 4 || key.getRank() != 4)
    return call.unsupported("query", "a tensor [B, H, T, D]");
  if (query.getDimSize(1) != key.getDimSize(1))
    return call.unsupported("enable_gqa",
                            "False with as many key as query "
                            "heads",
                            "repeat the key and value heads in the model");
  double scale = call.isNone("scale")
                     ? 1.0 / std::sqrt(double(query.getDimSize(3)))
                     : call.number("scale");
  return call.translate<aten::ScaledDotProductAttentionOp>(
      call.tensor("query"), call.tensor("key"), call.tensor("value"),
      call.boolean("is_causal"), APFloat(scale));
}

void translation::addAttentionOperators(OperatorTable &table) {
  table.add("scaled_dot_product_attention(Tensor query, Tensor key, "
            "Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
            "bool is_causal=False, *, float? scale=None, "
            "bool enable_gqa=False) -> Tensor",
            translateAttention);
}
