// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-select-libraries | FileCheck %s

// Leading dimensions are collapsed, the bias is the product's epilogue.
// CHECK-LABEL: @linear_with_bias
//  CHECK-SAME: (%[[X:.*]]: tensor<4x8x16xf32>, %[[W:.*]]: tensor<32x16xf32>, %[[B:.*]]: tensor<32xf32>)
//       CHECK: %[[ROWS:.*]] = aten.view %[[X]] [32, 16]
//       CHECK: %[[C:.*]] = exec.library "matmul"(%[[ROWS]], %[[W]], %[[B]])
//  CHECK-SAME: {epilogue = "bias", transpose_a = false, transpose_b = true}
//       CHECK: aten.view %[[C]] [4, 8, 32]
func.func @linear_with_bias(%x: tensor<4x8x16xf32>, %w: tensor<32x16xf32>, %b: tensor<32xf32>) -> tensor<4x8x32xf32> {
  %0 = aten.linear %x, %w, %b : (tensor<4x8x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<4x8x32xf32>
  return %0 : tensor<4x8x32xf32>
}

// -----

// gradient @ weight and gradient^T @ input, the latter in the reduce dtype.
// CHECK-LABEL: @linear_gradients
//  CHECK-SAME: (%[[G:.*]]: tensor<8x32xbf16>, %[[W:.*]]: tensor<32x16xbf16>, %[[X:.*]]: tensor<8x16xbf16>)
//   CHECK-NOT: aten.view
//       CHECK: exec.library "matmul"(%[[G]], %[[W]])
//  CHECK-SAME: {epilogue = "none", transpose_a = false, transpose_b = false}
//       CHECK: exec.library "matmul"(%[[G]], %[[X]])
//  CHECK-SAME: {epilogue = "none", transpose_a = true, transpose_b = false}
//  CHECK-SAME: -> tensor<32x16xf32>
func.func @linear_gradients(%g: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %x: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<32x16xf32>) {
  %0 = aten.linear_backward_input %g, %w : (tensor<8x32xbf16>, tensor<32x16xbf16>) -> tensor<8x16xbf16>
  %1 = aten.linear_backward_weight %g, %x : (tensor<8x32xbf16>, tensor<8x16xbf16>) -> tensor<32x16xf32>
  return %0, %1 : tensor<8x16xbf16>, tensor<32x16xf32>
}

// -----

// Rows times one matrix are one product; a batch of small matrices is left to a
// kernel.
// CHECK-LABEL: @products
//  CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[V:.*]]: tensor<2x4x5xf32>)
//       CHECK: %[[ROWS:.*]] = aten.view %[[X]] [6, 4]
//       CHECK: exec.library "matmul"(%[[ROWS]], %[[W]])
//  CHECK-SAME: {epilogue = "none", transpose_a = false, transpose_b = false}
//       CHECK: aten.matmul %[[X]], %[[V]]
func.func @products(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %v: tensor<2x4x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %0 = aten.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %1 = aten.matmul %x, %v : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}

// -----

// 49 positions of a window, with heads of 32 elements.
// CHECK-LABEL: @batches
//       CHECK: exec.library "matmul"(%{{[^,]*}}, %{{[^,]*}}) {epilogue = "none", transpose_a = false, transpose_b = false}
//   CHECK-NOT: aten.matmul
func.func @batches(%x: tensor<8x3x49x32xf32>, %v: tensor<8x3x32x49xf32>) -> tensor<8x3x49x49xf32> {
  %0 = aten.matmul %x, %v : (tensor<8x3x49x32xf32>, tensor<8x3x32x49xf32>) -> tensor<8x3x49x49xf32>
  return %0 : tensor<8x3x49x49xf32>
}

// -----

// Whoever looks up with i32 gets i64 for the library.
// CHECK-LABEL: @narrow_indices
//  CHECK-SAME: (%[[G:.*]]: tensor<3x4xf32>, %[[I:.*]]: tensor<3xi32>)
//       CHECK: %[[WIDE:.*]] = aten.to %[[I]] i64
//       CHECK: exec.library "embedding_dense_backward"(%[[G]], %[[WIDE]])
func.func @narrow_indices(%g: tensor<3x4xf32>, %i: tensor<3xi32>) -> tensor<9x4xf32> {
  %0 = aten.embedding_dense_backward %g, %i : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// -----

// What the library does not compute is left as it is: images of one dimension.
// CHECK-LABEL: @left_alone
//   CHECK-NOT: exec.library
//       CHECK: aten.convolution
func.func @left_alone(%i: tensor<1x1x4xf32>, %k: tensor<1x1x2xf32>) -> tensor<1x1x3xf32> {
  %0 = aten.convolution %i, %k {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64}
      : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}

// -----

// f16 is computed in f32; a result that is f32 anyway stays.
// CHECK-LABEL: @half_precision
//  CHECK-SAME: (%[[X:.*]]: tensor<2x4xf16>, %[[W:.*]]: tensor<3x4xf16>, %[[D:.*]]: tensor<2x3xf16>)
//       CHECK: %[[WIDE_X:.*]] = aten.to %[[X]] f32
//       CHECK: %[[WIDE_W:.*]] = aten.to %[[W]] f32
//       CHECK: %[[Y:.*]] = exec.library "matmul"(%[[WIDE_X]], %[[WIDE_W]]) {{.*}} -> tensor<2x3xf32>
//       CHECK: %[[HALF:.*]] = aten.to %[[Y]] f16
//       CHECK: %[[WEIGHT:.*]] = exec.library "matmul"({{.*}}) {{.*}} -> tensor<3x4xf32>
//       CHECK: return %[[HALF]], %[[WEIGHT]]
func.func @half_precision(%x: tensor<2x4xf16>, %w: tensor<3x4xf16>, %d: tensor<2x3xf16>) -> (tensor<2x3xf16>, tensor<3x4xf32>) {
  %0 = aten.linear %x, %w : (tensor<2x4xf16>, tensor<3x4xf16>) -> tensor<2x3xf16>
  %1 = aten.linear_backward_weight %d, %x : (tensor<2x3xf16>, tensor<2x4xf16>) -> tensor<3x4xf32>
  return %0, %1 : tensor<2x3xf16>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @convolution
//  CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>)
//       CHECK: %[[Y:.*]] = exec.library "convolution"(%[[X]], %[[W]])
//  CHECK-SAME: {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//       CHECK: exec.library "convolution_backward_input"(%[[Y]], %[[W]])
//       CHECK: exec.library "convolution_backward_weight"(%[[Y]], %[[X]])
func.func @convolution(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) {
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
  %1 = aten.convolution_backward_input %0, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %2 = aten.convolution_backward_weight %0, %x {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x4x4x4xf32>, tensor<2x3x8x8xf32>) -> tensor<4x3x3x3xf32>
  return %0, %1, %2 : tensor<2x4x4x4xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>
}

// -----

// CHECK-LABEL: @attention
//       CHECK: exec.library "scaled_dot_product_attention"(
//  CHECK-SAME: {is_causal = true, scale = 5.000000e-01 : f64} order [array<i64>, array<i64>]
//       CHECK: exec.library "scaled_dot_product_attention_backward"(
func.func @attention(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x8x4xf32>, %v: tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32> {
  %o, %l = aten.scaled_dot_product_attention %q, %k, %v {is_causal = true, scale = 0.5 : f64} : (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>) -> (tensor<2x3x8x4xf32>, tensor<2x3x8xf32>)
  %dq, %dk, %dv = aten.scaled_dot_product_attention_backward %o, %q, %k, %v, %o, %l {is_causal = true, scale = 0.5 : f64} : (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8xf32>) -> (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>)
  return %dq : tensor<2x3x8x4xf32>
}

// -----

// A boolean mask becomes numbers that are added to the scores, once for all that
// read it; what it was expanded from broadcasts as well.
// CHECK-LABEL: @attention_with_a_mask
//       CHECK: %[[SEEN:.*]] = aten.constant dense<0.000000e+00> : tensor<f32>
//       CHECK: %[[UNSEEN:.*]] = aten.constant dense<0xFF800000> : tensor<f32>
//       CHECK: %[[CHOICE:.*]] = aten.where %{{.*}}, %[[SEEN]], %[[UNSEEN]] : (tensor<2x1x8xi1>, tensor<f32>, tensor<f32>)
//       CHECK: %[[MASK:.*]] = aten.view %[[CHOICE]] [1, 2, 1, 8]
//   CHECK-NOT: aten.where
//       CHECK: exec.library "scaled_dot_product_attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]]) {is_causal = false
//       CHECK: exec.library "scaled_dot_product_attention_backward"({{.*}}, %[[MASK]]) {is_causal = false
func.func @attention_with_a_mask(%q: tensor<3x2x8x4xbf16>, %k: tensor<3x1x8x4xbf16>, %v: tensor<3x1x8x6xbf16>, %heads: tensor<2x1x8xi1>) -> tensor<3x2x8x4xbf16> {
  %m = aten.expand %heads [3, 2, 8, 8] : (tensor<2x1x8xi1>) -> tensor<3x2x8x8xi1>
  %o, %l = aten.scaled_dot_product_attention %q, %k, %v mask(%m) {is_causal = false, scale = 0.5 : f64} : (tensor<3x2x8x4xbf16>, tensor<3x1x8x4xbf16>, tensor<3x1x8x6xbf16>, tensor<3x2x8x8xi1>) -> (tensor<3x2x8x6xbf16>, tensor<3x2x8xf32>)
  %dq, %dk, %dv = aten.scaled_dot_product_attention_backward %o, %q, %k, %v, %o, %l mask(%m) {is_causal = false, scale = 0.5 : f64} : (tensor<3x2x8x6xbf16>, tensor<3x2x8x4xbf16>, tensor<3x1x8x4xbf16>, tensor<3x1x8x6xbf16>, tensor<3x2x8x6xbf16>, tensor<3x2x8xf32>, tensor<3x2x8x8xi1>) -> (tensor<3x2x8x4xbf16>, tensor<3x1x8x4xbf16>, tensor<3x1x8x6xbf16>)
  return %dq : tensor<3x2x8x4xbf16>
}

// -----

// Dropout takes the run's numbers along, after a mask.
// CHECK-LABEL: @attention_with_dropout
//       CHECK: exec.library "scaled_dot_product_attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MASK:.*]], %[[SEED:arg[0-9]+]], %[[STEP:arg[0-9]+]], %[[SLICE:arg[0-9]+]]) {dropout_p = 2.000000e-01 : f64, is_causal = true, scale = 5.000000e-01 : f64, stream = 4 : i64}
//       CHECK: exec.library "scaled_dot_product_attention_backward"({{.*}}, %[[SEED]], %[[STEP]], %[[SLICE]]) {dropout_p = 2.000000e-01 : f64
func.func @attention_with_dropout(%q: tensor<2x3x8x4xf32>, %mask: tensor<1x1x8x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %slice: tensor<i64>) -> tensor<2x3x8x4xf32> {
  %o, %l = aten.scaled_dot_product_attention %q, %q, %q mask(%mask) dropout(%seed, %step, %slice) {dropout_p = 0.2 : f64, is_causal = true, scale = 0.5 : f64, stream = 4 : i64} : (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<1x1x8x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x3x8x4xf32>, tensor<2x3x8xf32>)
  %dq, %dk, %dv = aten.scaled_dot_product_attention_backward %o, %q, %q, %q, %o, %l mask(%mask) dropout(%seed, %step, %slice) {dropout_p = 0.2 : f64, is_causal = true, scale = 0.5 : f64, stream = 4 : i64} : (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8xf32>, tensor<1x1x8x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>)
  return %dq : tensor<2x3x8x4xf32>
}

// -----

// The gradient of a learned mask is another call; it is made the mask's own.
// CHECK-LABEL: @attention_with_a_learned_mask
//       CHECK: %[[NUMBERS:.*]] = aten.to %{{.*}} f32
//       CHECK: %[[MASK:.*]] = aten.view %[[NUMBERS]] [1, 3, 8, 8]
//       CHECK: %[[CALL:.*]]:4 = exec.library "scaled_dot_product_attention_backward_mask"({{.*}}, %[[MASK]])
//  CHECK-SAME: tensor<1x3x8x8xf32>)
//       CHECK: %[[BIAS:.*]] = aten.view %[[CALL]]#3 [3, 8, 8]
//       CHECK: %[[D_MASK:.*]] = aten.to %[[BIAS]] bf16
//       CHECK: return %[[D_MASK]]
func.func @attention_with_a_learned_mask(%q: tensor<2x3x8x4xbf16>, %l: tensor<2x3x8xf32>, %bias: tensor<3x8x8xbf16>) -> tensor<3x8x8xbf16> {
  %dq, %dk, %dv, %db = aten.scaled_dot_product_attention_backward %q, %q, %q, %q, %q, %l mask(%bias) {is_causal = false, mask_gradient, scale = 0.5 : f64} : (tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8xf32>, tensor<3x8x8xbf16>) -> (tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<3x8x8xbf16>)
  return %db : tensor<3x8x8xbf16>
}

// -----

// CHECK-LABEL: @embedding_gradient
//       CHECK: exec.library "embedding_dense_backward"(%{{.*}}, %{{.*}}) {padding_idx = -1 : i64}
//  CHECK-SAME: (tensor<2x5x8xbf16>, tensor<2x5xi64>) -> tensor<11x8xf32>
func.func @embedding_gradient(%g: tensor<2x5x8xbf16>, %i: tensor<2x5xi64>) -> tensor<11x8xf32> {
  %0 = aten.embedding_dense_backward %g, %i : (tensor<2x5x8xbf16>, tensor<2x5xi64>) -> tensor<11x8xf32>
  return %0 : tensor<11x8xf32>
}

// -----

// The gradient of a tied embedding is added to that of the last layer where it
// is computed; of two embeddings' gradients, the later one to the earlier one.
// CHECK-LABEL: @tied_embedding
//  CHECK-SAME: (%[[G:.*]]: tensor<5x8xf32>, %[[H:.*]]: tensor<5x8xf32>, %[[I:.*]]: tensor<5xi64>
//       CHECK: %[[LAST:.*]] = exec.library "matmul"
//       CHECK: %[[SUM:.*]] = exec.library "embedding_dense_backward"(%[[G]], %[[I]], %[[LAST]]) {padding_idx = 3 : i64}
//   CHECK-NOT: aten.add
//       CHECK: %[[SUM2:.*]] = exec.library "embedding_dense_backward"(%[[H]], %[[I]], %[[SUM]]) {padding_idx = -1 : i64}
//   CHECK-NOT: aten.add
//       CHECK: return %[[SUM2]]
func.func @tied_embedding(%g: tensor<5x8xf32>, %h: tensor<5x8xf32>, %i: tensor<5xi64>, %p: tensor<11x5xf32>) -> tensor<11x8xf32> {
  %last = aten.matmul %p, %g : (tensor<11x5xf32>, tensor<5x8xf32>) -> tensor<11x8xf32>
  %0 = aten.embedding_dense_backward %g, %i {padding_idx = 3 : i64} : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %1 = aten.add %0, %last : (tensor<11x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  %2 = aten.embedding_dense_backward %h, %i : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %3 = aten.add %1, %2 : (tensor<11x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  return %3 : tensor<11x8xf32>
}

// -----

// Not where the gradient has another use, where the addend is computed after it
// (its own operands would live longer), where the addend is an operator's (whose
// kernel adds for nothing), and where the addition changes the shape.
// CHECK-LABEL: @embedding_added_elsewhere
// CHECK-COUNT-4: aten.add
func.func @embedding_added_elsewhere(%g: tensor<5x8xf32>, %i: tensor<5xi64>, %p: tensor<11x5xf32>, %x: tensor<11x8xf32>, %v: tensor<8x1xf32>)
    -> (tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>) {
  %first = aten.matmul %p, %g : (tensor<11x5xf32>, tensor<5x8xf32>) -> tensor<11x8xf32>
  %column = aten.matmul %x, %v : (tensor<11x8xf32>, tensor<8x1xf32>) -> tensor<11x1xf32>
  %0 = aten.embedding_dense_backward %g, %i : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %1 = aten.add %0, %first : (tensor<11x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  %2 = aten.embedding_dense_backward %g, %i : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %later = aten.matmul %p, %g : (tensor<11x5xf32>, tensor<5x8xf32>) -> tensor<11x8xf32>
  %3 = aten.add %2, %later : (tensor<11x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  %tanh = aten.tanh %x : (tensor<11x8xf32>) -> tensor<11x8xf32>
  %4 = aten.embedding_dense_backward %g, %i : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %5 = aten.add %tanh, %4 : (tensor<11x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  %6 = aten.embedding_dense_backward %g, %i : (tensor<5x8xf32>, tensor<5xi64>) -> tensor<11x8xf32>
  %7 = aten.add %6, %column : (tensor<11x8xf32>, tensor<11x1xf32>) -> tensor<11x8xf32>
  return %1, %0, %3, %5, %7 : tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>, tensor<11x8xf32>
}

// -----

// CHECK-LABEL: @max_pool
//       CHECK: exec.library "max_pool2d"(%{{.*}}) {dilation = array<i64: 1, 1>, kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//       CHECK: exec.library "max_pool2d_backward"(%{{.*}}, %{{.*}}) {{.*}} kernel = array<i64: 3, 3>
func.func @max_pool(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  %0, %1 = aten.max_pool2d_with_indices %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>)
  %2 = aten.max_pool2d_with_indices_backward %0, %1 {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>) -> tensor<2x3x8x8xf32>
  return %2 : tensor<2x3x8x8xf32>
}

// -----

// Rows to sort are along the last dimension; the first of them are the top k.
// CHECK-LABEL: func @top_of_columns
//       CHECK:   %[[ROWS:.*]] = aten.permute %{{.*}} [1, 0]
//       CHECK:   %[[SORTED:.*]]:2 = exec.library "sort"(%[[ROWS]]) {descending = true} order {{.*}} : (tensor<3x9xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
//       CHECK:   %[[VALUES:.*]] = aten.permute %[[SORTED]]#0 [1, 0]
//       CHECK:   %[[INDICES:.*]] = aten.permute %[[SORTED]]#1 [1, 0]
//       CHECK:   return %[[VALUES]], %[[INDICES]]
func.func @top_of_columns(%x: tensor<9x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0, %1 = aten.topk %x dim 0 {k = 2} : (tensor<9x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}

// -----

// A factorization is the call of its name, whatever its attributes.
// CHECK-LABEL: @factorizations
//  CHECK-SAME: (%[[A:.*]]: tensor<2x3x3xf32>, %[[B:.*]]: tensor<2x3x1xf32>)
//       CHECK: %[[L:.*]]:2 = exec.library "linalg_cholesky_ex"(%[[A]]) {check_errors = true}
//       CHECK: exec.library "linalg_solve_triangular"(%[[L]]#0, %[[B]]) {unitriangular = false, upper = false}
//       CHECK: exec.library "linalg_svd"(%[[A]])
func.func @factorizations(%a: tensor<2x3x3xf32>, %b: tensor<2x3x1xf32>) -> (tensor<2x3x1xf32>, tensor<2x3xf32>) {
  %l, %info = aten.linalg_cholesky_ex %a {check_errors = true} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi64>)
  %x = aten.linalg_solve_triangular %l, %b {upper = false} : (tensor<2x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %u, %s, %vh = aten.linalg_svd %a : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
  return %x, %s : tensor<2x3x1xf32>, tensor<2x3xf32>
}

// -----

// The ends of groups are i64.
// CHECK-LABEL: @groups_of_rows
//  CHECK-SAME: (%[[X:.*]]: tensor<8x4xbf16>, %[[W:.*]]: tensor<3x4x5xbf16>, %[[G:.*]]: tensor<8x5xbf16>, %[[ENDS:.*]]: tensor<3xi32>)
//       CHECK: %[[WIDE:.*]] = aten.to %[[ENDS]] i64
//       CHECK: exec.library "grouped_mm"(%[[X]], %[[W]], %[[WIDE]])
//       CHECK: exec.library "grouped_mm_backward_mat2"(%[[G]], %[[X]], %{{.*}})
//  CHECK-SAME: -> tensor<3x4x5xf32>
func.func @groups_of_rows(%x: tensor<8x4xbf16>, %w: tensor<3x4x5xbf16>, %g: tensor<8x5xbf16>, %ends: tensor<3xi32>) -> (tensor<8x5xbf16>, tensor<3x4x5xf32>) {
  %0 = aten.grouped_mm %x, %w, %ends : (tensor<8x4xbf16>, tensor<3x4x5xbf16>, tensor<3xi32>) -> tensor<8x5xbf16>
  %1 = aten.grouped_mm_backward_mat2 %g, %x, %ends : (tensor<8x5xbf16>, tensor<8x4xbf16>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return %0, %1 : tensor<8x5xbf16>, tensor<3x4x5xf32>
}
