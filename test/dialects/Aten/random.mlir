// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Each operator that draws has a stream of its own.
// CHECK-LABEL: @random
//       CHECK:   aten.rand {stream = 0 : i64} : () -> tensor<4xbf16>
//       CHECK:   aten.randn {stream = 1 : i64} : () -> tensor<4xf32>
//       CHECK:   aten.dropout %{{.*}} {p = 1.000000e-01 : f64, stream = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @random(%x: tensor<2x3xf32>) {
  %0 = aten.rand {stream = 0 : i64} : () -> tensor<4xbf16>
  %1 = aten.randn {stream = 1 : i64} : () -> tensor<4xf32>
  %2 = aten.dropout %x {p = 1.000000e-01 : f64, stream = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
