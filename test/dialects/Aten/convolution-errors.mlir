// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @convolution_channels(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error@+2 {{expected input [N, C, ...] and weight [O, C/2, ...] with 1 to 3 dimensions more, got tensor<2x4x8x8xf32> and tensor<6x4x3x3xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @convolution_of_two_ranks(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error@+2 {{expected input [N, C, ...] and weight [O, C/1, ...] with 1 to 3 dimensions more, got tensor<2x4x8xf32> and tensor<6x4x3x3xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @convolution_kernel_too_large(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected a kernel of at most 4, got 5}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 2, 2>, groups = 1 : i64}
      : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @convolution_one_stride(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [2]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_stride_zero(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [0, 1]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 0, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_negative_padding(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 paddings of at least 0, got [-1, 0]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: -1, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_dilation_zero(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 dilations of at least 1, got [1, 0]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 0>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_bias(%x: tensor<1x1x8x8xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<1xf32>) {
  // expected-error@+2 {{expected a bias [4], got tensor<1xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<4x1x3x3xf32>, tensor<1xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_output_channels_in_groups(%x: tensor<1x2x8x8xf32>, %w: tensor<3x1x3x3xf32>) {
  // expected-error@+2 {{expected groups to divide 3 channels, got 2}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<1x2x8x8xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @convolution_output_padding(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error@+2 {{expected output_padding with transposed alone}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 1>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @transposed_convolution_channels(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error@+2 {{expected input [N, C, ...] and weight [C, O/1, ...] with 1 to 3 dimensions more, got tensor<2x4x8x8xf32> and tensor<6x4x3x3xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, transposed} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x15x15xf32>
  return
}

// -----

func.func @transposed_convolution_output_padding(%x: tensor<2x4x8x8xf32>, %w: tensor<4x6x3x3xf32>) {
  // expected-error@+2 {{expected an output_padding smaller than stride or dilation}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, transposed, output_padding = array<i64: 2, 0>} : (tensor<2x4x8x8xf32>, tensor<4x6x3x3xf32>) -> tensor<2x6x17x15xf32>
  return
}

// -----

func.func @transposed_convolution_of_nothing(%x: tensor<2x4x1x1xf32>, %w: tensor<4x6x1x1xf32>) {
  // expected-error@+2 {{expected a result of at least 1 element a dimension, got -1}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, transposed} : (tensor<2x4x1x1xf32>, tensor<4x6x1x1xf32>) -> tensor<2x6x1x1xf32>
  return
}
