// RUN: %exits 1 shardc plan %s --world-size 2 --machine h100-sxm --optimizer adamw 2>&1 | FileCheck %s

// What is known without the operator: states of 72 f32 elements on two ranks,
// rounded up to whole vectors, among others.
// CHECK: shardc: error E0240: operator 'aten.linalg_eigh' has no kernel for GPUs
// CHECK: shardc: remark: a rank keeps 804 B between steps, of the 79.6 GiB of h100-sxm: parameter {{[0-9]+}} B, gradient {{[0-9]+}} B, exp_avg {{[0-9]+}} B, exp_avg_sq {{[0-9]+}} B{{.*}}; activations and time are not known
module @eigenvalues {
  fsdp.parameter @model.weight : tensor<8x8xf32>
  fsdp.parameter @model.bias : tensor<8xf32>
  func.func @forward(%x: tensor<4x8xf32> {shardc.name = "inputs"}) -> tensor<f32> {
    %y = fsdp.module "model" : "Linear" (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %weight = fsdp.read @model.weight : tensor<8x8xf32>
      %bias = fsdp.read @model.bias : tensor<8xf32>
      %1 = aten.linear %0, %weight, %bias : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      fsdp.yield %1 : tensor<4x8xf32>
    }
    %columns = aten.view %y [4, 8, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %rows = aten.view %y [4, 1, 8] : (tensor<4x8xf32>) -> tensor<4x1x8xf32>
    %matrices = aten.mul %columns, %rows : (tensor<4x8x1xf32>, tensor<4x1x8xf32>) -> tensor<4x8x8xf32>
    %values, %vectors = aten.linalg_eigh %matrices : (tensor<4x8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8x8xf32>)
    %loss = aten.sum %values [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
