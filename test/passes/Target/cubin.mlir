// REQUIRES: ptxas
// RUN: shardc-opt %s --shardc-set-target=target=cuda --shardc-form-kernels --shardc-fuse-kernels \
// RUN:   --shardc-materialize-views --shardc-verify-kernels \
// RUN:   --shardc-outline-kernels \
// RUN:   --shardc-map-kernels-to-gpu --shardc-compile-kernels-to-cubin \
// RUN:   | FileCheck %s

// The kernels of a transformer block and of batch normalization, from the same
// loop nests as on a processor, are accepted by ptxas.
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90">, bin = "\7FELF
// CHECK-SAME: kernel_add_layer_norm
// CHECK-SAME: kernel_gelu
// CHECK-SAME: kernel_cross_entropy_loss
// CHECK-SAME: kernel_batch_norm
// CHECK-SAME: kernel_cos
func.func @block(%x: tensor<4x16x32xbf16>, %y: tensor<4x16x32xbf16>, %w: tensor<32xbf16>, %b: tensor<32xbf16>) -> (tensor<4x16x32xbf16>, tensor<4x16x32xbf16>) {
  %0 = aten.add %x, %y : (tensor<4x16x32xbf16>, tensor<4x16x32xbf16>) -> tensor<4x16x32xbf16>
  %1, %mean, %rstd = aten.layer_norm %0 weight(%w) bias(%b) {normalized_shape = array<i64: 32>, eps = 1.0e-5 : f64} : (tensor<4x16x32xbf16>, tensor<32xbf16>, tensor<32xbf16>) -> (tensor<4x16x32xbf16>, tensor<4x16x1xf32>, tensor<4x16x1xf32>)
  return %0, %1 : tensor<4x16x32xbf16>, tensor<4x16x32xbf16>
}

func.func @gelu(%g: tensor<64x128xf32>, %x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128xf32>) {
  %0 = aten.gelu_backward %g, %x : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = aten.sum %0 [0] : (tensor<64x128xf32>) -> tensor<128xf32>
  return %0, %1 : tensor<64x128xf32>, tensor<128xf32>
}

func.func @embedding(%w: tensor<50x32xf32>, %p: tensor<16x32xf32>, %i: tensor<4x8xi64>) -> tensor<4x8x32xf32> {
  %0 = aten.constant dense<[0, 1, 2, 3, 4, 5, 7, 6]> : tensor<8xi64>
  %1 = aten.embedding %w, %i : (tensor<50x32xf32>, tensor<4x8xi64>) -> tensor<4x8x32xf32>
  %2 = aten.embedding %p, %0 : (tensor<16x32xf32>, tensor<8xi64>) -> tensor<8x32xf32>
  %3 = aten.add %1, %2 : (tensor<4x8x32xf32>, tensor<8x32xf32>) -> tensor<4x8x32xf32>
  return %3 : tensor<4x8x32xf32>
}

func.func @loss(%x: tensor<64x50xf32>, %t: tensor<64xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<64x50xf32>) {
  %0, %1, %2 = aten.cross_entropy_loss %x, %t {reduction = #aten.reduction<mean>, ignore_index = -1} : (tensor<64x50xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>, tensor<f32>)
  %3 = aten.cross_entropy_loss_backward %g, %x, %t, %1, %2 {reduction = #aten.reduction<mean>, ignore_index = -1} : (tensor<f32>, tensor<64x50xf32>, tensor<64xi64>, tensor<64xf32>, tensor<f32>) -> tensor<64x50xf32>
  return %0, %3 : tensor<f32>, tensor<64x50xf32>
}

func.func @normalize(%x: tensor<4x6x8x8xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>) -> (tensor<4x6x8x8xf32>, tensor<6xf32>) {
  %0, %1, %2, %3, %4 = aten.batch_norm %x running(%m, %v) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64} : (tensor<4x6x8x8xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6x8x8xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  return %0, %1 : tensor<4x6x8x8xf32>, tensor<6xf32>
}

// A function of f64 is libdevice's, linked in.
func.func @cosine(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = aten.cos %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
