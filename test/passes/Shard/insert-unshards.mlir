// RUN: shardc-opt %s --split-input-file --shardc-insert-unshards | FileCheck %s

// Both parameters are views of one value, which exists from the first of them.
// The loss is recorded instead of returned.
// CHECK-LABEL: module @one_unshard_a_group
//       CHECK:   func.func @step(%[[X:.*]]: tensor<4xf32> {shardc.name = "x"}) {
//  CHECK-NEXT:     fsdp.begin forward
//  CHECK-NEXT:     %[[RELU:.*]] = aten.relu %[[X]]
//  CHECK-NEXT:     %[[WHOLE:.*]] = fsdp.unshard @root
//  CHECK-NEXT:     %[[SCALE:.*]] = fsdp.view %[[WHOLE]][@scale] : {{.*}} -> tensor<4xbf16>
//  CHECK-NEXT:     %[[SCALED:.*]] = aten.mul %[[RELU]], %[[SCALE]]
//  CHECK-NEXT:     %[[SHIFT:.*]] = fsdp.view %[[WHOLE]][@shift]
//  CHECK-NEXT:     %[[SHIFTED:.*]] = aten.add %[[SCALED]], %[[SHIFT]]
//  CHECK-NEXT:     %[[LOSS:.*]] = aten.sum %[[SHIFTED]]
//  CHECK-NEXT:     fsdp.record_loss %[[LOSS]] : tensor<f32>
//  CHECK-NEXT:     return
module @one_unshard_a_group {
  fsdp.parameter @scale : tensor<4xf32>
  fsdp.parameter @shift : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 128 shard 32 {
      fsdp.member @scale at 0
      fsdp.member @shift at 32
    }
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %scale = fsdp.read @scale : tensor<4xbf16>
    %1 = aten.mul %0, %scale : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
    %shift = fsdp.read @shift : tensor<4xbf16>
    %2 = aten.add %1, %shift : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
    %loss = aten.sum %2 [0] : (tensor<4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Each group becomes whole where its own first parameter is used.
// CHECK-LABEL: module @groups_in_the_order_of_their_use
//       CHECK:   fsdp.unshard @h.1
//       CHECK:   aten.mul
//       CHECK:   fsdp.unshard @h.0
//       CHECK:   aten.mul
module @groups_in_the_order_of_their_use {
  fsdp.parameter @h.0.w : tensor<f32>
  fsdp.parameter @h.1.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h.0.w at 0
    }
  }
  fsdp.group @h.1 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h.1.w at 0
    }
  }
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.read @h.1.w : tensor<f32>
    %1 = aten.mul %x, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = fsdp.read @h.0.w : tensor<f32>
    %3 = aten.mul %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// A tied parameter, or a module called twice, is read twice and viewed once.
// CHECK-LABEL: module @one_view_a_parameter
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//   CHECK-NOT:   fsdp.view
//       CHECK:   aten.mul %[[W]], %[[W]]
module @one_view_a_parameter {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @forward() -> tensor<f32> {
    %0 = fsdp.read @w : tensor<f32>
    %1 = fsdp.read @w : tensor<f32>
    %2 = aten.mul %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Buffers are whole on every rank: nothing is gathered.
// CHECK-LABEL: module @buffers_stay_read
//   CHECK-NOT:   fsdp.unshard
//       CHECK:   %[[MEAN:.*]] = fsdp.read @mean : tensor<f32>
//       CHECK:   fsdp.record_loss %[[MEAN]]
module @buffers_stay_read {
  fsdp.buffer @mean : tensor<f32>
  func.func @forward() -> tensor<f32> {
    %0 = fsdp.read @mean : tensor<f32>
    return %0 : tensor<f32>
  }
}
