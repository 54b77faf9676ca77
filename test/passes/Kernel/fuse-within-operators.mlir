// RUN: shardc-opt %s --shardc-set-target=target=x86-64-v3 --shardc-form-kernels '--shardc-fuse-kernels=within-operators=true' | FileCheck %s

// What one operator of the model became is one kernel, as in PyTorch, and what
// reads its result is another.
// CHECK-LABEL: @silu_and_product
//       CHECK: %[[SILU:.*]] = exec.kernel "sigmoid+mul"
//       CHECK: exec.kernel "mul" ({{.*}}%[[SILU]]
func.func @silu_and_product(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = aten.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("silu")
  %1 = aten.mul %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("silu")
  %2 = aten.mul %1, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("mul")
  return %2 : tensor<4x8xf32>
}

// A conversion that the model asks for is stored, and read by both.
// CHECK-LABEL: @conversion
//       CHECK: %[[WIDE:.*]] = exec.kernel "to"
//       CHECK: exec.kernel "exp" (%{{.*}} = %[[WIDE]] :
//       CHECK: exec.kernel "relu" (%{{.*}} = %[[WIDE]] :
func.func @conversion(%x: tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = aten.to %x f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32> loc("float")
  %1 = aten.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("exp")
  %2 = aten.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("relu")
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
