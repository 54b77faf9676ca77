// RUN: not shardc-opt %s --shardc-apply-parameter-rules="rules=bias" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not shardc-opt %s --shardc-apply-parameter-rules="rules=(:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not shardc-opt %s --shardc-apply-parameter-rules="rules=b:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=NOTHING

// RUN: not shardc-opt %s --shardc-apply-parameter-rules="rules='bias:lr_scale=1; bias:lr_scale=2'" 2>&1 | FileCheck %s --check-prefix=CONTRADICTION

// CONTRADICTION: error: E0209: the rules 'bias' and 'bias' set different values of lr_scale for one parameter: 1 and 2

// RUN: not shardc-opt %s --shardc-apply-parameter-rules="rules=bias:ignored=true" 2>&1 | FileCheck %s --check-prefix=IGNORED
// RUN: shardc-opt %s --shardc-apply-parameter-rules="rules='.*:ignored=true;bias:frozen=true'" 2>&1 | FileCheck %s --check-prefix=BOTH

// Ranks would part.
// IGNORED: error: E0211: 'bias' is ignored and trained: its gradients would not be reduced
// IGNORED: note: help: add frozen=true, or leave out ignored=true
// BOTH: fsdp.parameter frozen @bias
// BOTH: fsdp.member @bias keep f32
// BOTH: fsdp.member @frozen keep f32

// RUN: shardc-opt %s --shardc-apply-parameter-rules="rules=frozen:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=FROZEN

// What is frozen has no update: a recipe for many models may name it.
// FROZEN: warning: the rule 'frozen' has no effect: it matches no trained parameter, or other rules override it
// FROZEN: fsdp.member @frozen{{$}}

// MALFORMED: error: E0205: expected PATTERN:KEY=VALUE[,KEY=VALUE], got 'bias'
// INVALID: error: E0205: '(' is not a regular expression: {{.+}}

// Patterns match whole names.
// NOTHING: error: E0206: 'b' matches no parameter
// NOTHING: note: help: patterns match whole names, as in '.*\.bias'
module @two_parameters {
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.parameter frozen @frozen : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @bias
    fsdp.member @frozen
  }
}
