// RUN: shardc-opt %s --shardc-apply-parameter-rules="rules='h[.].*:lr_scale=0.5,weight_decay=0.1; .*bias:weight_decay=0; other:frozen=true'" | FileCheck %s
// RUN: shardc-opt %s --shardc-apply-parameter-rules="rules='h[.].*:lr_scale=0.5,weight_decay=0.1; .*bias:weight_decay=0; other:frozen=true'" --shardc-layout-groups | FileCheck %s --check-prefix=LAYOUT

// Each key has the value of the last rule; a tied parameter is found by each of its
// names; a frozen one has no update.
// CHECK-LABEL: module @last_rule_holds
//       CHECK:   fsdp.parameter frozen @other
//       CHECK:     fsdp.member @h.weight with {lr_scale = 5.000000e-01 : f64, weight_decay = 1.000000e-01 : f64}
//  CHECK-NEXT:     fsdp.member @h.bias with {lr_scale = 5.000000e-01 : f64, weight_decay = 0.000000e+00 : f64}
//  CHECK-NEXT:     fsdp.member @tied with {lr_scale = 5.000000e-01 : f64, weight_decay = 1.000000e-01 : f64}
//  CHECK-NEXT:     fsdp.member @other{{$}}
//  CHECK-NEXT:     fsdp.member @h.frozen{{$}}

// One update is one segment.
// LAYOUT-LABEL: module @last_rule_holds
//       LAYOUT:     fsdp.segment f32 reduce f32 elements 32 shard 16 with {lr_scale = 5.000000e-01 : f64, weight_decay = 1.000000e-01 : f64} {
//  LAYOUT-NEXT:       fsdp.member @h.weight at 0
//  LAYOUT-NEXT:       fsdp.member @tied at 16
//       LAYOUT:     fsdp.segment f32 reduce f32 elements 32 shard 16 with {lr_scale = 5.000000e-01 : f64, weight_decay = 0.000000e+00 : f64} {
//  LAYOUT-NEXT:       fsdp.member @h.bias at 0
//       LAYOUT:     fsdp.segment frozen f32 reduce f32 elements 32 shard 16 {
//  LAYOUT-NEXT:       fsdp.member @other at 0
//  LAYOUT-NEXT:       fsdp.member @h.frozen at 16
module @last_rule_holds {
  fsdp.parameter @h.weight : tensor<4xf32>
  fsdp.parameter @h.bias : tensor<4xf32>
  fsdp.parameter @tied aliases ["h.tied"] : tensor<4xf32>
  fsdp.parameter @other : tensor<4xf32>
  fsdp.parameter frozen @h.frozen : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @h.weight
    fsdp.member @h.bias
    fsdp.member @tied
    fsdp.member @other
    fsdp.member @h.frozen
  }
}
