// RUN: shardc-opt %s --shardc-assign-groups="world-size=2 wrap=aux,h" 2>&1 | FileCheck %s
// RUN: shardc-opt %s --shardc-assign-groups="world-size=2 wrap=aux&h" 2>&1 | FileCheck %s

// FSDP2 wraps a module that forward does not call, and gathers it never.
// CHECK: warning: wrapping 'aux' has no effect: forward never calls it; if it is a container such as a ModuleList, name its children
// CHECK: fsdp.group @h on
// CHECK-NEXT: fsdp.member @h.weight
// CHECK: fsdp.group @root
// CHECK-NEXT: fsdp.member @aux.weight
fsdp.parameter @h.weight : tensor<4x4xf32>
fsdp.parameter @aux.weight : tensor<4x4xf32>
func.func @forward(%x: tensor<2x4xf32> {shardc.name = "x"}) -> tensor<2x4xf32> {
  %h = fsdp.module "h" : "Linear" (%in = %x : tensor<2x4xf32>) -> tensor<2x4xf32> {
    %weight = fsdp.read @h.weight : tensor<4x4xf32>
    %y = aten.linear %in, %weight : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    fsdp.yield %y : tensor<2x4xf32>
  }
  return %h : tensor<2x4xf32>
}
