// RUN: shardc-opt %s --split-input-file --shardc-keep-changed-parameters | FileCheck %s

// A weight that forward clips is gathered as its master has it; the bias follows
// the policy.
// CHECK-LABEL: module @clipped
//       CHECK:     fsdp.member @weight keep f32
//  CHECK-NEXT:     fsdp.member @bias{{$}}
module @clipped {
  fsdp.parameter @weight : tensor<4x4xf32>
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @weight
    fsdp.member @bias
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @weight : tensor<4x4xf32>
    %clipped = aten.clamp %weight {min = -1.0 : f32, max = 1.0 : f32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    fsdp.write %clipped, @weight : tensor<4x4xf32>
    %bias = fsdp.read @bias : tensor<4xf32>
    %out = aten.linear %x, %clipped, %bias : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    return %out : tensor<8x4xf32>
  }
}

// -----

// Without a policy, and for a buffer, there is nothing to keep.
// CHECK-LABEL: module @nothing_to_keep
//       CHECK:     fsdp.member @weight{{$}}
module @nothing_to_keep {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %clipped = aten.clamp %weight {min = -1.0 : f32, max = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.write %clipped, @weight : tensor<4xf32>
    fsdp.write %x, @mean : tensor<4xf32>
    return %clipped : tensor<4xf32>
  }
}
