// RUN: not shardc-opt %s --pass-pipeline='builtin.module(func.func(shardc-form-kernels{accumulator=f16}))' 2>&1 | FileCheck %s

// CHECK: error: expected accumulator f64 or f32, got f16
func.func @unknown_accumulator(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
