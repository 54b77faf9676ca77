// RUN: shardc-opt %s --shardc-assign-groups="world-size=16 replicate=2 reshard=4 rules='h.0:reshard_after_forward=2;h.1:reshard_after_forward=8;.*head:reshard_after_forward=1' wrap=blocks,head" | FileCheck %s
// RUN: shardc-opt %s --shardc-assign-groups="world-size=4 pipeline-stage=true rules=h.1:reshard_after_forward=always" | FileCheck %s --check-prefix=STAGE

// Replicas are the mesh's first axis, and the ranks that groups are resharded to
// its last ones. All ranks of a replica are `always`, and one keeps the whole.
// CHECK-LABEL: module @repeated_blocks
//       CHECK:   fsdp.mesh @mesh <replicate = 2, shard = 2, within_4 = 2, within_2 = 2>
//  CHECK-NEXT:   fsdp.group @h.0 on @mesh policy <> reshard always to 2 {
//       CHECK:   fsdp.group @h.1 on @mesh policy <> reshard always {
//       CHECK:   fsdp.group @head on @mesh policy <> reshard never {
//       CHECK:   fsdp.group @root on @mesh policy <> reshard always to 4 {

// In a stage of a pipeline the default keeps groups whole.
// STAGE-LABEL: module @repeated_blocks
//       STAGE:   fsdp.group @h.0 on @mesh policy <> reshard never {
//       STAGE:   fsdp.group @h.1 on @mesh policy <> reshard always {
//       STAGE:   fsdp.group @root on @mesh policy <> reshard never {
module @repeated_blocks {
  fsdp.parameter @h.0.weight : tensor<4x4xf32>
  fsdp.parameter @h.1.weight : tensor<4x4xf32>
  fsdp.parameter @head.weight : tensor<2x4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %0 = fsdp.module "h.0" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %1 = fsdp.module "h.1" : "Linear" (%in = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.1.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %2 = fsdp.module "head" : "Linear" (%in = %1 : tensor<8x4xf32>) -> tensor<8x2xf32> {
      %weight = fsdp.read @head.weight : tensor<2x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
      fsdp.yield %out : tensor<8x2xf32>
    }
    return %2 : tensor<8x2xf32>
  }
}
