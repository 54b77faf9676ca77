// RUN: shardc-opt %s '--shardc-decompose-operators=as-pytorch=true' | FileCheck %s

// The cross-entropy of f32 logits is log_softmax and what it picks, as PyTorch
// has it.
// CHECK-LABEL: @wide
//   CHECK-NOT: cross_entropy_loss
//       CHECK: aten.log_softmax
//   CHECK-NOT: cross_entropy_loss
//       CHECK: return
func.func @wide(%x: tensor<4x8xf32>, %target: tensor<4xi64>) -> tensor<f32> {
  %loss, %log_sum_exp, %total = aten.cross_entropy_loss %x, %target
      {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
      : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// That of bf16 logits stays whole: PyTorch does not store them in f32.
// CHECK-LABEL: @narrow
//       CHECK: aten.cross_entropy_loss
func.func @narrow(%x: tensor<4x8xbf16>, %target: tensor<4xi64>) -> tensor<f32> {
  %loss, %log_sum_exp, %total = aten.cross_entropy_loss %x, %target
      {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
      : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// Dropout's mask is a tensor, which backward reads.
// CHECK-LABEL: @dropout
//  CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>
//       CHECK: %[[DRAWN:.*]] = aten.rand %{{.*}}, %{{.*}}, %{{.*}} {stream = 5 : i64} : {{.*}} -> tensor<4x8xf32>
//       CHECK: %[[MASK:.*]] = aten.lt.Scalar %[[DRAWN]], 7.500000e-01
//       CHECK: %[[SCALED:.*]] = aten.mul.Scalar %[[X]], 1.33333333333333
//       CHECK: aten.where %[[MASK]], %[[SCALED]], %{{.*}} -> tensor<4x8xbf16>
//   CHECK-NOT: aten.dropout
func.func @dropout(%x: tensor<4x8xbf16>, %seed: tensor<i64>, %step: tensor<i64>, %slice: tensor<i64>) -> tensor<4x8xbf16> {
  %result = aten.dropout %x, %seed, %step, %slice {p = 0.25 : f64, stream = 5 : i64}
      : (tensor<4x8xbf16>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x8xbf16>
  return %result : tensor<4x8xbf16>
}
