// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_shape(%x: tensor<2x8xf32>) {
  // expected-error@+2 {{expected trailing dimensions equal to normalized_shape, got tensor<2x8xf32>}}
  // expected-error@+1 {{'aten.layer_norm' op failed to infer returned types}}
  %0, %1, %2 = aten.layer_norm %x {normalized_shape = array<i64: 4>, eps = 1.0e-5 : f64}
      : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @layer_norm_weight(%x: tensor<2x8xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias of normalized_shape}}
  // expected-error@+1 {{'aten.layer_norm' op failed to infer returned types}}
  %0, %1, %2 = aten.layer_norm %x weight(%w) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error@+2 {{expected an input [N, C, ...], got tensor<3xf32>}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// A bf16 running mean stalls.
func.func @batch_norm_narrow_statistics(%x: tensor<2x3xbf16>, %s: tensor<3xbf16>) {
  // expected-error@+2 {{expected running statistics tensor<3xf32>, got tensor<3xbf16>}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3xbf16>, tensor<3xbf16>, tensor<3xbf16>)
      -> (tensor<2x3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>)
  return
}

// -----

func.func @batch_norm_weight(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias [3]}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) weight(%w) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @rms_norm_weight(%x: tensor<2x8xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias of normalized_shape}}
  // expected-error@+1 {{'aten.rms_norm' op failed to infer returned types}}
  %0:2 = aten.rms_norm %x weight(%w) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @group_norm_groups(%x: tensor<2x8xf32>) {
  // expected-error@+2 {{expected num_groups to divide 8 channels, got 3}}
  // expected-error@+1 {{'aten.group_norm' op failed to infer returned types}}
  %0:3 = aten.group_norm %x {num_groups = 3 : i64, eps = 1.0e-5 : f64} : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @group_norm_bias(%x: tensor<2x8xf32>, %b: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias [8]}}
  // expected-error@+1 {{'aten.group_norm' op failed to infer returned types}}
  %0:3 = aten.group_norm %x bias(%b) {num_groups = 2 : i64, eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  return
}

// -----

func.func @group_norm_rank(%x: tensor<8xf32>) {
  // expected-error@+2 {{expected an input [N, C, ...], got tensor<8xf32>}}
  // expected-error@+1 {{'aten.group_norm' op failed to infer returned types}}
  %0:3 = aten.group_norm %x {num_groups = 2 : i64, eps = 1.0e-5 : f64} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<1x2xf32>, tensor<1x2xf32>)
  return
}
