// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Each operator that draws has a stream of its own.
// CHECK-LABEL: @random
//       CHECK:   aten.rand %{{.*}}, %{{.*}}, %{{.*}} {stream = 0 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xbf16>
//       CHECK:   aten.randn %{{.*}}, %{{.*}}, %{{.*}} {stream = 1 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
//       CHECK:   aten.dropout %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {p = 1.000000e-01 : f64, stream = 2 : i64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
//       CHECK:   aten.dropout {{.*}} {p = 1.000000e-01 : f64, shared = array<i64: 1>, stream = 3 : i64}
func.func @random(%x: tensor<2x3xf32>) {
  %seed = fsdp.scalar seed : tensor<i64>
  %step = fsdp.scalar step : tensor<i64>
  %slice = fsdp.scalar slice : tensor<i64>
  %0 = aten.rand %seed, %step, %slice {stream = 0 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xbf16>
  %1 = aten.randn %seed, %step, %slice {stream = 1 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  %2 = aten.dropout %x, %seed, %step, %slice {p = 1.000000e-01 : f64, stream = 2 : i64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %3 = aten.dropout %x, %seed, %step, %slice {p = 1.000000e-01 : f64, shared = array<i64: 1>, stream = 3 : i64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}
