// RUN: shardc-opt %s --shardc-broadcast-statistics | FileCheck %s

// Statistics of batch norms are the first rank's when the step has ended;
// another buffer stays each rank's own.
// CHECK-LABEL: module @after_the_step
//       CHECK:   fsdp.begin update
//  CHECK-NEXT:   %[[OWN:.*]] = fsdp.read @running_mean : tensor<3xf32>
//  CHECK-NEXT:   %[[FIRST:.*]] = fsdp.broadcast %[[OWN]] : tensor<3xf32>
//  CHECK-NEXT:   fsdp.write %[[FIRST]], @running_mean : tensor<3xf32>
//  CHECK-NEXT:   return
module @after_the_step {
  fsdp.buffer @running_mean : tensor<3xf32>
  fsdp.buffer @average : tensor<2x3xf32>
  func.func @step(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
    fsdp.begin forward
    %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %x running(%s, %s)
        {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
        : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
        -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    fsdp.write %mean, @running_mean : tensor<3xf32>
    fsdp.write %y, @average : tensor<2x3xf32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
}
