// RUN: shardc-opt %s '--shardc-decompose-operators=losses=true' | FileCheck %s

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
