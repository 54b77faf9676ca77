// RUN: shardc-opt %s --split-input-file --shardc-keep-batch-norm-f32 | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-keep-batch-norm-f32 --remarks-filter='shardc-keep-batch-norm-f32' 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: shardc-opt %s --split-input-file --shardc-keep-batch-norm-f32 2>&1 | FileCheck %s --check-prefix=STATISTICS

// Under a bf16 policy, weight and bias of a batch_norm are gathered in f32;
// what else the group has follows the policy.
// CHECK-LABEL: module @affine_stays_f32
//       CHECK:     fsdp.member @bn1.weight keep f32
//  CHECK-NEXT:     fsdp.member @bn1.bias keep f32
//  CHECK-NEXT:     fsdp.member @scale{{$}}

// The remark says what, where, at which cost and why.
//      REMARK: remark: [Passed] keep-f32 | Category:shardc-keep-batch-norm-f32 | Function=bn1
// REMARK-SAME: Reason="in bf16, small updates of running statistics would be rounded away, and f32 statistics need f32 weight and bias"
// REMARK-SAME: Remark="batch_norm affine parameters and statistics stay f32 in module 'bn1'"
// REMARK-SAME: gathered_bytes=32, policy_bytes=16
module @affine_stays_f32 {
  fsdp.parameter @bn1.weight : tensor<4xf32>
  fsdp.parameter @bn1.bias : tensor<4xf32>
  fsdp.parameter @scale : tensor<4xf32>
  fsdp.buffer @bn1.running_mean : tensor<4xf32>
  fsdp.buffer @bn1.running_var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @bn1.weight
    fsdp.member @bn1.bias
    fsdp.member @scale
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %0 = fsdp.module "bn1" : "BatchNorm1d" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @bn1.weight : tensor<4xf32>
      %bias = fsdp.read @bn1.bias : tensor<4xf32>
      %mean = fsdp.read @bn1.running_mean : tensor<4xf32>
      %var = fsdp.read @bn1.running_var : tensor<4xf32>
      %out:5 = aten.batch_norm %in running(%mean, %var) weight(%weight) bias(%bias) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      fsdp.yield %out#0 : tensor<8x4xf32>
    }
    %scale = fsdp.read @scale : tensor<4xf32>
    %1 = aten.mul %0, %scale : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}

// -----

// The parameter is found when the read is outside of the module.
//      REMARK: Remark="batch_norm affine parameters and statistics stay f32 in module 'bn'", gathered_bytes=16, policy_bytes=8
// CHECK-LABEL: module @read_outside_of_the_module
//       CHECK:     fsdp.member @weight keep f32
module @read_outside_of_the_module {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.buffer @var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = f16> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %parameter = fsdp.read @weight : tensor<4xf32>
    %0 = fsdp.module "bn" : "BatchNorm1d" (%in = %x : tensor<8x4xf32>, %weight = %parameter : tensor<4xf32>) -> tensor<8x4xf32> {
      %mean = fsdp.read @mean : tensor<4xf32>
      %var = fsdp.read @var : tensor<4xf32>
      %out:5 = aten.batch_norm %in running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      fsdp.yield %out#0 : tensor<8x4xf32>
    }
    return %0 : tensor<8x4xf32>
  }
}

// -----

// A policy that narrows nothing needs no exception, and there is no remark.
// CHECK-LABEL: module @f32_policy
//       CHECK:     fsdp.member @weight{{$}}
//  REMARK-NOT: remark:
module @f32_policy {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.buffer @var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %mean = fsdp.read @mean : tensor<4xf32>
    %var = fsdp.read @var : tensor<4xf32>
    %out:5 = aten.batch_norm %x running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %out#0 : tensor<8x4xf32>
  }
}

// -----

// What the model's author narrowed stays so, and says that it stalls.
// STATISTICS: warning: the running statistics 'mean' were exported in 'bf16', where small updates are rounded away
// STATISTICS: note: help: export the model in float32
module @narrow_statistics {
  fsdp.buffer @mean : tensor<4xbf16>
  fsdp.buffer @var : tensor<4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %read = fsdp.read @mean : tensor<4xbf16>
    %mean = aten.to %read f32 : (tensor<4xbf16>) -> tensor<4xf32>
    %var = fsdp.read @var : tensor<4xf32>
    %out:5 = aten.batch_norm %x running(%mean, %var) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %out#0 : tensor<8x4xf32>
  }
}
