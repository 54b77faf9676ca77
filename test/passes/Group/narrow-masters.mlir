// RUN: shardc-opt %s --shardc-narrow-masters="master-dtype=bf16 rounding=stochastic" 2>&1 | FileCheck %s
// RUN: shardc-opt %s --shardc-narrow-masters="master-dtype=bf16" 2>&1 | FileCheck %s --check-prefix=NEAREST

// What is trained is kept in bf16; what is not stays, and so does f64.
// CHECK-NOT: warning
// CHECK-LABEL: module @kept_in_bf16
//  CHECK-NEXT:   fsdp.parameter @w : tensor<2xbf16>
//  CHECK-NEXT:   fsdp.parameter frozen @v : tensor<2xf32>
//  CHECK-NEXT:   fsdp.parameter @d : tensor<2xf64>

// Rounding to nearest loses small steps: once for the model.
// NEAREST: warning: 'w' is kept in 'bf16' and rounded to nearest: steps below half a unit in its last place, 2^-9 of its size, are lost
// NEAREST: note: help: --rounding stochastic keeps their mean
// NEAREST-NOT: warning
module @kept_in_bf16 {
  fsdp.parameter @w : tensor<2xf32>
  fsdp.parameter frozen @v : tensor<2xf32>
  fsdp.parameter @d : tensor<2xf64>
  fsdp.parameter @b : tensor<2xbf16>
}
