// RUN: shardc-opt %s --split-input-file --shardc-verify-grouped | FileCheck %s

// G1 to G6: each parameter in one group of a declared mesh, one root, and the
// block's parameter read inside of the block.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @h.0.scale : tensor<f32>
  fsdp.parameter @scale : tensor<f32>
  fsdp.buffer @offset : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @h.0 on @mesh policy <param = bf16> reshard default {
    fsdp.member @h.0.scale keep f32
  }
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @scale
  }
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.module "h.0" : "Block" group @h.0 (%in = %x : tensor<f32>) -> tensor<f32> {
      %inner = fsdp.module "h.0.mul" : "Scale" (%a = %in : tensor<f32>) -> tensor<f32> {
        %scale = fsdp.read @h.0.scale : tensor<f32>
        %out = aten.mul %a, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
        fsdp.yield %out : tensor<f32>
      }
      %scale = fsdp.read @scale : tensor<f32>
      %offset = fsdp.read @offset : tensor<f32>
      %1 = aten.mul %inner, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = aten.add %1, %offset : (tensor<f32>, tensor<f32>) -> tensor<f32>
      fsdp.yield %2 : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----

// G6: a root without parameters still has the model's policy.
// CHECK-LABEL: module @empty_root
module @empty_root {
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard never {
  }
}
