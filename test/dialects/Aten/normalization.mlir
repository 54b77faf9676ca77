// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Normalizations.

// CHECK-LABEL: @layer_norm
//       CHECK:   aten.layer_norm %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 8>}
//  CHECK-SAME:     -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
//       CHECK:   aten.layer_norm %{{.*}} bias(%{{.*}}) {
//       CHECK:   aten.native_layer_norm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} weight(%{{.*}}) {normalized_shape = array<i64: 8>}
func.func @layer_norm(%x: tensor<2x3x8xbf16>, %weight: tensor<8xf32>) {
  %0, %mean, %rstd = aten.layer_norm %x weight(%weight) bias(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x3x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %1:3 = aten.layer_norm %x bias(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x3x8xbf16>, tensor<8xf32>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %2:3 = aten.native_layer_norm_backward %0, %x, %mean, %rstd weight(%weight) {normalized_shape = array<i64: 8>}
      : (tensor<2x3x8xbf16>, tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<8xf32>)
      -> (tensor<2x3x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @batch_norm
//       CHECK:   aten.batch_norm %{{.*}} running(%{{.*}}, %{{.*}}) weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64, training = true}
//       CHECK:   aten.batch_norm %{{.*}} running(%{{.*}}, %{{.*}}) {
//       CHECK:   aten.native_batch_norm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {training = true}
func.func @batch_norm(%x: tensor<2x3x4x4xbf16>, %statistic: tensor<3xf32>) {
  %0:5 = aten.batch_norm %x running(%statistic, %statistic) weight(%statistic) bias(%statistic)
      {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:5 = aten.batch_norm %x running(%statistic, %statistic) {training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %2:3 = aten.native_batch_norm_backward %0#0, %x, %0#3, %0#4 {training = true}
      : (tensor<2x3x4x4xbf16>, tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

// CHECK-LABEL: @rms_norm
//       CHECK:   aten.rms_norm %{{.*}} weight(%{{.*}}) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 8>}
//  CHECK-SAME:     -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>)
func.func @rms_norm(%x: tensor<2x3x8xbf16>, %weight: tensor<8xf32>) {
  %0, %rstd = aten.rms_norm %x weight(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x3x8xbf16>, tensor<8xf32>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>)
  return
}

// CHECK-LABEL: @group_norm
//       CHECK:   aten.group_norm %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, num_groups = 2 : i64}
//  CHECK-SAME:     -> (tensor<3x4x5xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
func.func @group_norm(%x: tensor<3x4x5xf32>, %weight: tensor<4xf32>) {
  %0:3 = aten.group_norm %x weight(%weight) bias(%weight) {num_groups = 2 : i64, eps = 1.0e-5 : f64}
      : (tensor<3x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4x5xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
  return
}
