// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-pad-classes | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-pad-classes | FileCheck %s --check-prefix=CPU

// A processor computes the classes that there are.
// CPU-NOT: aten.cat

// 1030 classes of bf16 become 1088, 17 lines of 128 bytes. The gradient of the
// weight is its first 1030 rows; the other gradients have the layer's own shapes.
// CHECK-LABEL: @a_vocabulary
//  CHECK-SAME: (%[[X:.*]]: tensor<2x8x16xbf16>, %[[W:.*]]: tensor<1030x16xbf16>, %[[T:.*]]: tensor<16xi64>)
//   CHECK-DAG: %[[ZEROS:.*]] = aten.constant dense<0.000000e+00> : tensor<58x16xbf16>
//   CHECK-DAG: %[[NEVER:.*]] = aten.constant dense<0xFF80> : tensor<58xbf16>
//   CHECK-DAG: %[[ROWS:.*]] = aten.cat %[[W]], %[[ZEROS]] dim 0
//   CHECK-DAG: %[[BIAS:.*]] = aten.cat %{{.*}}, %[[NEVER]] dim 0
//       CHECK: %[[Y:.*]] = aten.linear %[[X]], %[[ROWS]], %[[BIAS]] {{.*}} -> tensor<2x8x1088xbf16>
//       CHECK: %[[LOGITS:.*]] = aten.view %[[Y]] [16, 1088]
//       CHECK: aten.cross_entropy_loss %[[LOGITS]], %[[T]]
//       CHECK: %[[D:.*]] = aten.cross_entropy_loss_backward %{{.*}}, %[[LOGITS]], %[[T]], {{.*}} -> tensor<16x1088xbf16>
//       CHECK: %[[DY:.*]] = aten.view %[[D]] [2, 8, 1088]
//       CHECK: %[[DX:.*]] = aten.linear_backward_input %[[DY]], %{{.*}} : (tensor<2x8x1088xbf16>, tensor<1088x16xbf16>) -> tensor<2x8x16xbf16>
//       CHECK: %[[DROWS:.*]] = aten.linear_backward_weight %[[DY]], %[[X]] : {{.*}} -> tensor<1088x16xbf16>
//       CHECK: %[[DW:.*]] = aten.slice %[[DROWS]] dim 0 [0 : 1030]
//       CHECK: return %{{.*}}, %[[DX]], %[[DW]]
func.func @a_vocabulary(%x: tensor<2x8x16xbf16>, %w: tensor<1030x16xbf16>, %t: tensor<16xi64>) -> (tensor<f32>, tensor<2x8x16xbf16>, tensor<1030x16xbf16>) {
  %0 = aten.linear %x, %w : (tensor<2x8x16xbf16>, tensor<1030x16xbf16>) -> tensor<2x8x1030xbf16>
  %1 = aten.view %0 [16, 1030] : (tensor<2x8x1030xbf16>) -> tensor<16x1030xbf16>
  %loss, %lse, %total = aten.cross_entropy_loss %1, %t {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<16x1030xbf16>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
  %one = aten.constant dense<1.0> : tensor<f32>
  %2 = aten.cross_entropy_loss_backward %one, %1, %t, %lse, %total {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<f32>, tensor<16x1030xbf16>, tensor<16xi64>, tensor<16xf32>, tensor<f32>) -> tensor<16x1030xbf16>
  %3 = aten.view %2 [2, 8, 1030] : (tensor<16x1030xbf16>) -> tensor<2x8x1030xbf16>
  %4 = aten.linear_backward_input %3, %w : (tensor<2x8x1030xbf16>, tensor<1030x16xbf16>) -> tensor<2x8x16xbf16>
  %5 = aten.linear_backward_weight %3, %x : (tensor<2x8x1030xbf16>, tensor<2x8x16xbf16>) -> tensor<1030x16xbf16>
  return %loss, %4, %5 : tensor<f32>, tensor<2x8x16xbf16>, tensor<1030x16xbf16>
}

// -----

// The layer's own bias goes on, and its gradient, like a reader of the logits, gets
// the classes that there are.
// CHECK-LABEL: @a_bias_and_other_readers
//  CHECK-SAME: %[[B:[a-z0-9]*]]: tensor<1030xf32>, %[[T:.*]]: tensor<16xi64>)
//       CHECK: %[[BIAS:.*]] = aten.cat %[[B]], %{{.*}} dim 0
//       CHECK: %[[Y:.*]] = aten.linear %{{.*}}, %{{.*}}, %[[BIAS]] {{.*}} -> tensor<16x1056xf32>
//       CHECK: %[[SEEN:.*]] = aten.slice %[[Y]] dim 1 [0 : 1030]
//       CHECK: %[[D:.*]] = aten.cross_entropy_loss_backward {{.*}} -> tensor<16x1056xf32>
//       CHECK: %[[PART:.*]] = aten.slice %[[D]] dim 1 [0 : 1030]
//       CHECK: %[[DB:.*]] = aten.sum %[[PART]] [0]
//       CHECK: return %{{.*}}, %[[SEEN]], %[[DB]]
func.func @a_bias_and_other_readers(%x: tensor<16x16xf32>, %w: tensor<1030x16xf32>, %b: tensor<1030xf32>, %t: tensor<16xi64>) -> (tensor<f32>, tensor<16x1030xf32>, tensor<1030xf32>) {
  %0 = aten.linear %x, %w, %b : (tensor<16x16xf32>, tensor<1030x16xf32>, tensor<1030xf32>) -> tensor<16x1030xf32>
  %loss, %lse, %total = aten.cross_entropy_loss %0, %t {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<16x1030xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
  %one = aten.constant dense<1.0> : tensor<f32>
  %1 = aten.cross_entropy_loss_backward %one, %0, %t, %lse, %total {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<f32>, tensor<16x1030xf32>, tensor<16xi64>, tensor<16xf32>, tensor<f32>) -> tensor<16x1030xf32>
  %2 = aten.sum %1 [0] : (tensor<16x1030xf32>) -> tensor<1030xf32>
  return %loss, %0, %2 : tensor<f32>, tensor<16x1030xf32>, tensor<1030xf32>
}

// -----

// Rows that begin at vectors, few classes, and other losses stay.
// CHECK-LABEL: @left_alone
//   CHECK-NOT: aten.cat
//       CHECK: return
func.func @left_alone(%x: tensor<16x16xbf16>, %w: tensor<1032x16xbf16>, %v: tensor<1001x16xbf16>, %u: tensor<1030x16xbf16>, %weight: tensor<1030xbf16>, %t: tensor<16xi64>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = aten.linear %x, %w : (tensor<16x16xbf16>, tensor<1032x16xbf16>) -> tensor<16x1032xbf16>
  %loss, %lse, %total = aten.cross_entropy_loss %0, %t {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<16x1032xbf16>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
  %1 = aten.linear %x, %v : (tensor<16x16xbf16>, tensor<1001x16xbf16>) -> tensor<16x1001xbf16>
  %loss1, %lse1, %total1 = aten.cross_entropy_loss %1, %t {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<16x1001xbf16>, tensor<16xi64>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
  %2 = aten.linear %x, %u : (tensor<16x16xbf16>, tensor<1030x16xbf16>) -> tensor<16x1030xbf16>
  %loss2, %lse2, %total2 = aten.cross_entropy_loss %2, %t weight(%weight) {ignore_index = -1 : i64, reduction = #aten.reduction<mean>} : (tensor<16x1030xbf16>, tensor<16xi64>, tensor<1030xbf16>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>)
  return %loss, %loss1, %loss2 : tensor<f32>, tensor<f32>, tensor<f32>
}
