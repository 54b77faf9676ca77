// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-select-libraries \
// RUN:   --shardc-form-kernels --shardc-fuse-kernels --shardc-materialize-views --shardc-verify-kernels | FileCheck %s

// What comes in is copied; from there on kernels and calls hand the order on.
// CHECK-LABEL: @network
//       CHECK: %[[X:.*]] = exec.kernel "copy" (%{{.*}} = %arg0 : tensor<2x3x8x8xbf16>){{.*}} attributes {order = [array<i64: 0, 2, 3, 1>]}
//       CHECK: %[[W:.*]] = exec.kernel "copy" (%{{.*}} = %arg1 : tensor<16x3x3x3xbf16>){{.*}} attributes {order = [array<i64: 0, 2, 3, 1>]}
//       CHECK: %[[Y:.*]] = exec.library "convolution"(%[[X]], %[[W]]) {{.*}} order [array<i64: 0, 2, 3, 1>]
//       CHECK: %[[R:.*]] = exec.kernel "relu" (%{{.*}} = %[[Y]] : tensor<2x16x8x8xbf16>){{.*}} attributes {order = [array<i64: 0, 2, 3, 1>]}
//       CHECK: %[[P:.*]]:2 = exec.library "max_pool2d"(%[[R]]) {{.*}} order [array<i64: 0, 2, 3, 1>, array<i64: 0, 2, 3, 1>]
//   CHECK-NOT: "copy"
//       CHECK: exec.kernel "mean" (%{{.*}} = %[[P]]#0 : tensor<2x16x4x4xbf16>) -> tensor<2x16xbf16> {
func.func @network(%x: tensor<2x3x8x8xbf16>, %w: tensor<16x3x3x3xbf16>) -> tensor<2x16xbf16> {
  %0 = aten.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x3x8x8xbf16>, tensor<16x3x3x3xbf16>) -> tensor<2x16x8x8xbf16>
  %1 = aten.relu %0 : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  %2:2 = aten.max_pool2d_with_indices %1 {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
      : (tensor<2x16x8x8xbf16>) -> (tensor<2x16x4x4xbf16>, tensor<2x16x4x4xi64>)
  %4 = aten.mean %2#0 [2, 3] : (tensor<2x16x4x4xbf16>) -> tensor<2x16xbf16>
  return %4 : tensor<2x16xbf16>
}

// -----

// A weight of one place is both: nothing is copied. What is kept is row-major.
// CHECK-LABEL: @one_place
//       CHECK: %[[X:.*]] = exec.kernel "copy" (%{{.*}} = %arg0
//  CHECK-NEXT: tensor.empty
//       CHECK: %[[Y:.*]] = exec.library "convolution"(%[[X]], %arg1) {{.*}} order [array<i64: 0, 2, 3, 1>]
//       CHECK: %[[Z:.*]] = exec.kernel "copy" (%{{.*}} = %[[Y]] : tensor<2x4x8x8xbf16>) -> tensor<2x4x8x8xbf16> {
//       CHECK: fsdp.write %[[Z]], @kept
fsdp.buffer @kept : tensor<2x4x8x8xbf16>
func.func @one_place(%x: tensor<2x3x8x8xbf16>, %w: tensor<4x3x1x1xbf16>) {
  %0 = aten.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x3x8x8xbf16>, tensor<4x3x1x1xbf16>) -> tensor<2x4x8x8xbf16>
  fsdp.write %0, @kept : tensor<2x4x8x8xbf16>
  return
}

// -----

// A convolution along a line is one of images of one row. What makes its
// operand stores it as it is read.
// CHECK-LABEL: @line
//       CHECK: %[[R:.*]] = exec.kernel "relu" (%{{.*}} = %arg0 : tensor<2x3x8xbf16>){{.*}} attributes {order = [array<i64: 0, 2, 1>]}
//       CHECK: %[[V:.*]] = exec.view %[[R]] offset 0 strides [24, 1, 24, 3] : tensor<2x3x8xbf16> -> tensor<2x3x1x8xbf16>
//       CHECK: %[[Y:.*]] = exec.library "convolution"(%[[V]], %{{.*}}) {{.*}} order [array<i64: 0, 2, 3, 1>]
//       CHECK: exec.view %[[Y]] offset 0 strides [32, 1, 4] : tensor<2x4x1x8xbf16> -> tensor<2x4x8xbf16>
func.func @line(%x: tensor<2x3x8xbf16>, %w: tensor<4x3x1x1xbf16>) -> tensor<2x4x8xbf16> {
  %0 = aten.relu %x : (tensor<2x3x8xbf16>) -> tensor<2x3x8xbf16>
  %1 = aten.view %0 [2, 3, 1, 8] : (tensor<2x3x8xbf16>) -> tensor<2x3x1x8xbf16>
  %2 = aten.convolution %1, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x3x1x8xbf16>, tensor<4x3x1x1xbf16>) -> tensor<2x4x1x8xbf16>
  %3 = aten.view %2 [2, 4, 8] : (tensor<2x4x1x8xbf16>) -> tensor<2x4x8xbf16>
  return %3 : tensor<2x4x8xbf16>
}

// -----

// f32 is not for tensor cores: all images are row-major, even one that was not.
// CHECK-LABEL: @single
//       CHECK: %[[X:.*]] = exec.view %arg0 offset 0 strides [192, 1, 24, 3]
//       CHECK: %[[C:.*]] = exec.kernel "copy" (%{{.*}} = %[[X]] : tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
//       CHECK: exec.library "convolution"(%[[C]], %arg1) {{.*}} order [array<i64>]
func.func @single(%x: tensor<2x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32> {
  %0 = aten.permute %x [0, 3, 1, 2] : (tensor<2x8x8x3xf32>) -> tensor<2x3x8x8xf32>
  %1 = aten.convolution %0, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  return %1 : tensor<2x4x6x6xf32>
}
