// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @upsample_rank(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{expected an image [N, C, ...] and an output size for each of 1 to 3 dimensions more, got tensor<2x3x4xf32>}}
  // expected-error@+1 {{'aten.upsample' op failed to infer returned types}}
  %0 = aten.upsample %x [4, 4] {mode = #aten.upsample_mode<nearest>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @upsample_of_integers(%x: tensor<2x3x4xi64>) {
  // expected-error@+2 {{expected an image of floats, got i64}}
  // expected-error@+1 {{'aten.upsample' op failed to infer returned types}}
  %0 = aten.upsample %x [4] {mode = #aten.upsample_mode<nearest>} : (tensor<2x3x4xi64>) -> tensor<2x3x4xi64>
  return
}

// -----

func.func @upsample_to_nothing(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{expected sizes of at least 1}}
  // expected-error@+1 {{'aten.upsample' op failed to infer returned types}}
  %0 = aten.upsample %x [0] {mode = #aten.upsample_mode<nearest>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @upsample_scales(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{expected 1 scales above 0}}
  // expected-error@+1 {{'aten.upsample' op failed to infer returned types}}
  %0 = aten.upsample %x [4] {mode = #aten.upsample_mode<linear>, scales = array<f64: 0.0>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

// Nothing lies between the elements that nearest reads.
func.func @upsample_nearest_with_corners(%x: tensor<2x3x4xf32>) {
  // expected-error@+2 {{expected align_corners and antialias with modes linear and cubic alone}}
  // expected-error@+1 {{'aten.upsample' op failed to infer returned types}}
  %0 = aten.upsample %x [4] {mode = #aten.upsample_mode<nearest>, align_corners = true} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @grid_sampler_coordinates(%x: tensor<2x3x4x4xf32>, %g: tensor<2x5x6x3xf32>) {
  // expected-error@+2 {{or three dimensions, of one dtype, got tensor<2x3x4x4xf32> and tensor<2x5x6x3xf32>}}
  // expected-error@+1 {{'aten.grid_sampler' op failed to infer returned types}}
  %0 = aten.grid_sampler %x, %g {interpolation_mode = #aten.grid_interpolation<bicubic>, padding_mode = #aten.grid_padding<zeros>, align_corners = false} : (tensor<2x3x4x4xf32>, tensor<2x5x6x3xf32>) -> tensor<2x3x5x6xf32>
  return
}

// -----

func.func @grid_sampler_bicubic_volumes(%x: tensor<2x3x4x4x4xf32>, %g: tensor<2x5x6x7x3xf32>) {
  // expected-error@+2 {{expected bicubic in 2 dimensions alone}}
  // expected-error@+1 {{'aten.grid_sampler' op failed to infer returned types}}
  %0 = aten.grid_sampler %x, %g {interpolation_mode = #aten.grid_interpolation<bicubic>, padding_mode = #aten.grid_padding<zeros>, align_corners = false} : (tensor<2x3x4x4x4xf32>, tensor<2x5x6x7x3xf32>) -> tensor<2x3x5x6x7xf32>
  return
}

// -----

func.func @resampled_dimension_that_is_not_there(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a dimension below 2, got 2}}
  // expected-error@+1 {{'aten.resample' op failed to infer returned types}}
  %y = aten.resample %x dim 2 at [0] {taps = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @resampled_index_that_is_not_there(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected indices below 3, got 3}}
  // expected-error@+1 {{'aten.resample' op failed to infer returned types}}
  %y = aten.resample %x dim 1 at [0, 3] {taps = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @positions_of_different_taps(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected indices of positions with 2 taps each, got 3}}
  // expected-error@+1 {{'aten.resample' op failed to infer returned types}}
  %y = aten.resample %x dim 1 at [0, 1, 2] {taps = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @integers_do_not_add_up(%x: tensor<3xi64>) {
  // expected-error@+2 {{expected floats to add up, got tensor<3xi64>}}
  // expected-error@+1 {{'aten.resample' op failed to infer returned types}}
  %y = aten.resample %x dim 0 at [0, 1] {taps = 2 : i64} : (tensor<3xi64>) -> tensor<1xi64>
  return
}
