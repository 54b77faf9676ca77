// RUN: shardc-opt %s --split-input-file --shardc-widen-integers | FileCheck %s

// Arithmetic of bytes is that of i32 in the low bits. What another dialect
// writes is unsigned again.
// CHECK-LABEL: module @unsigned_bytes
//       CHECK:   func.func @step(%[[X:.*]]: tensor<4xui8>)
//       CHECK:   %[[BITS:.*]] = exec.view %[[X]] offset 0 strides [1] : tensor<4xui8> -> tensor<4xi8>
//       CHECK:   %[[WIDE:.*]] = aten.to %[[BITS]] i32
//       CHECK:   %[[BYTE:.*]] = aten.constant dense<255> : tensor<i32>
//       CHECK:   %[[NUMBER:.*]] = aten.bitwise_and %[[WIDE]], %[[BYTE]]
//       CHECK:   %[[SUM:.*]] = aten.add.Scalar %[[NUMBER]], 10 : i64 : (tensor<4xi32>) -> tensor<4xi32>
//       CHECK:   %[[LOW:.*]] = aten.to %[[SUM]] i8
//       CHECK:   %[[BACK:.*]] = exec.view %[[LOW]] offset 0 strides [1] : tensor<4xi8> -> tensor<4xui8>
//       CHECK:   fsdp.write %[[BACK]], @seen : tensor<4xui8>
//   CHECK-NOT:   ui8
module @unsigned_bytes {
  fsdp.buffer @seen : tensor<4xui8>
  func.func @step(%x: tensor<4xui8>) -> tensor<4xf32> {
    %0 = aten.add.Scalar %x, 10 : i64 : (tensor<4xui8>) -> tensor<4xui8>
    fsdp.write %0, @seen : tensor<4xui8>
    %1 = aten.to %0 f32 : (tensor<4xui8>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// A view is one of the same bits; a view that is written stays.
// CHECK-LABEL: module @views
//       CHECK:   %[[SLICE:.*]] = aten.slice %{{.*}} dim 0 [1 : 3] : (tensor<4xui8>) -> tensor<2xui8>
//       CHECK:   fsdp.write %[[SLICE]], @seen : tensor<2xui8>
module @views {
  fsdp.buffer @seen : tensor<2xui8>
  func.func @step(%x: tensor<4xui8>) -> tensor<2xf32> {
    %0 = aten.slice %x dim 0 [1 : 3] : (tensor<4xui8>) -> tensor<2xui8>
    fsdp.write %0, @seen : tensor<2xui8>
    %1 = aten.to %0 f32 : (tensor<2xui8>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

// Kernels convert signed integers themselves, and add them in 32 bits.
// CHECK-LABEL: @signed
//       CHECK:   %[[WIDE:.*]] = aten.to %arg0 i32
//       CHECK:   %[[SUM:.*]] = aten.add %[[WIDE]], %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
//       CHECK:   %[[LOW:.*]] = aten.to %[[SUM]] i16
//       CHECK:   aten.to %[[LOW]] f32
func.func @signed(%x: tensor<4xi16>) -> tensor<4xf32> {
  %0 = aten.add %x, %x : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
  %1 = aten.to %0 f32 : (tensor<4xi16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The library sorts i64.
// CHECK-LABEL: @sorted
//       CHECK:   %[[WIDE:.*]] = aten.to %arg0 i64
//       CHECK:   aten.sort %[[WIDE]]
//       CHECK:   aten.to %{{.*}} i32
func.func @sorted(%x: tensor<4xi32>) -> tensor<4xi32> {
  %values, %indices = aten.sort %x dim 0 : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi64>)
  return %values : tensor<4xi32>
}
