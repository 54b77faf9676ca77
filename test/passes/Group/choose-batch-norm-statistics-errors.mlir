// RUN: split-file %s %t
// RUN: shardc-opt %t/word.mlir --verify-diagnostics --shardc-choose-batch-norm-statistics=stats=global
// RUN: shardc-opt %t/values.mlir --verify-diagnostics --shardc-choose-batch-norm-statistics
// RUN: shardc-opt %t/values.mlir --shardc-choose-batch-norm-statistics=stats=sync | FileCheck %s

//--- word.mlir

// expected-error@+1 {{E0204: expected local, sync or broadcast for batch norm statistics, got 'global'}}
module @unknown_word {
}

//--- values.mlir

// One sample of a rank is its own mean; two ranks' are two samples.
// CHECK: aten.batch_norm {{.*}}synchronized
module @one_value {
  fsdp.buffer @running_mean : tensor<3xf32>
  fsdp.mesh @mesh <shard = 2>
  func.func @forward(%x: tensor<1x3xf32>, %s: tensor<3xf32>) -> tensor<1x3xf32> {
    // expected-error@+2 {{E0136: expected more than one value per channel in training, got input 'tensor<1x3xf32>'}}
    // expected-note@+1 {{help: give the micro-batch more samples}}
    %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %x running(%s, %s) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64} : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    fsdp.write %mean, @running_mean : tensor<3xf32>
    return %y : tensor<1x3xf32>
  }
}
