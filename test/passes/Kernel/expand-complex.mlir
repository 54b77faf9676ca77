// RUN: shardc-opt %s --split-input-file --shardc-expand-complex | FileCheck %s

// A rotary embedding: pairs are multiplied as complex numbers, and never are any.
// CHECK-LABEL: @rotation
//  CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>)
//   CHECK-NOT: complex
//       CHECK:   %[[TURN:.*]] = aten.constant dense<{{.*}}0.000000e+00, 1.000000e+00{{.*}}> : tensor<4x2xf32>
//       CHECK:   %[[A:.*]] = aten.slice %[[X]] dim 1 [0 : 1]
//       CHECK:   %[[B:.*]] = aten.slice %[[X]] dim 1 [1 : 2]
//       CHECK:   %[[C:.*]] = aten.slice %[[TURN]] dim 1 [0 : 1]
//       CHECK:   %[[D:.*]] = aten.slice %[[TURN]] dim 1 [1 : 2]
//   CHECK-DAG:   %[[AC:.*]] = aten.mul %[[A]], %[[C]]
//   CHECK-DAG:   %[[BD:.*]] = aten.mul %[[B]], %[[D]]
//   CHECK-DAG:   %[[AD:.*]] = aten.mul %[[A]], %[[D]]
//   CHECK-DAG:   %[[BC:.*]] = aten.mul %[[B]], %[[C]]
//   CHECK-DAG:   %[[REAL:.*]] = aten.sub %[[AC]], %[[BD]]
//   CHECK-DAG:   %[[IMAG:.*]] = aten.add %[[AD]], %[[BC]]
//       CHECK:   %[[TURNED:.*]] = aten.cat %[[REAL]], %[[IMAG]] dim 1
//       CHECK:   return %[[TURNED]]
func.func @rotation(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %turn = aten.constant dense<[(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)]> : tensor<4xcomplex<f32>>
  %0 = aten.view_as_complex %x : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
  %1 = aten.mul %0, %turn : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = aten.view_as_real %1 : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// Operators on shapes keep the last dimension.
// CHECK-LABEL: @shapes
//  CHECK-SAME: (%[[X:.*]]: tensor<6x2xf32>)
//       CHECK:   %[[VIEW:.*]] = aten.view %[[X]] [2, 3, 2]
//       CHECK:   %[[PERMUTED:.*]] = aten.permute %[[VIEW]] [1, 0, 2]
//       CHECK:   %[[SLICE:.*]] = aten.slice %[[PERMUTED]] dim 0 [1 : 2]
//       CHECK:   %[[EXPANDED:.*]] = aten.expand %[[SLICE]] [4, 2, 2]
//       CHECK:   %[[JOINED:.*]] = aten.cat %[[EXPANDED]], %[[PERMUTED]] dim 0
//       CHECK:   %[[PADDED:.*]] = aten.slice_backward %[[JOINED]] into [9, 2, 2] dim 0 [2 : 9]
//       CHECK:   %[[SUM:.*]] = aten.sum %[[PADDED]] [0, 1] : (tensor<9x2x2xf32>) -> tensor<2xf32>
//       CHECK:   return %[[SUM]]
func.func @shapes(%x: tensor<6x2xf32>) -> tensor<2xf32> {
  %0 = aten.view_as_complex %x : (tensor<6x2xf32>) -> tensor<6xcomplex<f32>>
  %1 = aten.view %0 [2, 3] : (tensor<6xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %2 = aten.permute %1 [1, 0] : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  %3 = aten.slice %2 dim 0 [1 : 2] : (tensor<3x2xcomplex<f32>>) -> tensor<1x2xcomplex<f32>>
  %4 = aten.expand %3 [4, 2] : (tensor<1x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
  %5 = aten.cat %4, %2 dim 0 : (tensor<4x2xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<7x2xcomplex<f32>>
  %6 = aten.slice_backward %5 into [9, 2] dim 0 [2 : 9] : (tensor<7x2xcomplex<f32>>) -> tensor<9x2xcomplex<f32>>
  %7 = aten.sum %6 [0, 1] : (tensor<9x2xcomplex<f32>>) -> tensor<complex<f32>>
  %8 = aten.view_as_real %7 : (tensor<complex<f32>>) -> tensor<2xf32>
  return %8 : tensor<2xf32>
}

// -----

// A real factor broadcasts over pairs; what is added to complex numbers, to
// their real parts alone.
// CHECK-LABEL: @real_operands
//  CHECK-SAME: (%[[X:.*]]: tensor<3x2xf32>, %[[Y:.*]]: tensor<3xf32>)
//       CHECK:   %[[FACTOR:.*]] = aten.view %[[Y]] [3, 1]
//       CHECK:   %[[PRODUCT:.*]] = aten.mul %[[X]], %[[FACTOR]]
//       CHECK:   %[[REAL:.*]] = aten.view %[[Y]] [3, 1]
//       CHECK:   %[[ZERO:.*]] = aten.constant dense<0.000000e+00> : tensor<3x1xf32>
//       CHECK:   %[[TERM:.*]] = aten.cat %[[REAL]], %[[ZERO]] dim 1
//       CHECK:   %[[SUM:.*]] = aten.sub %[[TERM]], %[[PRODUCT]]
//       CHECK:   %[[TWO:.*]] = aten.constant dense<[2.000000e+00, 0.000000e+00]> : tensor<2xf32>
//       CHECK:   aten.add %[[SUM]], %[[TWO]]
func.func @real_operands(%x: tensor<3x2xf32>, %y: tensor<3xf32>) -> tensor<3x2xf32> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.mul %0, %y : (tensor<3xcomplex<f32>>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  %2 = aten.sub %y, %1 : (tensor<3xf32>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %3 = aten.add.Scalar %2, 2.0 : f64 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %4 = aten.view_as_real %3 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}

// -----

// Widths, and the real part.
// CHECK-LABEL: @conversions
//  CHECK-SAME: (%[[X:.*]]: tensor<3x2xf32>)
//       CHECK:   %[[WIDE:.*]] = aten.to %[[X]] f64 : (tensor<3x2xf32>) -> tensor<3x2xf64>
//       CHECK:   %[[FIRST:.*]] = aten.slice %[[WIDE]] dim 1 [0 : 1]
//       CHECK:   %[[REAL:.*]] = aten.view %[[FIRST]] [3]
//       CHECK:   %[[NARROW:.*]] = aten.to %[[REAL]] f32
//       CHECK:   return %[[NARROW]]
func.func @conversions(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.to %0 complex<f64> : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f64>>
  %2 = aten.to %1 f32 : (tensor<3xcomplex<f64>>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}

// -----

// One condition chooses both numbers.
// CHECK-LABEL: @choice
//  CHECK-SAME: (%[[IS:.*]]: tensor<3xi1>, %[[X:.*]]: tensor<3x2xf32>)
//       CHECK:   %[[ZERO:.*]] = aten.constant dense<0.000000e+00> : tensor<2xf32>
//       CHECK:   %[[OTHER:.*]] = aten.expand %[[ZERO]]
//       CHECK:   %[[CONDITION:.*]] = aten.view %[[IS]] [3, 1]
//       CHECK:   aten.where %[[CONDITION]], %[[X]], %[[OTHER]]
func.func @choice(%is: tensor<3xi1>, %x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %zero = aten.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.where %is, %0, %zero : (tensor<3xi1>, tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %2 = aten.view_as_real %1 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// The squares of 1e30 are no numbers of f32: both parts are scaled first.
// CHECK-LABEL: @magnitude
//       CHECK:   %[[SCALE:.*]] = aten.clamp %{{.*}} {max = 3.40282347E+38 : f32, min = 1.17549435E-38 : f32}
//       CHECK:   %[[SCALED:.*]] = aten.div %{{.*}}, %[[SCALE]]
//       CHECK:   aten.slice %[[SCALED]]
//       CHECK:   %[[ROOT:.*]] = aten.sqrt
//       CHECK:   aten.mul %[[ROOT]], %[[SCALE]]
func.func @magnitude(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.abs %0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// One number that is repeated is one pair in memory.
// CHECK-LABEL: @repeated_number
//       CHECK:   %[[PAIR:.*]] = aten.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
//       CHECK:   aten.expand %[[PAIR]] [1000, 1000, 2]
func.func @repeated_number() -> tensor<1000x1000x2xf32> {
  %0 = aten.constant dense<(1.0, 2.0)> : tensor<1000x1000xcomplex<f32>>
  %1 = aten.view_as_real %0 : (tensor<1000x1000xcomplex<f32>>) -> tensor<1000x1000x2xf32>
  return %1 : tensor<1000x1000x2xf32>
}

// -----

// A power has no rule; what is before and after it has.
// CHECK-LABEL: @operator_without_a_rule
//  CHECK-SAME: (%[[X:.*]]: tensor<3x2xf32>)
//       CHECK:   %[[SUM:.*]] = aten.add %[[X]], %[[X]] : (tensor<3x2xf32>
//       CHECK:   %[[IN:.*]] = aten.view_as_complex %[[SUM]]
//       CHECK:   %[[POWER:.*]] = aten.pow %[[IN]], %[[IN]]
//       CHECK:   %[[OUT:.*]] = aten.view_as_real %[[POWER]]
//       CHECK:   aten.sub %[[OUT]], %[[SUM]] : (tensor<3x2xf32>
func.func @operator_without_a_rule(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.add %0, %0 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %2 = aten.pow %1, %1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %3 = aten.sub %2, %1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %4 = aten.view_as_real %3 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}
