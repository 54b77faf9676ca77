//===- AttentionOperators.cpp - Translation of attention ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scaled dot-product attention of any rank as attention of [B, H, T, D]: what
// is missing in front has size 1, and what is too much is one batch.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/RandomStream.h"
#include "dialects/Aten/TypePromotion.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// The operands of attention in four dimensions each; the mask may be null.
struct AttentionOperands {
  Value query, key, value, mask;
};

/// Brings operands of any rank and with broadcast batches into that form.
class AttentionShapes {
public:
  explicit AttentionShapes(NodeCall &call) : call(call), build(call) {}

  FailureOr<AttentionOperands> operands();

private:
  using Sizes = SmallVector<int64_t>;

  /// The dimensions in front of those that `kept` counts from the back.
  ArrayRef<int64_t> lead(StringRef name, int64_t kept) {
    ArrayRef<int64_t> shape = call.typeOf(name).getShape();
    return shape.drop_back(std::min<int64_t>(kept, shape.size()));
  }

  Value collapse(StringRef name, ArrayRef<int64_t> batch, int64_t heads);
  Value collapseMask(ArrayRef<int64_t> batch, int64_t heads);

  NodeCall &call;
  Decomposition build;
};

} // namespace

/// The product of `sizes`, which become one batch.
static int64_t count(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

/// An operand [*, heads, rows, columns] broadcast to `batch` and `heads`.
Value AttentionShapes::collapse(StringRef name, ArrayRef<int64_t> batch,
                                int64_t heads) {
  Value value = call.tensor(name);
  ArrayRef<int64_t> shape = call.typeOf(name).getShape();
  if (shape.size() == 4 && batch.size() == 1 && shape[0] == batch[0] &&
      shape[1] == heads)
    return value;
  Sizes whole(batch);
  if (shape.size() > 2 || heads > 1)
    whole.push_back(heads);
  llvm::append_range(whole, shape.take_back(2));
  return build.view(
      build.expand(value, whole),
      {count(batch), heads, shape[shape.size() - 2], shape.back()});
}

/// The mask, which broadcasts to four dimensions by itself where the batch is
/// one of them.
Value AttentionShapes::collapseMask(ArrayRef<int64_t> batch, int64_t heads) {
  Value mask = call.tensor("attn_mask");
  RankedTensorType type = call.typeOf("attn_mask");
  if (type.getRank() <= 2 || (batch.size() == 1 && type.getRank() <= 4))
    return mask;
  Sizes whole(batch);
  if (call.typeOf("query").getRank() > 2)
    whole.push_back(heads);
  llvm::append_range(whole, type.getShape().take_back(2));
  return build.view(build.expand(mask, whole),
                    {count(batch), heads, type.getShape().take_back(2)[0],
                     type.getShape().back()});
}

FailureOr<AttentionOperands> AttentionShapes::operands() {
  Sizes batch;
  for (StringRef name : {"query", "key", "value"}) {
    if (call.typeOf(name).getRank() < 2)
      return FailureOr<AttentionOperands>(
          call.unsupported(name, "a tensor [*, T, D]"));
    FailureOr<SmallVector<int64_t>> joint =
        aten::broadcastShapes(batch, lead(name, 3));
    if (failed(joint))
      return FailureOr<AttentionOperands>(
          call.unsupported(name, "a tensor whose batch broadcasts"));
    batch = *joint;
  }
  auto headsOf = [&](StringRef name) {
    ArrayRef<int64_t> heads = lead(name, 2);
    return heads.empty() ? 1 : heads.back();
  };
  // Without grouped queries heads broadcast, which one key head does alike.
  int64_t keyHeads = std::max(headsOf("key"), headsOf("value"));
  int64_t heads = std::max(headsOf("query"), keyHeads);
  // [H, T, D] has H heads and no batch.
  AttentionOperands operands;
  operands.query = collapse("query", batch, heads);
  operands.key = collapse("key", batch, keyHeads);
  operands.value = collapse("value", batch, keyHeads);
  if (!call.isNone("attn_mask"))
    operands.mask = collapseMask(batch, heads);
  if (!operands.query || !operands.key || !operands.value ||
      (!operands.mask && !call.isNone("attn_mask")))
    return failure();
  return operands;
}

static LogicalResult translateAttention(NodeCall &call) {
  double p = call.number("dropout_p");
  if (!(p >= 0 && p <= 1))
    return call.error("E0119")
           << "argument 'dropout_p' is " << p << ", expected a probability";
  FailureOr<AttentionOperands> operands = AttentionShapes(call).operands();
  if (failed(operands))
    return failure();
  int64_t size = call.typeOf("query").getShape().back();
  double scale = call.isNone("scale") ? 1.0 / std::sqrt(double(size))
                                      : call.number("scale");
  SmallVector<Value> run;
  int64_t number = 0;
  if (p > 0) {
    RandomStream stream = nextStream(call);
    run = {stream.seed, stream.step, stream.slice};
    number = stream.number;
  }
  Decomposition build(call);
  Value result = build.build<aten::ScaledDotProductAttentionOp>(
      operands->query, operands->key, operands->value, operands->mask,
      ValueRange(run), call.boolean("is_causal"), APFloat(scale), APFloat(p),
      number);
  RankedTensorType type = call.resultType();
  return build.finish(type ? build.view(result, type.getShape()) : result);
}

void translation::addAttentionOperators(OperatorTable &table) {
  table.add("scaled_dot_product_attention(Tensor query, Tensor key, "
            "Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
            "bool is_causal=False, *, float? scale=None, "
            "bool enable_gqa=False) -> Tensor",
            translateAttention);
}
