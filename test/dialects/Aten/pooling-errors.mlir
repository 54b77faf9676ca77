// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @max_pool2d_rank(%x: tensor<2x8x8xf32>) {
  // expected-error@+2 {{expected an input [N, C, H, W], got tensor<2x8x8xf32>}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_window_too_large(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected a kernel of at most 8, got 9}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 9, 9>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_one_size(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 kernel sizes of at least 1, got [3]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_stride_zero(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [0, 0]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 0, 0>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_negative_padding(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 paddings of at least 0, got [0, -1]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, -1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_dilation_zero(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 dilations of at least 1, got [0, 1]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 0, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @adaptive_avg_pool2d_rank(%x: tensor<8x8xf32>) {
  // expected-error@+2 {{expected an input [N, C, H, W], got tensor<8x8xf32>}}
  // expected-error@+1 {{'aten.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = aten.adaptive_avg_pool2d %x [1, 1] : (tensor<8x8xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @adaptive_avg_pool2d_of_nothing(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 output sizes of at least 1}}
  // expected-error@+1 {{'aten.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = aten.adaptive_avg_pool2d %x [0, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x0x1xf32>
  return
}

// -----

// A window in the padding alone would have no elements.
func.func @avg_pool2d_padding(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected a padding of at most half of the kernel size 3, got 2}}
  // expected-error@+1 {{'aten.avg_pool2d' op failed to infer returned types}}
  %0 = aten.avg_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x5x5xf32>
  return
}

// -----

func.func @avg_pool2d_divisor(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected a divisor other than 0}}
  // expected-error@+1 {{'aten.avg_pool2d' op failed to infer returned types}}
  %0 = aten.avg_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, divisor_override = 0 : i64} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @avg_pool3d_rank(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected an input [N, C, D, H, W], got tensor<1x2x8x8xf32>}}
  // expected-error@+1 {{'aten.avg_pool3d' op failed to infer returned types}}
  %0 = aten.avg_pool3d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xf32>
  return
}
