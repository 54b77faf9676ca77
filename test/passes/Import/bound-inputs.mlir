// RUN: shardc-opt %s --split-input-file --shardc-bound-inputs | FileCheck %s

// Tokens index a table of 65 rows; targets name one of 10 classes or are -1,
// which the loss ignores. Views are followed.
// CHECK-LABEL: @tokens_and_targets
//  CHECK-SAME:   tensor<4x8xi64> {shardc.name = "idx", shardc.upper_bound = 65 : i64}
//  CHECK-SAME:   tensor<4x8xi64> {shardc.ignore_index = -1 : i64, shardc.name = "targets", shardc.upper_bound = 10 : i64}
func.func @tokens_and_targets(%idx: tensor<4x8xi64> {shardc.name = "idx"},
                              %targets: tensor<4x8xi64> {shardc.name = "targets"},
                              %table: tensor<65x10xf32>) -> tensor<f32> {
  %0 = aten.embedding %table, %idx : (tensor<65x10xf32>, tensor<4x8xi64>) -> tensor<4x8x10xf32>
  %logits = aten.view %0 [32, 10] : (tensor<4x8x10xf32>) -> tensor<32x10xf32>
  %classes = aten.view %targets [32] : (tensor<4x8xi64>) -> tensor<32xi64>
  %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %logits, %classes
      {reduction = #aten.reduction<mean>, ignore_index = -1 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// -----

// An input that indexes two tables must fit both.
// CHECK-LABEL: @smallest_table
//  CHECK-SAME:   tensor<4xi64> {shardc.upper_bound = 5 : i64}
func.func @smallest_table(%idx: tensor<4xi64>, %a: tensor<7x2xf32>,
                          %b: tensor<5x2xf32>) -> tensor<4x2xf32> {
  %0 = aten.embedding %a, %idx : (tensor<7x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %1 = aten.embedding %b, %idx : (tensor<5x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %2 = aten.add %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// Floating-point inputs and integers that index nothing have no bound.
// CHECK-LABEL: @unbounded_inputs
//   CHECK-NOT:   shardc.upper_bound
func.func @unbounded_inputs(%x: tensor<4xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %0 = aten.add %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
