// RUN: split-file %s %t
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="world-size=0" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.9" 2>&1 | FileCheck %s --check-prefix=NO-MATCH
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0,[" 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="param-dtype=int8" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="reduce-dtype=fp8" 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="reshard=often" 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: not shardc-opt %t/other.mlir --shardc-assign-groups 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: not shardc-opt %t/narrow.mlir --shardc-assign-groups 2>&1 | FileCheck %s --check-prefix=NARROW

// A master that the optimizer steps is f32 or f64; a frozen one may be narrow.
// NARROW: error: E0136: 'w' is a trainable parameter of 'bf16', expected f32 or f64
// NARROW: note: help: export the model in float32 and compile it with --param-dtype bf16

// A mesh has a rank at least.
// RANKS: error: E0201: expected at least 1 rank, got 0

// A pattern that chooses nothing is a mistake; the closest paths help to find it.
// NO-MATCH: error: E0202: no module path matches 'h.9'
// NO-MATCH: note: the closest of 3 modules that forward calls: 'h.0', 'h.1', 'head'

// Only the pattern that is wrong is named.
// INVALID: error: E0203: '[' is not a regular expression: {{.+}}

// DTYPE: error: E0204: expected param-dtype f32, bf16, f16 or f64, got 'int8'
// REDUCE: error: E0204: expected reduce-dtype f32, bf16, f16 or f64, got 'fp8'
// RESHARD: error: E0204: expected reshard always, never or default, got 'often'

// FORWARD: error: expected a function @forward

//--- model.mlir
module @three_modules {
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.module "head" : "ReLU" (%in = %x : tensor<f32>) -> tensor<f32> {
      %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
      fsdp.yield %out : tensor<f32>
    }
    %1 = fsdp.module "h.0" : "ReLU" (%in = %0 : tensor<f32>) -> tensor<f32> {
      %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
      fsdp.yield %out : tensor<f32>
    }
    %2 = fsdp.module "h.1" : "ReLU" (%in = %1 : tensor<f32>) -> tensor<f32> {
      %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
      fsdp.yield %out : tensor<f32>
    }
    return %2 : tensor<f32>
  }
}

//--- other.mlir
module @no_forward {
}

//--- narrow.mlir
module @narrow {
  fsdp.parameter frozen @v : tensor<2xbf16>
  fsdp.parameter @w : tensor<2xbf16>
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
