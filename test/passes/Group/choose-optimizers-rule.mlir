// RUN: shardc-opt %s --shardc-choose-optimizers=optimizer=muon | FileCheck %s

// A rule may want muon for a table.
// CHECK-LABEL: module @a_table_by_rule
//       CHECK:     fsdp.member @embed.weight with {optimizer = "muon"}
module @a_table_by_rule {
  fsdp.parameter @embed.weight : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @embed.weight with {optimizer = "muon"}
  }
  func.func @forward(%i: tensor<3xi64>) -> tensor<3x2xf32> {
    %table = fsdp.read @embed.weight : tensor<4x2xf32>
    %x = aten.embedding %table, %i {padding_idx = -1 : i64} : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    return %x : tensor<3x2xf32>
  }
}
