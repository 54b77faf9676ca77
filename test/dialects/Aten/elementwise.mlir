// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// A function of one tensor has the tensor's type.
// CHECK-LABEL: @functions
//       CHECK:   aten.exp %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.exp2 %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.expm1 %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.log %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.log1p %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.log2 %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.log10 %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.sqrt %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.rsqrt %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.reciprocal %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.sin %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.cos %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.tan %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.asin %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.acos %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.atan %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.sinh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.cosh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.tanh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.asinh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.acosh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.atanh %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.sigmoid %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.erf %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.erfc %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.erfinv %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.floor %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.ceil %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.trunc %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.round %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.abs %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.sign %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
func.func @functions(%x: tensor<4xbf16>) {
  %0 = aten.exp %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = aten.exp2 %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = aten.expm1 %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %3 = aten.log %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %4 = aten.log1p %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %5 = aten.log2 %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %6 = aten.log10 %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %7 = aten.sqrt %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %8 = aten.rsqrt %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %9 = aten.reciprocal %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %10 = aten.sin %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %11 = aten.cos %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %12 = aten.tan %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %13 = aten.asin %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %14 = aten.acos %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %15 = aten.atan %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %16 = aten.sinh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %17 = aten.cosh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %18 = aten.tanh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %19 = aten.asinh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %20 = aten.acosh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %21 = aten.atanh %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %22 = aten.sigmoid %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %23 = aten.erf %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %24 = aten.erfc %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %25 = aten.erfinv %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %26 = aten.floor %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %27 = aten.ceil %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %28 = aten.trunc %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %29 = aten.round %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %30 = aten.abs %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %31 = aten.sign %x : (tensor<4xbf16>) -> tensor<4xbf16>
  return
}

// The magnitude of a complex number is real.
// CHECK-LABEL: @magnitude
//       CHECK:   aten.abs %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
func.func @magnitude(%x: tensor<4xcomplex<f32>>) {
  %0 = aten.abs %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// Functions of two tensors broadcast and promote.
// CHECK-LABEL: @two_tensors
//       CHECK:   aten.div %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.remainder %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.fmod %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.pow %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.maximum %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.minimum %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
//       CHECK:   aten.atan2 %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @two_tensors(%x: tensor<2x3xf32>, %y: tensor<3xi64>) {
  %0 = aten.div %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %1 = aten.remainder %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %2 = aten.fmod %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %3 = aten.pow %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %4 = aten.maximum %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %5 = aten.minimum %x, %y : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %6 = aten.atan2 %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// Rounded division is the one that integers have. True division is not printed.
// CHECK-LABEL: @rounded_quotients
//       CHECK:   aten.div %{{.*}}, %{{.*}} {rounding_mode = #aten.rounding_mode<floor>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
//       CHECK:   aten.div.Scalar %{{.*}}, 3 : i64 {rounding_mode = #aten.rounding_mode<trunc>} : (tensor<4xi64>) -> tensor<4xi64>
//       CHECK:   aten.div.Scalar %{{.*}}, 3.000000e+00 : f64 : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.pow.Tensor_Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
//       CHECK:   aten.pow.Tensor_Scalar %{{.*}}, -5.000000e-01 : f64 : (tensor<4xf32>) -> tensor<4xf32>
func.func @rounded_quotients(%x: tensor<4xi64>, %y: tensor<4xf32>) {
  %0 = aten.div %x, %x {rounding_mode = #aten.rounding_mode<floor>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = aten.div.Scalar %x, 3 : i64 {rounding_mode = #aten.rounding_mode<trunc>} : (tensor<4xi64>) -> tensor<4xi64>
  %2 = aten.div.Scalar %y, 3.000000e+00 : f64 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = aten.pow.Tensor_Scalar %x, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  %4 = aten.pow.Tensor_Scalar %y, -5.000000e-01 : f64 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// Either bound may be missing.
// CHECK-LABEL: @clamp
//       CHECK:   aten.clamp %{{.*}} {max = 6 : i64, min = 0 : i64} : (tensor<4xi64>) -> tensor<4xi64>
//       CHECK:   aten.clamp %{{.*}} {min = 0.000000e+00 : f64} : (tensor<4xf16>) -> tensor<4xf16>
func.func @clamp(%x: tensor<4xi64>, %y: tensor<4xf16>) {
  %0 = aten.clamp %x {max = 6 : i64, min = 0 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %1 = aten.clamp %y {min = 0.000000e+00 : f64} : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// Bits of integers, truth of booleans.
// CHECK-LABEL: @bits
//       CHECK:   aten.bitwise_and %{{.*}}, %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
//       CHECK:   aten.bitwise_or %{{.*}}, %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
//       CHECK:   aten.bitwise_xor %{{.*}}, %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
//       CHECK:   aten.bitwise_left_shift %{{.*}}, %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
//       CHECK:   aten.bitwise_right_shift %{{.*}}, %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
//       CHECK:   aten.bitwise_and %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
//       CHECK:   aten.bitwise_not %{{.*}} : (tensor<4xi1>) -> tensor<4xi1>
func.func @bits(%x: tensor<4xui8>, %m: tensor<4xi1>) {
  %0 = aten.bitwise_and %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = aten.bitwise_or %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %2 = aten.bitwise_xor %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %3 = aten.bitwise_left_shift %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %4 = aten.bitwise_right_shift %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %5 = aten.bitwise_and %m, %m : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %6 = aten.bitwise_not %m : (tensor<4xi1>) -> tensor<4xi1>
  return
}
