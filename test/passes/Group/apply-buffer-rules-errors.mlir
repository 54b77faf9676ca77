// RUN: not shardc-opt %s --shardc-apply-buffer-rules="rules=seen:sync=average" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not shardc-opt %s --shardc-apply-buffer-rules="rules=see:sync=sum" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not shardc-opt %s --shardc-apply-buffer-rules="rules='seen:sync=sum;seen:sync=broadcast'" 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// RUN: not shardc-opt %s --shardc-apply-buffer-rules="rules=seen:sync=mean" 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not shardc-opt %s --shardc-apply-buffer-rules="rules=.*:sync=sum" 2>&1 | FileCheck %s --check-prefix=CONSTANT

// WORD: error: E0205: expected none, broadcast, mean or sum for sync, got 'average' in 'seen:sync=average'
// NOTHING: error: E0206: 'see' matches no buffer
// NOTHING: note: buffers that forward writes: 'seen'
// CONTRADICTION: error: E0209: the rules 'seen' and 'seen' set different values of sync for one buffer: sum and broadcast
// INTEGERS: error: E0212: buffer 'seen' of 'i64' has no mean over ranks
// INTEGERS: note: help: sync=sum, or sync=broadcast
// CONSTANT: error: E0212: buffer 'table' needs no synchronization: forward does not write it
module {
  fsdp.buffer @seen : tensor<4xi64>
  fsdp.buffer @table : tensor<4xf32>
  func.func @forward(%0: tensor<4xi64>) {
    fsdp.write %0, @seen : tensor<4xi64>
    return
  }
}
