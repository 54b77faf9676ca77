// RUN: shardc-opt %s --split-input-file --shardc-fold-constants | FileCheck %s

// What models do with positions: give them a batch dimension and repeat them.
// CHECK-LABEL: @positions_from_arange
//       CHECK:   %[[POSITIONS:.*]] = aten.constant dense<{{\[\[}}0, 1, 2], [0, 1, 2]]> : tensor<2x3xi64>
//  CHECK-NEXT:   return %[[POSITIONS]]
func.func @positions_from_arange() -> tensor<2x3xi64> {
  %0 = aten.constant dense<[0, 1, 2]> : tensor<3xi64>
  %1 = aten.view %0 [1, 3] : (tensor<3xi64>) -> tensor<1x3xi64>
  %2 = aten.expand %1 [2, 3] : (tensor<1x3xi64>) -> tensor<2x3xi64>
  return %2 : tensor<2x3xi64>
}

// -----

// CHECK-LABEL: @moved_elements
//       CHECK:   aten.constant dense<{{\[\[}}3, 1], [4, 2], [9, 9]]> : tensor<3x2xi64>
func.func @moved_elements() -> tensor<3x2xi64> {
  %0 = aten.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %1 = aten.slice %0 dim 0 [1 : 2] : (tensor<2x2xi64>) -> tensor<1x2xi64>
  %2 = aten.slice %0 dim 0 [0 : 1] : (tensor<2x2xi64>) -> tensor<1x2xi64>
  %3 = aten.cat %1, %2 dim 0 : (tensor<1x2xi64>, tensor<1x2xi64>) -> tensor<2x2xi64>
  %4 = aten.permute %3 [1, 0] : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %5 = aten.constant dense<9> : tensor<1x2xi64>
  %6 = aten.cat %4, %5 dim 0 : (tensor<2x2xi64>, tensor<1x2xi64>) -> tensor<3x2xi64>
  return %6 : tensor<3x2xi64>
}

// -----

