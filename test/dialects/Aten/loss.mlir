// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Losses over class indices.

// CHECK-LABEL: @cross_entropy
//       CHECK:   aten.cross_entropy_loss %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
//  CHECK-SAME:     -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
//       CHECK:   aten.cross_entropy_loss_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
func.func @cross_entropy(%logits: tensor<4x8xbf16>, %target: tensor<4xi64>) {
  %0:3 = aten.cross_entropy_loss %logits, %target {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  %1 = aten.cross_entropy_loss_backward %0#0, %logits, %target, %0#1, %0#2 {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<f32>, tensor<4x8xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xbf16>
  return
}

// A loss a row, with weights and label smoothing.
// CHECK-LABEL: @cross_entropy_of_rows
//       CHECK:   aten.cross_entropy_loss %{{.*}}, %{{.*}} weight(%{{.*}}) {ignore_index = 0 : i64, label_smoothing = 1.000000e-01 : f64, reduction = #aten.reduction<none>}
//  CHECK-SAME:     -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
func.func @cross_entropy_of_rows(%logits: tensor<4x8xf32>, %target: tensor<4xi64>, %weight: tensor<8xf32>) {
  %0:3 = aten.cross_entropy_loss %logits, %target weight(%weight) {reduction = #aten.reduction<none>, ignore_index = 0 : i64, label_smoothing = 0.1 : f64}
      : (tensor<4x8xf32>, tensor<4xi64>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
  return
}

// CHECK-LABEL: @nll
//       CHECK:   aten.nll_loss %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #aten.reduction<sum>}
//  CHECK-SAME:     -> (tensor<bf16>, tensor<bf16>)
func.func @nll(%x: tensor<4x8xbf16>, %target: tensor<4xi64>) {
  %0:2 = aten.nll_loss %x, %target {reduction = #aten.reduction<sum>, ignore_index = -100 : i64}
      : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<bf16>, tensor<bf16>)
  return
}
