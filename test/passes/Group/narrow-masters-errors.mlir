// RUN: not shardc-opt %s --shardc-narrow-masters 2>&1 | FileCheck %s

// A master that the optimizer steps is f32, f64 or bf16; a frozen one may be
// narrower.
// CHECK: error: E0136: trainable parameter 'w' has dtype 'f16', expected f32, f64 or bf16
// CHECK: note: help: export the model in float32 and compile it with --param-dtype bf16
module @narrow {
  fsdp.parameter frozen @v : tensor<2xf16>
  fsdp.parameter @w : tensor<2xf16>
}
