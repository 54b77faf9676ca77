// What has nothing to do with the failure is removed: here, all but the
// operation that the script looks for. Values pass by what is removed.
// RUN: shardc-reduce %s --test %S/has-gelu.sh | FileCheck %s

//     CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[INPUT:.*]]: tensor<4xf32>
//        CHECK: %[[CULPRIT:.*]] = aten.gelu %[[INPUT]]
//    CHECK-NOT: aten
//        CHECK: return %[[CULPRIT]]
//    CHECK-NOT: func.func
func.func @step(%input: tensor<4xf32>) -> tensor<4xf32> {
  %first = aten.relu %input : (tensor<4xf32>) -> tensor<4xf32>
  %culprit = aten.gelu %first : (tensor<4xf32>) -> tensor<4xf32>
  %last = aten.relu %culprit : (tensor<4xf32>) -> tensor<4xf32>
  return %last : tensor<4xf32>
}
func.func @unrelated() {
  return
}
