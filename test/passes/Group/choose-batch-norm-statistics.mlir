// RUN: shardc-opt %s --split-input-file --shardc-choose-batch-norm-statistics 2>&1 | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-choose-batch-norm-statistics=stats=sync | FileCheck %s --check-prefix=SYNC
// RUN: shardc-opt %s --split-input-file --shardc-choose-batch-norm-statistics=stats=broadcast | FileCheck %s --check-prefix=BROADCAST
// RUN: shardc-opt %s --split-input-file --shardc-choose-batch-norm-statistics=stats=local | FileCheck %s --check-prefix=LOCAL

// A SyncBatchNorm is of the batch of all ranks; other ranks' statistics differ,
// which is said once.
//       CHECK: warning: 1 BatchNorm uses per-rank batch statistics, so running statistics differ between ranks
// CHECK-LABEL: module @as_the_model_says
//       CHECK:   fsdp.module "own" : "BatchNorm2d"
//       CHECK:     aten.batch_norm
//   CHECK-NOT:     synchronized
//       CHECK:   fsdp.module "all" : "SyncBatchNorm"
//       CHECK:     aten.batch_norm {{.*}}synchronized
//  SYNC-LABEL: module @as_the_model_says
//        SYNC:   aten.batch_norm {{.*}}synchronized
//        SYNC:   aten.batch_norm {{.*}}synchronized
// BROADCAST-LABEL: module @as_the_model_says
//       BROADCAST:   fsdp.module "own" : "BatchNorm2d"
//   BROADCAST-NOT:     synchronized
//       BROADCAST:   fsdp.module "all" : "SyncBatchNorm"
//       BROADCAST:     aten.batch_norm {{.*}}synchronized
// LOCAL-LABEL: module @as_the_model_says
//   LOCAL-NOT:   synchronized
module @as_the_model_says {
  fsdp.buffer @own.running_mean : tensor<3xf32>
  fsdp.mesh @mesh <shard = 2>
  func.func @forward(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
    %0 = fsdp.module "own" : "BatchNorm2d" (%in = %x : tensor<2x3xf32>, %t = %s : tensor<3xf32>) -> tensor<2x3xf32> {
      %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %in running(%t, %t) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      fsdp.write %mean, @own.running_mean : tensor<3xf32>
      fsdp.yield %y : tensor<2x3xf32>
    }
    %1 = fsdp.module "all" : "SyncBatchNorm" (%in = %0 : tensor<2x3xf32>, %t = %s : tensor<3xf32>) -> tensor<2x3xf32> {
      %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %in running(%t, %t) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      fsdp.yield %y : tensor<2x3xf32>
    }
    return %1 : tensor<2x3xf32>
  }
}
