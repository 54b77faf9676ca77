// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=bias" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=(:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not shardc-opt %s --shardc-set-hyperparameters="rules=frozen:weight_decay=0" 2>&1 | FileCheck %s --check-prefix=NOTHING

// MALFORMED: error: E0205: expected PATTERN:KEY=NUMBER[,KEY=NUMBER], got 'bias'
// INVALID: error: E0205: '(' is not a regular expression: {{.+}}

// What is frozen has no update.
// NOTHING: error: E0206: 'frozen' matches no trained parameter that earlier rules left
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
