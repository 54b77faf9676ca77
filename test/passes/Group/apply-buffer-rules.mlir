// RUN: shardc-opt %s --shardc-apply-buffer-rules="rules='.*book:sync=broadcast; c.*:sync=mean; seen:sync=sum; other:sync=none'" | FileCheck %s

// The last rule holds; a tied buffer is found by each of its names.
// CHECK-LABEL: module @last_rule
//       CHECK:   fsdp.buffer @codebook sync mean : tensor<4xf32>
//       CHECK:   fsdp.buffer @counts aliases ["seen"] sync sum : tensor<4xi64>
//       CHECK:   fsdp.buffer @other sync none : tensor<4xf32>
//       CHECK:   fsdp.buffer @left : tensor<4xf32>
module @last_rule {
  fsdp.buffer @codebook : tensor<4xf32>
  fsdp.buffer @counts aliases ["seen"] : tensor<4xi64>
  fsdp.buffer @other : tensor<4xf32>
  fsdp.buffer @left : tensor<4xf32>
  func.func @forward(%0: tensor<4xf32>, %1: tensor<4xi64>) {
    fsdp.write %0, @codebook : tensor<4xf32>
    fsdp.write %1, @counts : tensor<4xi64>
    fsdp.write %0, @other : tensor<4xf32>
    fsdp.write %0, @left : tensor<4xf32>
    return
  }
}
