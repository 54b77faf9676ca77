// RUN: shardc-opt %s --split-input-file --shardc-narrow-masters="master-dtype=bf16 rounding=stochastic" 2>&1 | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-narrow-masters="master-dtype=bf16" 2>&1 | FileCheck %s --check-prefix=NEAREST

// RUN: shardc-opt %s --split-input-file --shardc-narrow-masters="rounding=stochastic" 2>&1 | FileCheck %s --check-prefix=NOTHING

// What is trained is kept in bf16; what is not stays, and so does f64.
// CHECK-NOT: warning
// CHECK-LABEL: module @kept_in_bf16
//  CHECK-NEXT:   fsdp.parameter @w : tensor<2xbf16>
//  CHECK-NEXT:   fsdp.parameter frozen @v : tensor<2xf32>
//  CHECK-NEXT:   fsdp.parameter @d : tensor<2xf64>

// Rounding to nearest loses small steps: once for the model.
// NEAREST: warning: parameters such as 'w' are kept in 'bf16' and rounded to nearest: updates smaller than half a unit in the last place (2^-9 to 2^-8 of the parameter's magnitude) are lost
// NEAREST: note: help: --rounding stochastic keeps updates on average
module @kept_in_bf16 {
  fsdp.parameter @w : tensor<2xf32>
  fsdp.parameter frozen @v : tensor<2xf32>
  fsdp.parameter @d : tensor<2xf64>
  fsdp.parameter @b : tensor<2xbf16>
}

// -----

// The affine parameters of a batch norm stay f32, beside its statistics.
// CHECK-LABEL: module @batch_norm_stays_f32
//  CHECK-NEXT:   fsdp.parameter @bn.weight : tensor<4xf32>
//  CHECK-NEXT:   fsdp.parameter @w : tensor<4xbf16>
module @batch_norm_stays_f32 {
  fsdp.parameter @bn.weight : tensor<4xf32>
  fsdp.parameter @w : tensor<4xf32>
  fsdp.buffer @bn.running_mean : tensor<4xf32>
  fsdp.buffer @bn.running_var : tensor<4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @bn.weight : tensor<4xf32>
    %w = fsdp.read @w : tensor<4xf32>
    %mean = fsdp.read @bn.running_mean : tensor<4xf32>
    %var = fsdp.read @bn.running_var : tensor<4xf32>
    %out:5 = aten.batch_norm %x running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %0 = aten.mul %out#0, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// What has nothing to round says so.
// NOTHING: warning: no trained parameter is kept in bf16, so stochastic rounding has no effect
// NOTHING: module @nothing_to_round
module @nothing_to_round {
  fsdp.parameter @w : tensor<2xf32>
}
