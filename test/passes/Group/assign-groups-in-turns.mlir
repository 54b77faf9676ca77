// RUN: shardc-opt %s --shardc-assign-groups="wrap=blocks:2" 2>&1 | FileCheck %s

// Blocks of two rows that forward calls in turns have no neighbours.
// CHECK: warning: 'blocks:2' groups no blocks: it groups modules that forward calls consecutively and whose paths differ only in a trailing number; group other modules with A&B
// CHECK: fsdp.module "a.0" : "ReLU" (
func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
  %1 = fsdp.module "a.0" : "ReLU" (%in = %x : tensor<f32>) -> tensor<f32> {
    %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
    fsdp.yield %out : tensor<f32>
  }
  %2 = fsdp.module "b.0" : "ReLU" (%in = %1 : tensor<f32>) -> tensor<f32> {
    %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
    fsdp.yield %out : tensor<f32>
  }
  %3 = fsdp.module "a.1" : "ReLU" (%in = %2 : tensor<f32>) -> tensor<f32> {
    %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
    fsdp.yield %out : tensor<f32>
  }
  %4 = fsdp.module "b.1" : "ReLU" (%in = %3 : tensor<f32>) -> tensor<f32> {
    %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
    fsdp.yield %out : tensor<f32>
  }
  return %4 : tensor<f32>
}
