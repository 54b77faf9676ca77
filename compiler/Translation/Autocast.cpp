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

/// AT_FORALL_LOWER_PRECISION_FP of autocast_mode.h where the CPU does the same,
/// and what nn.LSTM and nn.RNN are made of on both.
static const OperatorNames &lowPrecisionOperators() {
  static const OperatorNames names{"conv1d",
                                   "conv1d.padding",
                                   "conv2d",
                                   "conv2d.padding",
                                   "conv3d",
                                   "conv3d.padding",
                                   "convolution",
                                   "conv_transpose1d",
                                   "conv_transpose2d.input",
                                   "conv_transpose3d.input",
                                   "prelu",
                                   "addmm",
                                   "addbmm",
                                   "baddbmm",
                                   "bmm",
                                   "mm",
                                   "matmul",
                                   "einsum",
                                   "linalg_vecdot",
                                   "linalg_multi_dot",
                                   "chain_matmul",
                                   "linear",
                                   "lstm.input",
                                   "rnn_tanh.input",
                                   "rnn_relu.input",
                                   "rnn_tanh_cell",
                                   "rnn_relu_cell",
                                   "scaled_dot_product_attention"};
  return names;
}

/// The rest of that list, and the recurrent layers that cuDNN has: the CPU runs
/// these in the dtype that they get.
static const OperatorNames &cudaLowPrecisionOperators() {
  static const OperatorNames names{"addmv",     "addr",     "mv",
                                   "lstm_cell", "gru_cell", "gru.input"};
  return names;
}

/// What both compute in f32. cross_entropy_loss is composite in PyTorch: its
/// log_softmax and nll_loss are in the list.
static const OperatorNames &f32Operators() {
  static const OperatorNames names{"nll_loss",
                                   "nll_loss2d",
                                   "nll_loss_nd",
                                   "cross_entropy_loss",
                                   "kl_div",
                                   "l1_loss",
                                   "smooth_l1_loss",
                                   "huber_loss",
                                   "mse_loss",
                                   "poisson_nll_loss",
                                   "cosine_embedding_loss",
                                   "hinge_embedding_loss",
                                   "margin_ranking_loss",
                                   "soft_margin_loss",
                                   "triplet_margin_loss",
                                   "multi_margin_loss",
                                   "multilabel_margin_loss",
                                   "binary_cross_entropy_with_logits",
                                   "prod",
                                   "prod.dim_int",
                                   "cdist"};
  return names;
}

/// The rest of AT_FORALL_FP32 and AT_FORALL_FP32_SET_OPT_DTYPE.
static const OperatorNames &cudaF32Operators() {
  static const OperatorNames names{"acos",
                                   "asin",
                                   "cosh",
                                   "erfinv",
                                   "exp",
                                   "expm1",
                                   "log",
                                   "log10",
                                   "log2",
                                   "log1p",
                                   "reciprocal",
                                   "rsqrt",
                                   "sinh",
                                   "tan",
                                   "softplus",
                                   "pow.Tensor_Scalar",
                                   "pow.Scalar",
                                   "pow.Tensor_Tensor",
                                   "layer_norm",
                                   "native_layer_norm",
                                   "rms_norm",
                                   "group_norm",
                                   "frobenius_norm.dim",
                                   "nuclear_norm",
                                   "nuclear_norm.dim",
                                   "cosine_similarity",
                                   "dist",
                                   "pdist",
                                   "renorm",
                                   "logsumexp",
                                   "upsample_nearest1d",
                                   "upsample_nearest1d.vec",
                                   "_upsample_nearest_exact1d",
                                   "_upsample_nearest_exact1d.vec",
                                   "upsample_linear1d",
                                   "upsample_linear1d.vec",
                                   "upsample_nearest2d",
                                   "upsample_nearest2d.vec",
                                   "_upsample_nearest_exact2d",
                                   "_upsample_nearest_exact2d.vec",
                                   "upsample_bilinear2d",
                                   "upsample_bilinear2d.vec",
                                   "_upsample_bilinear2d_aa",
                                   "_upsample_bilinear2d_aa.vec",
                                   "upsample_bicubic2d",
                                   "upsample_bicubic2d.vec",
                                   "_upsample_bicubic2d_aa",
                                   "_upsample_bicubic2d_aa.vec",
                                   "upsample_nearest3d",
                                   "upsample_nearest3d.vec",
                                   "_upsample_nearest_exact3d",
                                   "_upsample_nearest_exact3d.vec",
                                   "upsample_trilinear3d",
                                   "upsample_trilinear3d.vec",
                                   "softmax.int",
                                   "log_softmax.int",
                                   "cumprod",
                                   "cumsum",
                                   "linalg_vector_norm",
                                   "linalg_matrix_norm",
                                   "linalg_matrix_norm.str_ord",
                                   "sum",
                                   "sum.dim_IntList"};
  return names;
}

/// What `torch.autocast("cpu")` computes in f32 besides, as it behaves in
/// PyTorch 2.15.
static const OperatorNames &cpuF32Operators() {
  static const OperatorNames names{"avg_pool3d",
                                   "max_pool3d",
                                   "adaptive_avg_pool3d",
                                   "adaptive_max_pool3d",
                                   "max_unpool2d",
                                   "max_unpool3d",
                                   "reflection_pad1d",
                                   "reflection_pad2d",
                                   "replication_pad1d",
                                   "replication_pad2d",
                                   "replication_pad3d",
                                   "grid_sampler",
                                   "trace",
                                   "quantile",
                                   "quantile.scalar",
                                   "nanquantile",
                                   "nanquantile.scalar",
                                   "cholesky",
                                   "cholesky_inverse",
                                   "cholesky_solve",
                                   "inverse",
                                   "linalg_cholesky",
                                   "linalg_cholesky_ex",
                                   "linalg_eigh",
                                   "linalg_eigvalsh",
                                   "linalg_inv",
                                   "linalg_inv_ex",
                                   "linalg_qr",
                                   "linalg_solve",
                                   "linalg_svd",
                                   "linalg_svdvals",
                                   "pinverse",
                                   "svd",
                                   "triangular_solve",
                                   "ctc_loss.IntList",
                                   "ctc_loss.Tensor",
                                   "binary_cross_entropy"};
  return names;
}

Type Autocast::operandType(StringRef op, Type element) const {
  if (!isa<FloatType>(element) || element.isF64())
    return nullptr;
  bool isCpu = device == "cpu";
  Type wanted;
  if (lowPrecisionOperators().contains(op) ||
      (!isCpu && cudaLowPrecisionOperators().contains(op)))
    wanted = type;
  else if (f32Operators().contains(op) ||
           (isCpu ? cpuF32Operators() : cudaF32Operators()).contains(op))
    wanted = Float32Type::get(element.getContext());
  return wanted == element ? Type() : wanted;
}
