// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=bias" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=(:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=bias:weight_decay=0;b.*:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=NOTHING

// RUN: shardc-opt %s --shardc-set-hyperparameters="rules=frozen:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=FROZEN

// What is frozen has no update: a recipe for many models may name it.
// FROZEN: warning: the parameter group 'frozen' has no parameter that is trained
// FROZEN: fsdp.member @frozen{{$}}

// MALFORMED: error: E0205: expected PATTERN:KEY=NUMBER[,KEY=NUMBER], got 'bias'
// INVALID: error: E0205: '(' is not a regular expression: {{.+}}

// The first rule that matches holds.
// NOTHING: error: E0206: 'b.*' matches no parameter that earlier rules left
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
