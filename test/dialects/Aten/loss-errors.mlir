// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @cross_entropy_batches(%x: tensor<4x8xf32>, %t: tensor<8xi64>) {
  // expected-error@+2 {{expected logits [N, C] and class indices [N], got tensor<4x8xf32> and tensor<8xi64>}}
  // expected-error@+1 {{'aten.cross_entropy_loss' op failed to infer returned types}}
  %0:3 = aten.cross_entropy_loss %x, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<4x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_weight(%x: tensor<4x8xf32>, %t: tensor<4xi64>, %w: tensor<4xf32>) {
  // expected-error@+2 {{expected weights [8], got tensor<4xf32>}}
  // expected-error@+1 {{'aten.cross_entropy_loss' op failed to infer returned types}}
  %0:3 = aten.cross_entropy_loss %x, %t weight(%w) {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_smoothing(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  // expected-error@+2 {{expected label_smoothing between 0 and 1, got 1.5}}
  // expected-error@+1 {{'aten.cross_entropy_loss' op failed to infer returned types}}
  %0:3 = aten.cross_entropy_loss %x, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64, label_smoothing = 1.5 : f64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @nll_batches(%x: tensor<4x8xf32>, %t: tensor<8xi64>) {
  // expected-error@+2 {{expected logits [N, C] and class indices [N], got tensor<4x8xf32> and tensor<8xi64>}}
  // expected-error@+1 {{'aten.nll_loss' op failed to infer returned types}}
  %0:2 = aten.nll_loss %x, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<4x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>)
  return
}
