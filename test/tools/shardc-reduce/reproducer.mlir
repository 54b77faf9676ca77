// A reproducer keeps the pipeline that it repeats, and runs it still.
// RUN: shardc-reduce %s --test %S/has-gelu.sh -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shardc-opt --run-reproducer %t.mlir | FileCheck %s --check-prefix=AGAIN

// AGAIN: aten.gelu

//     CHECK: aten.gelu
// CHECK-NOT: aten.relu
//     CHECK: mlir_reproducer
//     CHECK: pipeline: "builtin.module(cse)"
func.func @step(%input: tensor<4xf32>) -> tensor<4xf32> {
  %culprit = aten.gelu %input : (tensor<4xf32>) -> tensor<4xf32>
  %last = aten.relu %culprit : (tensor<4xf32>) -> tensor<4xf32>
  return %last : tensor<4xf32>
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(cse)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
