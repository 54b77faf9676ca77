// RUN: shardc-opt %s --shardc-decompose-operators | FileCheck %s
// RUN: shardc-opt %s '--shardc-decompose-operators=grouped-mm=true' | FileCheck %s --check-prefix=WITHOUT

// A product of groups stays where there is a library call of it; elsewhere each
// matrix multiplies all rows of groups, of which its own are kept, the last group
// first.
// CHECK-LABEL: @experts
//       CHECK: aten.grouped_mm
// WITHOUT-LABEL: @experts
//       WITHOUT: %[[IN_GROUPS:.*]] = aten.where
//       WITHOUT: aten.slice %{{.*}} dim 0 [1 : 2]
//       WITHOUT: aten.matmul %[[IN_GROUPS]]
//       WITHOUT: aten.slice %{{.*}} dim 0 [0 : 1]
//       WITHOUT: aten.matmul %[[IN_GROUPS]]
//   WITHOUT-NOT: aten.grouped_mm
//       WITHOUT: return
func.func @experts(%x: tensor<8x4xf32>, %w: tensor<2x4x5xf32>, %ends: tensor<2xi64>) -> tensor<8x5xf32> {
  %y = aten.grouped_mm %x, %w, %ends : (tensor<8x4xf32>, tensor<2x4x5xf32>, tensor<2xi64>) -> tensor<8x5xf32>
  return %y : tensor<8x5xf32>
}
