// RUN: shardc-opt %s --split-input-file --shardc-verify-imported | FileCheck %s

// I1 to I6 hold: named inputs, one scalar loss, modules, state of the declared
// types.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @fc.weight : tensor<4x16xf32>
  fsdp.buffer @count : tensor<i64>
  func.func @forward(%input: tensor<8x16xf32> {shardc.name = "input"},
                     %target: tensor<8xi64> {shardc.name = "target"}) -> tensor<f32> {
    %logits = fsdp.module "fc" : "Linear" (%x = %input : tensor<8x16xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @fc.weight : tensor<4x16xf32>
      %out = aten.linear %x, %weight : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %old = fsdp.read @count : tensor<i64>
    %new = aten.add.Scalar %old, 1 : i64 : (tensor<i64>) -> tensor<i64>
    fsdp.write %new, @count : tensor<i64>
    %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %logits, %target
        {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
        : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
    return %loss : tensor<f32>
  }
}
