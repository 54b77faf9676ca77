// RUN: shardc-opt %s --shardc-assign-groups="wrap=h.0&head,h.1 param-dtype=bf16 rules='.*:reduce_dtype=f32; head:param_dtype=f32,output_dtype=bf16,reshard_after_forward=never; :cast_forward_inputs=false' explain=true" | FileCheck %s

// What backward computes again is each module's own.
// RUN: shardc-opt %s --shardc-assign-groups="wrap=h.0&h.1&head recompute=selective rules='h.1:recompute=full; head:recompute=none'" | FileCheck %s --check-prefix=RECOMPUTE
// RECOMPUTE: module @repeated_blocks attributes {shardc.recompute = {h.0 = "selective", h.1 = "full", head = "none"}}

// The whole name wins for its group, and so do rules that agree.
// RUN: shardc-opt %s --shardc-assign-groups="wrap=h.0&head rules='.*:param_dtype=bf16; head:param_dtype=bf16,reduce_dtype=f32'" | FileCheck %s --check-prefix=AGREE
// AGREE: fsdp.group @"h.0&head" on @mesh policy <param = bf16, reduce = f32, cast_inputs = true>

// Modules that are wrapped together are one group. Of rules the last holds for
// each key, a name wins over a pattern, and the root's path is empty.
// CHECK-LABEL: module @repeated_blocks
//       CHECK:   fsdp.group @"h.0&head" on @mesh policy <param = f32, reduce = f32, output = bf16, cast_inputs = true> reshard never attributes {
//  CHECK-SAME:     output_dtype = "rule 'head'", param_dtype = "rule 'head'", recompute = "default", reduce_dtype = "rule '.*'"
//  CHECK-NEXT:     fsdp.member @h.0.weight
//  CHECK-NEXT:     fsdp.member @head.weight
//       CHECK:   fsdp.group @h.1 on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default
//  CHECK-SAME:     cast_forward_inputs = "default"
//       CHECK:   fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default
//       CHECK:   fsdp.module "h.0" : "Linear" group @"h.0&head" (
//       CHECK:   fsdp.module "head" : "Linear" group @"h.0&head" (

module @repeated_blocks {
  fsdp.parameter @h.0.weight : tensor<4x4xf32>
  fsdp.parameter @h.1.weight : tensor<4x4xf32>
  fsdp.parameter @head.weight : tensor<2x4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %0 = fsdp.module "h.0" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %1 = fsdp.module "h.1" : "Linear" (%in = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.1.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %2 = fsdp.module "head" : "Linear" (%in = %1 : tensor<8x4xf32>) -> tensor<8x2xf32> {
      %weight = fsdp.read @head.weight : tensor<2x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
      fsdp.yield %out : tensor<8x2xf32>
    }
    return %2 : tensor<8x2xf32>
  }
}
