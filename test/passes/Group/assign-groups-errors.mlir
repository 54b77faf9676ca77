// RUN: split-file %s %t
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="world-size=0" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="world-size=8 replicate=3" 2>&1 | FileCheck %s --check-prefix=REPLICAS
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="world-size=12 reshard=5" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="world-size=12 reshard=4 rules=h.0:reshard_after_forward=6" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.9" 2>&1 | FileCheck %s --check-prefix=NO-MATCH
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0,[" 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=blocks:0" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="param-dtype=int8" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="reduce-dtype=fp8" 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="reshard=often" 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0,h.*" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=>=0" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="rules=h.0:param_dtipe=f32" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="rules=(:param_dtype=f32" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="rules=h.2:param_dtype=f32" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0 rules=h.1:param_dtype=f32" 2>&1 | FileCheck %s --check-prefix=ROOT
// RUN: not shardc-opt %t/nested.mlir --shardc-assign-groups="wrap=h rules=h.fc:param_dtype=f32" 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0&h.1 rules='h.0:param_dtype=f32; h.1:param_dtype=bf16'" 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0&h.1 rules='.*:param_dtype=f32; h.1:param_dtype=bf16'" 2>&1 | FileCheck %s --check-prefix=GENERAL
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0&h.1 rules='h.0&h.1:param_dtype=f32'" 2>&1 | FileCheck %s --check-prefix=TOGETHER
// RUN: not shardc-opt %t/model.mlir --shardc-assign-groups="wrap=h.0 recompute=alternat" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shardc-opt %t/other.mlir --shardc-assign-groups 2>&1 | FileCheck %s --check-prefix=FORWARD

// A mesh has a rank at least.
// RANKS: error: E0201: expected at least 1 rank, got 0

// Replicas, and ranks to reshard to, are equally many.
// REPLICAS: error: E0201: the number of replicas must divide the number of ranks, got 3 replicas and 8 ranks; did you mean --replicate 2?
// PART: error: E0204: expected --reshard to divide the 12 ranks that parameters are sharded across, got 5; did you mean 4?
// PARTS: error: E0204: expected at most 3 different values of reshard_after_forward, each dividing the next larger one, got 6 and 4

// A pattern that chooses nothing is a mistake; the closest paths help to find it.
// NO-MATCH: error: E0202: no module path matches 'h.9'
// NO-MATCH: note: closest module paths (of 3): 'h.0', 'h.1', 'head'

// Only the pattern that is wrong is named.
// INVALID: error: E0203: '[' is not a regular expression: {{.+}}

// A module is in one group at most.
// TWICE: error: E0207: the module 'h.0' is wrapped by 'h.0' and by 'h.*'
// SIZE: error: E0203: '>=0' is not a valid entry: expected a whole number of parameters, such as >=1000000
// BLOCKS: error: E0203: 'blocks:0' is not a valid entry: expected a positive number of blocks

// DTYPE: error: E0204: expected f32, bf16, f16 or none for param_dtype, got 'int8'
// REDUCE: error: E0204: expected f32, bf16, f16 or none for reduce_dtype, got 'fp8'
// RESHARD: error: E0204: expected always, never, default or a number of ranks for reshard_after_forward, got 'often'

// A rule names what is wrong with it, and the nearest choice.
// KEY: error: E0205: unknown key 'param_dtipe'; did you mean 'param_dtype'? (keys: param_dtype, {{.*}}) in 'h.0:param_dtipe=f32'
// PATTERN: error: E0205: '(' is not a regular expression: {{.+}}
// NOTHING: error: E0206: the rule 'h.2' matches no module path
// NOTHING: note: closest module paths (of 3): 'h.0', 'h.1', 'head'
// ROOT: error: E0208: the rule 'h.1' is for the module 'h.1', which is not wrapped: its parameters belong to the root
// ROOT: note: help: wrap it, or give the rule to the root, whose path is ''
// INSIDE: error: E0208: the rule 'h.fc' is for the module 'h.fc', which is not wrapped: its parameters belong to group 'h'
// INSIDE: note: help: wrap it, or give the rule to 'h'
// CONTRADICTION: error: E0209: the modules 'h.0' and 'h.1' are one group, but the rules 'h.0' and 'h.1' set different values of param_dtype: f32 and bf16
// CONTRADICTION: note: help: a group has one policy: give its modules the same value (a rule for a whole path wins over patterns, and the last one over those before it), or wrap them as groups of their own
// GENERAL: error: E0209: the modules 'h.0' and 'h.1' are one group, but the rules '.*' and 'h.1' set different values of param_dtype: f32 and bf16
// TOGETHER: error: E0206: the rule 'h.0&h.1' matches no module path
// TOGETHER: note: help: rules match module paths, not groups: for a group of several modules, name one of them, or all as 'a|b'
// FORM: error: E0202: no module path matches 'alternat'
// FORM: note: help: --recompute is either one of 'none', 'full', 'selective', 'alternate' and 'auto', or a list of module patterns

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

//--- nested.mlir
module @nested {
  fsdp.parameter @h.fc.weight : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    %0 = fsdp.module "h" : "Block" (%in = %x : tensor<4xf32>) -> tensor<4xf32> {
      %1 = fsdp.module "h.fc" : "Scale" (%inner = %in : tensor<4xf32>) -> tensor<4xf32> {
        %weight = fsdp.read @h.fc.weight : tensor<4xf32>
        %out = aten.mul %inner, %weight : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        fsdp.yield %out : tensor<4xf32>
      }
      fsdp.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}

//--- other.mlir
module @no_forward {
}
