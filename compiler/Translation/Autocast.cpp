//===- Autocast.cpp - torch.autocast regions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The lists of operators. Operators that take the widest of their operands'
// types (`cat`, `stack`, `add`) need no list: promotion does that.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Autocast.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc::translation;

using OperatorNames = llvm::StringSet<>;

/// AT_FORALL_LOWER_PRECISION_FP; the CPU's list in autocast_mode.cpp agrees on
/// those that have a translation.
static const OperatorNames &lowPrecisionOperators() {
  static const OperatorNames names{
      "conv1d",        "conv1d.padding",
      "conv2d",        "conv2d.padding",
      "conv3d",        "conv3d.padding",
      "convolution",   "conv_transpose1d",
      "prelu",         "conv_transpose2d.input",
      "addmm",         "conv_transpose3d.input",
      "addmv",         "matmul",
      "einsum",        "mm",
      "linalg_vecdot", "linear",
      "addbmm",        "baddbmm",
      "bmm",           "scaled_dot_product_attention"};
  return names;
}

/// AT_FORALL_FP32 and AT_FORALL_FP32_SET_OPT_DTYPE. cross_entropy_loss is
/// composite in PyTorch: its log_softmax and nll_loss are in the list.
static const OperatorNames &cudaF32Operators() {
  static const OperatorNames names{"acos",
                                   "asin",
                                   "exp",
                                   "expm1",
                                   "log",
                                   "log2",
                                   "log1p",
                                   "reciprocal",
                                   "rsqrt",
                                   "tan",
                                   "softplus",
                                   "pow.Tensor_Scalar",
                                   "pow.Scalar",
                                   "pow.Tensor_Tensor",
                                   "layer_norm",
                                   "native_layer_norm",
                                   "rms_norm",
                                   "group_norm",
                                   "nll_loss",
                                   "nll_loss2d",
                                   "nll_loss_nd",
                                   "cosine_similarity",
                                   "kl_div",
                                   "l1_loss",
                                   "smooth_l1_loss",
                                   "huber_loss",
                                   "mse_loss",
                                   "binary_cross_entropy_with_logits",
                                   "logsumexp",
                                   "upsample_nearest1d",
                                   "prod",
                                   "upsample_nearest2d",
                                   "prod.dim_int",
                                   "upsample_nearest2d.vec",
                                   "softmax.int",
                                   "upsample_bilinear2d",
                                   "log_softmax.int",
                                   "upsample_bilinear2d.vec",
                                   "cumprod",
                                   "upsample_bicubic2d",
                                   "cumsum",
                                   "upsample_bicubic2d.vec",
                                   "sum",
                                   "sum.dim_IntList",
                                   "linalg_vector_norm",
                                   "cross_entropy_loss"};
  return names;
}

/// The f32 list of the CPU, as `torch.autocast("cpu")` behaves in PyTorch 2.15.
static const OperatorNames &cpuF32Operators() {
  static const OperatorNames names{"avg_pool3d",
                                   "prod",
                                   "prod.dim_int",
                                   "nll_loss",
                                   "nll_loss2d",
                                   "nll_loss_nd",
                                   "kl_div",
                                   "l1_loss",
                                   "smooth_l1_loss",
                                   "huber_loss",
                                   "mse_loss",
                                   "binary_cross_entropy_with_logits",
                                   "binary_cross_entropy",
                                   "cross_entropy_loss"};
  return names;
}

Type Autocast::operandType(StringRef op, Type element) const {
  if (!isa<FloatType>(element) || element.isF64())
    return nullptr;
  bool isCpu = device == "cpu";
  Type wanted;
  if (lowPrecisionOperators().contains(op))
    wanted = type;
  else if ((isCpu ? cpuF32Operators() : cudaF32Operators()).contains(op))
    wanted = Float32Type::get(element.getContext());
  return wanted == element ? Type() : wanted;
}
