// RUN: shardc-opt %s --split-input-file --shardc-verify-sharded | FileCheck %s

// S1 to S6 hold: members lie one after another in segments that divide over
// the mesh, and are read as views of one whole value of their group.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @weight : tensor<2x8xf32>
  fsdp.parameter @scale : tensor<8xf32>
  fsdp.parameter @bias : tensor<2xf32>
  fsdp.buffer @mean : tensor<8xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 64 shard 32 {
      fsdp.member @weight at 0
      fsdp.member @bias at 16
    }
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @scale keep f32 at 0
    }
  }
  func.func @step(%x: tensor<4x8xbf16>) {
    fsdp.begin forward
    %mean = fsdp.read @mean : tensor<8xf32>
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<2x8xbf16>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<2xbf16>
    %scale = fsdp.view %root[@scale] : !fsdp.unsharded<@root> -> tensor<8xf32>
    return
  }
}

// -----

// A step of two groups, one of them with a frozen segment.
// CHECK-LABEL: module @accepted_frozen_group
module @accepted_frozen_group {
  fsdp.parameter frozen @embedding : tensor<16xf32>
  fsdp.parameter @head : tensor<16xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @embed on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 16 shard 16 {
      fsdp.member @embedding at 0
    }
  }
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @head at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %0 = fsdp.unshard @embed : !fsdp.unsharded<@embed>
    %1 = fsdp.view %0[@embedding] : !fsdp.unsharded<@embed> -> tensor<16xf32>
    %2 = fsdp.unshard @root : !fsdp.unsharded<@root>
    %3 = fsdp.view %2[@head] : !fsdp.unsharded<@root> -> tensor<16xf32>
    return
  }
}
