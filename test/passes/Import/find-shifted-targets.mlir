// RUN: shardc-opt %s --split-input-file --shardc-find-shifted-targets | FileCheck %s

// Hugging Face's causal language models: labels are padded at the end, and those
// from the second on are flattened.
// CHECK-LABEL: @shifted_by_the_model
//  CHECK-SAME:   tensor<4x8xi64> {shardc.name = "input_ids"}
//  CHECK-SAME:   tensor<4x8xi64> {shardc.name = "labels", shardc.shifted}
func.func @shifted_by_the_model(%tokens: tensor<4x8xi64> {shardc.name = "input_ids"},
                                %labels: tensor<4x8xi64> {shardc.name = "labels"},
                                %table: tensor<65x10xf32>) -> tensor<f32> {
  %0 = aten.embedding %table, %tokens : (tensor<65x10xf32>, tensor<4x8xi64>) -> tensor<4x8x10xf32>
  %logits = aten.view %0 [32, 10] : (tensor<4x8x10xf32>) -> tensor<32x10xf32>
  %1 = aten.pad %labels [0, 1] {value = -100.0 : f64} : (tensor<4x8xi64>) -> tensor<4x9xi64>
  %2 = aten.slice %1 dim 1 [1 : 9] : (tensor<4x9xi64>) -> tensor<4x8xi64>
  %3 = aten.view %2 [32] : (tensor<4x8xi64>) -> tensor<32xi64>
  %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %logits, %3
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// -----

// A slice of rows is no shift of positions, and neither is one that begins at 0.
// CHECK-LABEL: @shifted_by_the_data
//   CHECK-NOT:   shardc.shifted
func.func @shifted_by_the_data(%labels: tensor<4x8xi64>, %logits: tensor<21x10xf32>) -> tensor<f32> {
  %0 = aten.slice %labels dim 0 [1 : 4] : (tensor<4x8xi64>) -> tensor<3x8xi64>
  %1 = aten.slice %0 dim 1 [0 : 7] : (tensor<3x8xi64>) -> tensor<3x7xi64>
  %2 = aten.view %1 [21] : (tensor<3x7xi64>) -> tensor<21xi64>
  %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %logits, %2
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<21x10xf32>, tensor<21xi64>) -> (tensor<f32>, tensor<21xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// -----

// Heads that predict further tokens as well: the nearest one is compared with
// what is given.
// CHECK-LABEL: @several_heads
//   CHECK-NOT:   shardc.shifted
func.func @several_heads(%labels: tensor<1x8xi64>, %logits: tensor<8x10xf32>,
                         %further: tensor<7x10xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = aten.view %labels [8] : (tensor<1x8xi64>) -> tensor<8xi64>
  %1 = aten.slice %0 dim 0 [1 : 8] : (tensor<8xi64>) -> tensor<7xi64>
  %near, %a, %b = aten.cross_entropy_loss %logits, %0
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<8x10xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
  %far, %c, %d = aten.cross_entropy_loss %further, %1
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<7x10xf32>, tensor<7xi64>) -> (tensor<f32>, tensor<7xf32>, tensor<f32>)
  return %near, %far : tensor<f32>, tensor<f32>
}

// -----

// Scores of log_softmax, chosen by labels that are rolled to the left.
// CHECK-LABEL: @rolled
//  CHECK-SAME:   tensor<4x8xi64> {shardc.shifted}
func.func @rolled(%labels: tensor<4x8xi64>, %scores: tensor<4x8x10xf32>) -> tensor<4x8x1xf32> {
  %0 = aten.roll %labels by [-1] along [1] : (tensor<4x8xi64>) -> tensor<4x8xi64>
  %1 = aten.view %0 [4, 8, 1] : (tensor<4x8xi64>) -> tensor<4x8x1xi64>
  %2 = aten.gather %scores dim 2 at %1 : (tensor<4x8x10xf32>, tensor<4x8x1xi64>) -> tensor<4x8x1xf32>
  return %2 : tensor<4x8x1xf32>
}
