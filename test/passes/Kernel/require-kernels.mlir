// RUN: shardc-opt %s --split-input-file --shardc-require-kernels | FileCheck %s

// Views and constants need no kernel, and neither does what nothing reads.
// CHECK-LABEL: @accepted
//       CHECK:   aten.sort
func.func @accepted(%x: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %0, %1 = aten.sort %x dim 1 {descending = false} : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  %2 = aten.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = aten.constant dense<1.0> : tensor<2x4xf32>
  %4 = aten.add %x, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = aten.permute %4 [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}
