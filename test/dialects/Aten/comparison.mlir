// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Comparisons broadcast and give booleans.
// CHECK-LABEL: @of_tensors
//       CHECK:   aten.eq %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.ne %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.lt %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.le %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.gt %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.ge %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.logical_and %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.logical_or %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
//       CHECK:   aten.logical_xor %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
func.func @of_tensors(%x: tensor<2x3xf32>, %y: tensor<3xi64>) {
  %0 = aten.eq %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %1 = aten.ne %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %2 = aten.lt %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %3 = aten.le %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %4 = aten.gt %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %5 = aten.ge %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %6 = aten.logical_and %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %7 = aten.logical_or %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  %8 = aten.logical_xor %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xi1>
  return
}

// The same with a Python number.
// CHECK-LABEL: @with_scalars
//       CHECK:   aten.eq.Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
//       CHECK:   aten.ne.Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
//       CHECK:   aten.lt.Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
//       CHECK:   aten.le.Scalar %{{.*}}, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
//       CHECK:   aten.gt.Scalar %{{.*}}, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
//       CHECK:   aten.ge.Scalar %{{.*}}, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
func.func @with_scalars(%x: tensor<4xi64>, %y: tensor<4xbf16>) {
  %0 = aten.eq.Scalar %x, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
  %1 = aten.ne.Scalar %x, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
  %2 = aten.lt.Scalar %x, 2 : i64 : (tensor<4xi64>) -> tensor<4xi1>
  %3 = aten.le.Scalar %y, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
  %4 = aten.gt.Scalar %y, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
  %5 = aten.ge.Scalar %y, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xi1>
  return
}

// Questions about one element.
// CHECK-LABEL: @predicates
//       CHECK:   aten.logical_not %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
//       CHECK:   aten.isnan %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
//       CHECK:   aten.isinf %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
//       CHECK:   aten.isfinite %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
func.func @predicates(%x: tensor<4xf32>) {
  %0 = aten.logical_not %x : (tensor<4xf32>) -> tensor<4xi1>
  %1 = aten.isnan %x : (tensor<4xf32>) -> tensor<4xi1>
  %2 = aten.isinf %x : (tensor<4xf32>) -> tensor<4xi1>
  %3 = aten.isfinite %x : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// Condition and both alternatives broadcast; the alternatives promote.
// CHECK-LABEL: @where
//       CHECK:   aten.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x1xi1>, tensor<3xf32>, tensor<f64>) -> tensor<2x3xf32>
func.func @where(%c: tensor<2x1xi1>, %x: tensor<3xf32>, %s: tensor<f64>) {
  %0 = aten.where %c, %x, %s : (tensor<2x1xi1>, tensor<3xf32>, tensor<f64>) -> tensor<2x3xf32>
  return
}