// Arithmetic promotes and broadcasts as the operators do.
// CHECK-LABEL: @arithmetic
//       CHECK:   aten.constant dense<{{\[\[}}-5, -2], [-4, -1]]> : tensor<2x2xi64>
func.func @arithmetic() -> tensor<2x2xi64> {
  %0 = aten.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %1 = aten.constant dense<[2, 3]> : tensor<2xi64>
  %2 = aten.mul.Scalar %1, 3 : i64 : (tensor<2xi64>) -> tensor<2xi64>
  %3 = aten.add %0, %2 : (tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x2xi64>
  %4 = aten.constant dense<11> : tensor<i64>
  %5 = aten.sub %3, %4 : (tensor<2x2xi64>, tensor<i64>) -> tensor<2x2xi64>
  return %5 : tensor<2x2xi64>
}

// -----

// bf16 is computed in f32 and rounded once, to nearest even: 256 + 1 is 256. A
// scalar is not rounded to bf16 first: 9 * 0.1 is 0.8984, not 0.9023.
// CHECK-LABEL: @bf16_rounds_once
//       CHECK:   %[[SUM:.*]] = aten.constant dense<2.560000e+02> : tensor<1xbf16>
//       CHECK:   %[[PRODUCT:.*]] = aten.constant dense<8.984370e-01> : tensor<1xbf16>
//       CHECK:   return %[[SUM]], %[[PRODUCT]]
func.func @bf16_rounds_once() -> (tensor<1xbf16>, tensor<1xbf16>) {
  %0 = aten.constant dense<256.0> : tensor<1xbf16>
  %1 = aten.add.Scalar %0, 1.0 : f64 : (tensor<1xbf16>) -> tensor<1xbf16>
  %2 = aten.constant dense<9.0> : tensor<1xbf16>
  %3 = aten.mul.Scalar %2, 0.1 : f64 : (tensor<1xbf16>) -> tensor<1xbf16>
  return %1, %3 : tensor<1xbf16>, tensor<1xbf16>
}

// -----

// CHECK-LABEL: @conversions
//   CHECK-DAG:   %[[INTEGERS:.*]] = aten.constant dense<[-1, 2]> : tensor<2xi64>
//   CHECK-DAG:   %[[FLOATS:.*]] = aten.constant dense<[-1.000000e+00, 2.000000e+00]> : tensor<2xf32>
//   CHECK-DAG:   %[[BOOLEANS:.*]] = aten.constant dense<true> : tensor<2xi1>
//       CHECK:   return %[[INTEGERS]], %[[FLOATS]], %[[BOOLEANS]]
func.func @conversions() -> (tensor<2xi64>, tensor<2xf32>, tensor<2xi1>) {
  %0 = aten.constant dense<[-1.75, 2.5]> : tensor<2xf64>
  %1 = aten.to %0 i64 : (tensor<2xf64>) -> tensor<2xi64>
  %2 = aten.to %1 f32 : (tensor<2xi64>) -> tensor<2xf32>
  %3 = aten.to %0 i1 : (tensor<2xf64>) -> tensor<2xi1>
  return %1, %2, %3 : tensor<2xi64>, tensor<2xf32>, tensor<2xi1>
}

// -----

// What depends on an input stays.
// CHECK-LABEL: @inputs_are_not_constant
//       CHECK:   aten.constant
//       CHECK:   aten.add
func.func @inputs_are_not_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %1 = aten.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// A large result is computed at run time instead of stored.
// CHECK-LABEL: @large_results_stay
//       CHECK:   aten.expand
func.func @large_results_stay() -> tensor<512x512xi64> {
  %0 = aten.constant dense<1> : tensor<1xi64>
  %1 = aten.expand %0 [512, 512] : (tensor<1xi64>) -> tensor<512x512xi64>
  return %1 : tensor<512x512xi64>
}

// -----

// Every operator folds: here the causal mask of a language model.
// CHECK-LABEL: @causal_mask
//       CHECK:   %[[MASK:.*]] = aten.constant dense<{{\[\[}}0.000000e+00, 0xFF800000], [0.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
//  CHECK-NEXT:   return %[[MASK]]
func.func @causal_mask() -> tensor<2x2xf32> {
  %0 = aten.constant dense<[0, 1]> : tensor<2xi64>
  %1 = aten.view %0 [2, 1] : (tensor<2xi64>) -> tensor<2x1xi64>
  %2 = aten.le %0, %1 : (tensor<2xi64>, tensor<2x1xi64>) -> tensor<2x2xi1>
  %3 = aten.constant dense<0.0> : tensor<f32>
  %4 = aten.constant dense<0xFF800000> : tensor<f32>
  %5 = aten.where %2, %3, %4 : (tensor<2x2xi1>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  return %5 : tensor<2x2xf32>
}

// -----

// Several results: each that is used becomes a constant.
// CHECK-LABEL: @several_results
//       CHECK:   %[[VALUES:.*]] = aten.constant dense<[1, 2, 3]> : tensor<3xi64>
//       CHECK:   %[[INDICES:.*]] = aten.constant dense<[2, 0, 1]> : tensor<3xi64>
//       CHECK:   return %[[VALUES]], %[[INDICES]]
func.func @several_results() -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = aten.constant dense<[2, 3, 1]> : tensor<3xi64>
  %1:2 = aten.sort %0 dim 0 : (tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>)
  return %1#0, %1#1 : tensor<3xi64>, tensor<3xi64>
}

// -----

// Dropout draws anew in every step.
// CHECK-LABEL: @random
//       CHECK:   aten.dropout
func.func @random() -> tensor<4xf32> {
  %0 = aten.constant dense<1.0> : tensor<4xf32>
  %seed = fsdp.scalar seed : tensor<i64>
  %step = fsdp.scalar step : tensor<i64>
  %slice = fsdp.scalar slice : tensor<i64>
  %1 = aten.dropout %0, %seed, %step, %slice {p = 0.5 : f64, stream = 0 : i64} : (tensor<4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// What cannot be computed stays: the program may never need it.
// CHECK-LABEL: @division_by_zero
//       CHECK:   aten.div
func.func @division_by_zero() -> tensor<i64> {
  %0 = aten.constant dense<0> : tensor<i64>
  %1 = aten.div %0, %0 {rounding_mode = #aten.rounding_mode<floor>} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %1 : tensor<i64>
}

// -----

// One repeated number is small, what is computed of it need not be.
// CHECK-LABEL: @large_results
//       CHECK:   aten.expand
func.func @large_results() -> tensor<256x257xf32> {
  %0 = aten.constant dense<1.0> : tensor<f32>
  %1 = aten.expand %0 [256, 257] : (tensor<f32>) -> tensor<256x257xf32>
  return %1 : tensor<256x257xf32>
}

// -----

// What has no elements is a constant whatever it is made of, and adds nothing to
// a concatenation but its element type.
// CHECK-LABEL: @no_elements
//  CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2x3xbf16>)
//   CHECK-NOT:   aten.slice
//       CHECK:   %[[WIDE:.*]] = aten.to %[[Y]] f32
//       CHECK:   %[[JOINED:.*]] = aten.cat %[[WIDE]], %[[Y]] dim 1 : (tensor<2x3xf32>, tensor<2x3xbf16>) -> tensor<2x6xf32>
//       CHECK:   %[[SUM:.*]] = aten.constant dense<0.000000e+00> : tensor<2xf32>
//       CHECK:   return %[[JOINED]], %[[SUM]]
func.func @no_elements(%x: tensor<2x3xf32>, %y: tensor<2x3xbf16>) -> (tensor<2x6xf32>, tensor<2xf32>) {
  %0 = aten.slice %x dim 1 [0 : 0] : (tensor<2x3xf32>) -> tensor<2x0xf32>
  %1 = aten.cat %0, %y, %y dim 1 : (tensor<2x0xf32>, tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x6xf32>
  %2 = aten.mul %0, %0 : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x0xf32>
  %3 = aten.sum %2 [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  return %1, %3 : tensor<2x6xf32>, tensor<2xf32>
}

// -----

// What only adds up nothing is known, whatever it is made of.
// CHECK-LABEL: @sum_of_no_elements
//       CHECK:   %[[SUM:.*]] = aten.constant dense<0.000000e+00> : tensor<4xf32>
//       CHECK:   %[[PRODUCT:.*]] = aten.constant dense<1.000000e+00> : tensor<4xf32>
//       CHECK:   return %[[SUM]], %[[PRODUCT]]
func.func @sum_of_no_elements(%arg0: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.sum %arg0 [0] : (tensor<0x4xf32>) -> tensor<4xf32>
  %1 = aten.prod %arg0 [0] : (tensor<0x4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A policy may cast the arguments of a module: 1003 is 1004 in bf16.
// CHECK-LABEL: @argument_of_a_module
//  CHECK-NEXT:   %[[TABLE:.*]] = aten.constant dense<[1.002000e+03, 1.003000e+03]> : tensor<2xf32>
//  CHECK-NEXT:   %[[SHIFTED:.*]] = aten.add.Scalar %[[TABLE]], -1000 : i64
//  CHECK-NEXT:   return %[[SHIFTED]]
func.func @argument_of_a_module() -> tensor<2xf32> {
  %0 = aten.constant dense<[1001.0, 1002.0]> : tensor<2xf32>
  %1 = aten.add.Scalar %0, 1 : i64 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = aten.add.Scalar %1, -1000 : i64 {shardc.modules = [{path = "inner", type = "Inner"}]} : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// A choice by a constant condition leaves a constant out, but no tensor that
// may have a gradient.
// CHECK-LABEL: @constant_choice
//  CHECK-SAME:   %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>
//       CHECK:   %[[CHOICE:.*]] = aten.where %{{.*}}, %[[X]], %[[Y]]
//  CHECK-NEXT:   return %[[X]], %[[CHOICE]]
func.func @constant_choice(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = aten.constant dense<true> : tensor<i1>
  %1 = aten.constant dense<0x7FC00000> : tensor<f32>
  %2 = aten.where %0, %x, %1 : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = aten.where %0, %x, %y : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}
