// RUN: shardc-opt %s --split-input-file --shardc-saturate-extremes | FileCheck %s

// Of a mask with torch.finfo(x.dtype).min where x is f16: the least f16, and
// not an infinity. The number of f32 stays where f32 is computed.
// CHECK-LABEL: module @mask_in_f16
//   CHECK-DAG:   %[[WIDE:.*]] = aten.constant dense<-3.40282347E+38> : tensor<f32>
//   CHECK-DAG:   %[[NARROW:.*]] = aten.constant dense<-6.550400e+04> : tensor<f32>
//       CHECK:   aten.where %{{.*}}, %[[NARROW]], %{{.*}} -> tensor<4xf16>
//       CHECK:   aten.where %{{.*}}, %[[WIDE]], %{{.*}} -> tensor<4xf32>
module @mask_in_f16 {
  func.func @forward(%mask: tensor<4xi1>, %x: tensor<4xf16>, %y: tensor<4xf32>) -> tensor<4xf16> {
    %min = aten.constant dense<-3.40282347E+38> : tensor<f32>
    %0 = aten.where %mask, %min, %x : (tensor<4xi1>, tensor<f32>, tensor<4xf16>) -> tensor<4xf16>
    %1 = aten.where %mask, %min, %y : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf16>
  }
}

// -----

// A mask that is made in f32 and follows x: through the operators that choose.
// CHECK-LABEL: module @mask_that_follows
//       CHECK:   %[[NARROW:.*]] = aten.constant dense<-3.38953139E+38> : tensor<4x4xf32>
//       CHECK:   %[[UPPER:.*]] = aten.triu %[[NARROW]]
//       CHECK:   aten.to.other %[[UPPER]] as
module @mask_that_follows {
  func.func @forward(%x: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
    %min = aten.constant dense<-3.40282347E+38> : tensor<4x4xf32>
    %upper = aten.triu %min {diagonal = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %to = aten.to.other %upper as %x : (tensor<4x4xf32>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    return %to : tensor<4x4xbf16>
  }
}

// -----

// The older form, (1 - mask) * torch.finfo(x.dtype).min.
// CHECK-LABEL: module @scaled_mask
//       CHECK:   aten.mul.Scalar %{{.*}}, -6.550400e+04
module @scaled_mask {
  func.func @forward(%mask: tensor<4xf16>) -> tensor<4xf16> {
    %0 = aten.mul.Scalar %mask, -3.4028234663852886e+38 : f64 : (tensor<4xf16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}

// -----

// An author's own conversion rounds, as PyTorch's does; so does any other
// number.
// CHECK-LABEL: module @own_conversion
//       CHECK:   %[[MIN:.*]] = aten.constant dense<-3.40282347E+38> : tensor<f32>
//       CHECK:   aten.to %[[MIN]] f16
//       CHECK:   aten.constant dense<-1.000000e+09> : tensor<f32>
module @own_conversion {
  func.func @forward(%mask: tensor<4xi1>, %x: tensor<4xf16>) -> tensor<4xf16> {
    %min = aten.constant dense<-3.40282347E+38> : tensor<f32>
    %to = aten.to %min f16 : (tensor<f32>) -> tensor<f16>
    %number = aten.constant dense<-1.0e+09> : tensor<f32>
    %0 = aten.where %mask, %number, %x : (tensor<4xi1>, tensor<f32>, tensor<4xf16>) -> tensor<4xf16>
    %1 = aten.add %0, %to : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
    return %1 : tensor<4xf16>
  }
}
