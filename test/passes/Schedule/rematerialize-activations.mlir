// RUN: shardc-opt %s --split-input-file --shardc-rematerialize-activations | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-rematerialize-activations --remarks-filter=shardc-rematerialize-activations 2>&1 | FileCheck %s --check-prefix=REMARK

// What backward needs of the module is computed again before its first use
// there, from what the module takes from outside.
// CHECK-LABEL: module @full
//       CHECK:   @step(%[[X:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<4x4xf32>)
//       CHECK:   %[[PRODUCT:.*]] = aten.linear %[[X]], %[[W]]
//  CHECK-NEXT:   %[[GELU:.*]] = aten.gelu %[[PRODUCT]]
//  CHECK-NEXT:   %[[OUT:.*]] = aten.mul %[[GELU]], %[[GELU]]
//  CHECK-NEXT:   aten.sum %[[OUT]]
//       CHECK:   fsdp.begin backward
//  CHECK-NEXT:   aten.expand
//  CHECK-NEXT:   %[[PRODUCT_AGAIN:.*]] = aten.linear %[[X]], %[[W]]
//  CHECK-NEXT:   %[[GELU_AGAIN:.*]] = aten.gelu %[[PRODUCT_AGAIN]]
//  CHECK-NEXT:   %[[D_GELU:.*]] = aten.mul %{{.*}}, %[[GELU_AGAIN]]
//  CHECK-NEXT:   aten.gelu_backward %[[D_GELU]], %[[PRODUCT_AGAIN]]
// What the module gives others is kept.
//  CHECK-NEXT:   aten.add %[[OUT]], %[[OUT]]

// Of 8 elements 2 * 4 * 8 operations in the product, and 8 in the activation.
// REMARK: remark: [Passed] recompute {{.*}} Function=h.0 {{.*}}Reason="recompute is full", freed_bytes=64, module=h.0, operations=72, operators=2
module @full attributes {shardc.recompute = {h.0 = "full"}} {
  func.func @step(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) {
    fsdp.begin forward
    %0 = aten.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("h.0.fc")
    %1 = aten.gelu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("h.0.act")
    %2 = aten.mul %1, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("h.0")
    %3 = aten.sum %2 [0, 1] : (tensor<2x4xf32>) -> tensor<f32> loc("")
    fsdp.begin backward
    %4 = aten.expand %3 [2, 4] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = aten.mul %4, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %6 = aten.gelu_backward %5, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = aten.add %2, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

// The selective form keeps products: the activation is computed again from one.
// CHECK-LABEL: module @selective
//       CHECK:   %[[PRODUCT:.*]] = aten.linear
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   aten.linear
//       CHECK:   %[[AGAIN:.*]] = aten.gelu %[[PRODUCT]]
//  CHECK-NEXT:   aten.gelu_backward %[[AGAIN]], %[[PRODUCT]]
// REMARK: Function=h.0 {{.*}}Reason="recompute is selective"
module @selective attributes {shardc.recompute = {h.0 = "selective"}} {
  func.func @step(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) {
    fsdp.begin forward
    %0 = aten.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("h.0.fc")
    %1 = aten.gelu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("h.0.act")
    fsdp.begin backward
    %2 = aten.gelu_backward %1, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

// Of its products the alternate form computes every second one again.
// CHECK-LABEL: module @alternate
//       CHECK:   %[[FIRST:.*]] = aten.linear
//       CHECK:   aten.linear %[[FIRST]]
//       CHECK:   %[[THIRD:.*]] = aten.linear
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[SECOND:.*]] = aten.linear %[[FIRST]]
//  CHECK-NEXT:   %[[USE:.*]] = aten.mul %[[FIRST]], %[[SECOND]]
//  CHECK-NEXT:   aten.mul %[[USE]], %[[THIRD]]
// REMARK: Function=h.0 {{.*}}Reason="recompute is alternate"
module @alternate attributes {shardc.recompute = {h.0 = "alternate"}} {
  func.func @step(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) {
    fsdp.begin forward
    %0 = aten.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("h.0.a")
    %1 = aten.linear %0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("h.0.b")
    %2 = aten.linear %1, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("h.0.c")
    fsdp.begin backward
    %3 = aten.mul %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = aten.mul %3, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

// The innermost module that is named has the word, and "h.01" is not in "h.0".
// CHECK-LABEL: module @innermost
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   aten.relu
//       CHECK:   aten.gelu
//   CHECK-NOT:   aten.relu
module @innermost attributes {shardc.recompute = {h.0 = "full", h.0.act = "none"}} {
  func.func @step(%x: tensor<4xf32>) {
    fsdp.begin forward
    %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("h.0.act")
    %1 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("h.01")
    %2 = aten.gelu %x : (tensor<4xf32>) -> tensor<4xf32> loc("h.0")
    fsdp.begin backward
    %3 = aten.mul %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = aten.mul %3, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// Statistics are written once; the normalization is computed again without.
// CHECK-LABEL: module @statistics
//       CHECK:   %{{.*}}, %[[MEAN:.*]], %{{.*}}, %{{.*}}, %{{.*}} = aten.batch_norm
//       CHECK:   fsdp.write %[[MEAN]], @mean
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[AGAIN:[a-z0-9_]+]], {{.*}} = aten.batch_norm
//  CHECK-NEXT:   aten.relu %[[AGAIN]]
//   CHECK-NOT:   fsdp.write
module @statistics attributes {shardc.recompute = {h.0 = "full"}} {
  fsdp.buffer @mean : tensor<3xf32>
  func.func @step(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %mean: tensor<3xf32>) {
    fsdp.begin forward
    %y, %new_mean, %new_var, %save_mean, %save_invstd = aten.batch_norm %x running(%mean, %mean) weight(%w) bias(%w)
        {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
        : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) loc("h.0.bn")
    fsdp.write %new_mean, @mean : tensor<3xf32> loc("h.0.bn")
    fsdp.begin backward
    %0 = aten.relu %y : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return
  }
}
