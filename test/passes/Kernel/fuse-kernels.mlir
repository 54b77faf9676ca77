// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-form-kernels --shardc-fuse-kernels | FileCheck %s

// The sum is a result as well, because the residual stream goes on.
// CHECK-LABEL: @add_into_layer_norm
//       CHECK: %[[BOTH:.*]]:2 = exec.kernel "add+layer_norm"
//   CHECK-NOT: exec.kernel
//       CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @add_into_layer_norm(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = aten.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1, %mean, %rstd = aten.layer_norm %0 {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Point-wise operators become one loop nest; bf16 between them is kept.
// CHECK-LABEL: @chain_in_one_nest
//       CHECK: exec.kernel "relu+mul.Scalar+add"
//       CHECK: linalg.generic
//       CHECK: arith.truncf
//       CHECK: arith.truncf
//       CHECK: arith.truncf
//   CHECK-NOT: linalg.generic
func.func @chain_in_one_nest(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = aten.relu %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = aten.mul.Scalar %0, 2.0 : bf16 : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = aten.add %1, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %2 : tensor<4xbf16>
}

// -----

// The function of a value that two nests read is computed once.
// CHECK-LABEL: @computes_nothing_twice
//       CHECK: exec.kernel "gelu+layer_norm"
//       CHECK: math.erfc
//   CHECK-NOT: math.erfc
func.func @computes_nothing_twice(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = aten.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1, %mean, %rstd = aten.layer_norm %0 {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @never_over_a_begin
//       CHECK: exec.kernel "relu"
//       CHECK: fsdp.begin backward
//       CHECK: exec.kernel "gelu"
func.func @never_over_a_begin(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  fsdp.begin backward
  %1 = aten.gelu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The activation moves before the write, because it does not read the buffer.
// CHECK-LABEL: @over_a_write
//       CHECK: %[[BOTH:.*]]:2 = exec.kernel "add+relu"
//       CHECK: fsdp.write %[[BOTH]]#0, @total
fsdp.buffer @total : tensor<4xf32>
func.func @over_a_write(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  fsdp.write %0, @total : tensor<4xf32>
  %1 = aten.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The sum reads the buffer's old value, so it stays before the write.
// CHECK-LABEL: @not_below_a_write
//       CHECK: exec.kernel "add"
//       CHECK: fsdp.write
//       CHECK: exec.kernel "mul"
fsdp.buffer @total : tensor<4xf32>
func.func @not_below_a_write(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fsdp.read @total : tensor<4xf32>
  %1 = aten.add %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  fsdp.write %x, @total : tensor<4xf32>
  %2 = fsdp.read @total : tensor<4xf32>
  %3 = aten.mul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A library call between two kernels needs the first one's result: both move
// to where the first is when the second can.
// CHECK-LABEL: @result_needed_in_between
//       CHECK: %[[BOTH:.*]]:2 = exec.kernel "relu+gelu"
//       CHECK: exec.library "matmul"(%[[BOTH]]#0, %[[BOTH]]#0)
func.func @result_needed_in_between(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = aten.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = exec.library "matmul"(%0, %0) {epilogue = "none", transpose_a = false, transpose_b = false} order [array<i64>] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = aten.gelu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A table that is read at computed indices stays a kernel of its own.
// CHECK-LABEL: @gathered_table
//       CHECK: exec.kernel "relu"
//       CHECK: exec.kernel "embedding"
func.func @gathered_table(%w: tensor<9x4xf32>, %i: tensor<9xi64>) -> tensor<9x4xf32> {
  %0 = aten.relu %w : (tensor<9x4xf32>) -> tensor<9x4xf32>
  %1 = aten.embedding %0, %i : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// A view between a conversion and who reads it moves away, and both directions
// of the loss read bf16: no f32 of the logits' size is stored. The target's
// logit is converted where it is read.
// CHECK-LABEL: @logits
//  CHECK-SAME: (%[[X:.*]]: tensor<1x4x40000xbf16>
//       CHECK: %[[V:.*]] = aten.view %[[X]] [4, 40000]
//       CHECK: exec.kernel "to+cross_entropy_loss" (%[[IN:.*]] = %[[V]] : tensor<4x40000xbf16>, {{.*}}) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
//       CHECK: linalg.generic {{.*}} ins(%[[IN]] : tensor<4x40000xbf16>)
//       CHECK: linalg.generic {{.*}} ins(%[[IN]], %{{.*}} : tensor<4x40000xbf16>, tensor<4xf32>)
//       CHECK: tensor.extract %[[IN]][%{{.*}}, %{{.*}}] : tensor<4x40000xbf16>
//  CHECK-NEXT: arith.extf
//       CHECK: %[[G:.*]] = exec.kernel "to+cross_entropy_loss_backward+to" ({{.*}} = %[[V]] : tensor<4x40000xbf16>, {{.*}}) -> tensor<4x40000xbf16> {
//       CHECK: %[[R:.*]] = aten.view %[[G]] [1, 4, 40000]
//       CHECK: return %{{.*}}, %[[R]]
func.func @logits(%x: tensor<1x4x40000xbf16>, %t: tensor<4xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<1x4x40000xbf16>) {
  %0 = aten.to %x f32 : (tensor<1x4x40000xbf16>) -> tensor<1x4x40000xf32>
  %1 = aten.view %0 [4, 40000] : (tensor<1x4x40000xf32>) -> tensor<4x40000xf32>
  %loss, %lse, %total = aten.cross_entropy_loss %1, %t {ignore_index = -100 : i64, reduction = #aten.reduction<mean>} : (tensor<4x40000xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  %2 = aten.cross_entropy_loss_backward %g, %1, %t, %lse, %total {ignore_index = -100 : i64, reduction = #aten.reduction<mean>} : (tensor<f32>, tensor<4x40000xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x40000xf32>
  %3 = aten.view %2 [1, 4, 40000] : (tensor<4x40000xf32>) -> tensor<1x4x40000xf32>
  %4 = aten.to %3 bf16 : (tensor<1x4x40000xf32>) -> tensor<1x4x40000xbf16>
  return %loss, %4 : tensor<f32>, tensor<1x4x40000xbf16>
}

// -----

// A line that fits near the arithmetic is converted once.
// CHECK-LABEL: @short_line
//       CHECK: exec.kernel "to+softmax"
//       CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4x100xbf16>) outs(%{{.*}} : tensor<4x100xf32>)
//       CHECK: linalg.generic {{.*}} ins(%[[WIDE]] : tensor<4x100xf32>)
func.func @short_line(%x: tensor<4x100xbf16>) -> tensor<4x100xf32> {
  %0 = aten.to %x f32 : (tensor<4x100xbf16>) -> tensor<4x100xf32>
  %1 = aten.softmax %0 dim 1 : (tensor<4x100xf32>) -> tensor<4x100xf32>
  return %1 : tensor<4x100xf32>
}

// -----

// A reader that is no kernel needs the wide tensor: it is stored once for all.
// CHECK-LABEL: @wide_anyway
//       CHECK: %[[K:.*]]:2 = exec.kernel "to+relu"
//       CHECK: exec.library "matmul"(%[[K]]#0
func.func @wide_anyway(%x: tensor<4x4xbf16>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = aten.to %x f32 : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %1 = aten.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = exec.library "matmul"(%0, %1) {epilogue = "none", transpose_a = false, transpose_b = false} order [array<i64>] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
