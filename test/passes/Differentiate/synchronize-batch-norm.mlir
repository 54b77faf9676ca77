// RUN: shardc-opt %s --split-input-file --shardc-synchronize-batch-norm | FileCheck %s

// Mean and mean square are of all ranks; the input's dtype is that of the
// result, and all between is f32.
// CHECK-LABEL: @sums_over_ranks
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x3x4x4xbf16>, %[[MEAN:.*]]: tensor<3xf32>, %[[VAR:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<3xf32>)
//       CHECK:   %[[RANKS:.*]] = fsdp.scalar ranks : tensor<i64>
//       CHECK:   %[[COUNT:.*]] = aten.mul.Scalar %{{.*}}, 3.200000e+01 : f64
//       CHECK:   %[[SUM:.*]] = aten.sum %{{.*}} [0, 2, 3] {keepdim = true} : (tensor<2x3x4x4xf32>) -> tensor<1x3x1x1xf32>
//  CHECK-NEXT:   %[[ALL:.*]] = fsdp.sum_over_ranks %[[SUM]] : tensor<1x3x1x1xf32>
//       CHECK:   %[[DISTANCE:.*]] = aten.sub
//  CHECK-NEXT:   %[[SQUARE:.*]] = aten.mul %[[DISTANCE]], %[[DISTANCE]]
//  CHECK-NEXT:   %[[SQUARES:.*]] = aten.sum %[[SQUARE]] [0, 2, 3]
//  CHECK-NEXT:   %[[ALL_SQUARES:.*]] = fsdp.sum_over_ranks %[[SQUARES]]
//       CHECK:   %[[INVSTD:.*]] = aten.rsqrt
//       CHECK:   aten.mul %[[DISTANCE]], %[[INVSTD]]
//       CHECK:   %[[Y:.*]] = aten.to %{{.*}} bf16
//       CHECK:   return %[[Y]]
func.func @sums_over_ranks(%x: tensor<2x3x4x4xbf16>, %mean: tensor<3xf32>, %var: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>) {
  %y, %new_mean, %new_var, %save_mean, %save_invstd = aten.batch_norm %x running(%mean, %var) weight(%w) bias(%w)
      {synchronized, training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y, %new_mean, %new_var : tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>
}

// -----

// In an evaluation it is one as any other.
// CHECK-LABEL: @evaluates
//       CHECK:   aten.batch_norm
func.func @evaluates(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %x running(%s, %s)
      {synchronized, training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3xf32>
}
