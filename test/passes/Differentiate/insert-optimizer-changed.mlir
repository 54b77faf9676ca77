// RUN: shardc-opt %s --shardc-insert-optimizer | FileCheck %s

// The step of a parameter that forward changes starts from the new value, which
// is computed once more from the whole segment. Others of the segment stay.
// CHECK-LABEL: module @clipped
//       CHECK:   fsdp.begin forward
//       CHECK:   %[[CLIPPED:.*]] = aten.clamp
//   CHECK-NOT:   fsdp.write
//       CHECK:   fsdp.begin update
//       CHECK:   %[[SHARD:.*]] = fsdp.read_shard @root[0] : tensor<8xf32>
//  CHECK-NEXT:   %[[WHOLE:.*]]:2 = fsdp.gather_shard %[[SHARD]] of @root[0] : tensor<8xf32> -> tensor<4xf32>, tensor<3x4xf32>
//  CHECK-NEXT:   %[[AGAIN:.*]] = aten.clamp %[[WHOLE]]#1 {max = 1.000000e+00 : f32, min = -1.000000e+00 : f32}
//  CHECK-NEXT:   %[[NEW:.*]] = fsdp.take_shard %[[WHOLE]]#0, %[[AGAIN]] of @root[0]
//       CHECK:   fsdp.update "sgd" (%{{.*}} = %[[NEW]] : tensor<8xf32>,
//       CHECK:   fsdp.write_shard %{{.*}}, @root[0] : tensor<8xf32>
module @clipped {
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.parameter @weight : tensor<3x4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 8 {
      fsdp.member @bias at 0
      fsdp.member @weight at 4
    }
  }
  func.func @step(%x: tensor<4xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : <@root>
    %weight = fsdp.view %root[@weight] : <@root> -> tensor<3x4xf32>
    %clipped = aten.clamp %weight {min = -1.0 : f32, max = 1.0 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    fsdp.write %clipped, @weight : tensor<3x4xf32>
    fsdp.begin backward
    %0 = fsdp.reduce_scatter @root [@bias, @weight](%x, %clipped) : (tensor<4xf32>, tensor<3x4xf32>) -> !fsdp.shard<@root>
    return
  }
}
