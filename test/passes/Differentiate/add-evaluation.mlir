// RUN: shardc-opt %s --split-input-file --shardc-add-evaluation | FileCheck %s

// The step stays as it is. Its evaluation has no dropout, and what only that and
// writes computed is gone; a batch_norm that keeps statistics uses them.
// CHECK-LABEL: module @dropout_and_batch_norm
//       CHECK:   func.func @step
//       CHECK:     aten.dropout
//       CHECK:     fsdp.write
//       CHECK:   func.func @evaluate(%[[X:.*]]: tensor<4x2xf32>) {
//  CHECK-NEXT:     fsdp.begin forward
//  CHECK-NEXT:     %[[MEAN:.*]] = fsdp.read @mean : tensor<2xf32>
//  CHECK-NEXT:     %[[VAR:.*]] = fsdp.read @var : tensor<2xf32>
//  CHECK-NEXT:     %[[Y:[a-z]*]], {{.*}} = aten.batch_norm %[[X]] running(%[[MEAN]], %[[VAR]]) {eps = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64, training = false}
//  CHECK-NEXT:     %[[LOSS:.*]] = aten.sum %[[Y]]
//  CHECK-NEXT:     fsdp.record_loss %[[LOSS]]
//  CHECK-NEXT:     return
module @dropout_and_batch_norm {
  fsdp.buffer @mean : tensor<2xf32>
  fsdp.buffer @var : tensor<2xf32>
  func.func @step(%x: tensor<4x2xf32>) {
    fsdp.begin forward
    %seed = fsdp.scalar seed : tensor<i64>
    %step = fsdp.scalar step : tensor<i64>
    %slice = fsdp.scalar slice : tensor<i64>
    %0 = aten.dropout %x, %seed, %step, %slice {p = 0.5, stream = 0} : (tensor<4x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x2xf32>
    %mean = fsdp.read @mean : tensor<2xf32>
    %var = fsdp.read @var : tensor<2xf32>
    %1:5 = aten.batch_norm %0 running(%mean, %var) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    fsdp.write %1#1, @mean : tensor<2xf32>
    fsdp.write %1#2, @var : tensor<2xf32>
    %2 = aten.sum %1#0 [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}

// -----

// Called twice, the second call's statistics are those that the first would have
// left, which are the buffer's; a norm that keeps none uses the batch's.
// CHECK-LABEL: module @norms_twice_and_without_statistics
//       CHECK:   func.func @evaluate
//       CHECK:     aten.batch_norm {{.*}}training = false
//       CHECK:     aten.batch_norm {{.*}}training = false
//       CHECK:     aten.batch_norm {{.*}}training = true
module @norms_twice_and_without_statistics {
  fsdp.buffer @mean : tensor<2xf32>
  fsdp.buffer @var : tensor<2xf32>
  func.func @step(%x: tensor<4x2xf32>) {
    fsdp.begin forward
    %mean = fsdp.read @mean : tensor<2xf32>
    %var = fsdp.read @var : tensor<2xf32>
    %none = aten.constant dense<0.0> : tensor<2xf32>
    %0:5 = aten.batch_norm %x running(%mean, %var) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %1:5 = aten.batch_norm %0#0 running(%0#1, %0#2) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    fsdp.write %1#1, @mean : tensor<2xf32>
    fsdp.write %1#2, @var : tensor<2xf32>
    %2:5 = aten.batch_norm %1#0 running(%none, %none) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %3 = aten.sum %2#0 [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
    fsdp.record_loss %3 : tensor<f32>
    return
  }
}

// -----

// A buffer that forward changes for the next step alone stays.
// CHECK-LABEL: module @write_for_later
//       CHECK:   func.func @evaluate(%[[X:.*]]: tensor<f32>) {
//  CHECK-NEXT:     fsdp.begin forward
//  CHECK-NEXT:     %[[B:.*]] = fsdp.read @b : tensor<f32>
//  CHECK-NEXT:     %[[LOSS:.*]] = aten.mul %[[B]], %[[X]]
//  CHECK-NEXT:     fsdp.record_loss %[[LOSS]]
//  CHECK-NEXT:     return
module @write_for_later {
  fsdp.buffer @b : tensor<f32>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %0 = fsdp.read @b : tensor<f32>
    %1 = aten.add %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.write %1, @b : tensor<f32>
    %2 = aten.mul %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}

// -----

// What is drawn for a mask that dropout alone would need is dead.
// CHECK-LABEL: module @dead_draws
//       CHECK:   func.func @evaluate
//   CHECK-NOT:     aten.rand
//       CHECK:     fsdp.record_loss
module @dead_draws {
  fsdp.buffer @mask : tensor<4xf32>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %seed = fsdp.scalar seed : tensor<i64>
    %step = fsdp.scalar step : tensor<i64>
    %slice = fsdp.scalar slice : tensor<i64>
    %0 = aten.rand %seed, %step, %slice {stream = 0} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    fsdp.write %0, @mask : tensor<4xf32>
    fsdp.record_loss %x : tensor<f32>
    return
  }
}

// -----

// Attention stays, and drops nothing.
// CHECK-LABEL: module @attention
//       CHECK:   func.func @step
//       CHECK:     aten.scaled_dot_product_attention %{{.*}} dropout(
//       CHECK:   func.func @evaluate
//   CHECK-NOT:     fsdp.scalar
//       CHECK:     aten.scaled_dot_product_attention %arg0, %arg0, %arg0 {is_causal = true, scale = 5.000000e-01 : f64
//       CHECK:     fsdp.record_loss
module @attention {
  func.func @step(%x: tensor<2x1x4x4xf32>) {
    fsdp.begin forward
    %seed = fsdp.scalar seed : tensor<i64>
    %step = fsdp.scalar step : tensor<i64>
    %slice = fsdp.scalar slice : tensor<i64>
    %0, %1 = aten.scaled_dot_product_attention %x, %x, %x dropout(%seed, %step, %slice) {dropout_p = 0.5 : f64, is_causal = true, scale = 0.5 : f64} : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x1x4x4xf32>, tensor<2x1x4xf32>)
    %loss = aten.sum %0 [0, 1, 2, 3] : (tensor<2x1x4x4xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

// Stochastic depth multiplies by what it draws over the mean of that.
// CHECK-LABEL: module @means_of_draws
//       CHECK:   func.func @evaluate
//   CHECK-NOT:     aten.rand
//       CHECK:     %[[MEAN:.*]] = aten.constant dense<7.500000e-01> : tensor<2x1xf32>
//       CHECK:     aten.div.Scalar %[[MEAN]], 7.500000e-01
module @means_of_draws attributes {shardc.means_in_evaluation} {
  func.func @step(%x: tensor<2x4xf32>) {
    fsdp.begin forward
    %seed = fsdp.scalar seed : tensor<i64>
    %step = fsdp.scalar step : tensor<i64>
    %slice = fsdp.scalar slice : tensor<i64>
    %0 = aten.rand %seed, %step, %slice {stream = 0 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x1xf32>
    %1 = aten.lt.Scalar %0, 0.75 : f64 : (tensor<2x1xf32>) -> tensor<2x1xi1>
    %2 = aten.to %1 f32 : (tensor<2x1xi1>) -> tensor<2x1xf32>
    %3 = aten.div.Scalar %2, 0.75 : f64 : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %4 = aten.mul %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %loss = aten.sum %4 [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}
