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

// Labels that the model pads at their end and shifts; of those that it cuts off
// nothing is known.
// CHECK-LABEL: @padded_labels
//  CHECK-SAME:   (%{{.*}}: tensor<4x8xi64> {shardc.ignore_index = -100 : i64, shardc.upper_bound = 10 : i64},
//  CHECK-SAME:    %{{.*}}: tensor<4x10xi64>,
func.func @padded_labels(%labels: tensor<4x8xi64>, %longer: tensor<4x10xi64>,
                         %logits: tensor<32x10xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = aten.pad %labels [0, 1] {value = -100.0 : f64} : (tensor<4x8xi64>) -> tensor<4x9xi64>
  %1 = aten.slice %0 dim 1 [1 : 9] : (tensor<4x9xi64>) -> tensor<4x8xi64>
  %2 = aten.view %1 [32] : (tensor<4x8xi64>) -> tensor<32xi64>
  %a, %b, %c = aten.cross_entropy_loss %logits, %2
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>, tensor<f32>)
  %3 = aten.pad %longer [-2, 0] {value = 0.0 : f64} : (tensor<4x10xi64>) -> tensor<4x8xi64>
  %4 = aten.view %3 [32] : (tensor<4x8xi64>) -> tensor<32xi64>
  %d, %e, %f = aten.cross_entropy_loss %logits, %4
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>, tensor<f32>)
  return %a, %d : tensor<f32>, tensor<f32>
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

// Language models take one input as tokens and, shifted, as labels. What the
// loss ignores has no row in the table.
// CHECK-LABEL: @tokens_that_are_labels_too
//  CHECK-SAME:   (%{{.*}}: tensor<33xi64> {shardc.upper_bound = 10 : i64},
func.func @tokens_that_are_labels_too(%tokens: tensor<33xi64>,
                                      %table: tensor<65x10xf32>) -> tensor<f32> {
  %idx = aten.slice %tokens dim 0 [0:32] : (tensor<33xi64>) -> tensor<32xi64>
  %labels = aten.slice %tokens dim 0 [1:33] : (tensor<33xi64>) -> tensor<32xi64>
  %logits = aten.embedding %table, %idx : (tensor<65x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %logits, %labels
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<f32>, tensor<32xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// -----

// A number inside of the bounds may be ignored by one use alone; two losses
// that ignore one number keep it.
// CHECK-LABEL: @what_all_uses_ignore
//  CHECK-SAME:   %{{[^:]*}}: tensor<4xi64> {shardc.ignore_index = -1 : i64, shardc.upper_bound = 5 : i64}
//  CHECK-SAME:   %{{[^:]*}}: tensor<4xi64> {shardc.upper_bound = 5 : i64}
func.func @what_all_uses_ignore(%same: tensor<4xi64>, %different: tensor<4xi64>,
                                %x: tensor<4x5xf32>) -> tensor<f32> {
  %0, %s0, %t0 = aten.cross_entropy_loss %x, %same
      {reduction = #aten.reduction<mean>, ignore_index = -1 : i64}
      : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  %1, %t1 = aten.nll_loss %x, %same
      {reduction = #aten.reduction<mean>, ignore_index = -1 : i64}
      : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  %2, %t2 = aten.nll_loss %x, %different
      {reduction = #aten.reduction<mean>, ignore_index = -1 : i64}
      : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  %3, %t3 = aten.nll_loss %x, %different
      {reduction = #aten.reduction<mean>, ignore_index = -2 : i64}
      : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  return %3 : tensor<f32>
}

// -----

// Positions are looked up two rows further; another dtype changes nothing.
// CHECK-LABEL: @converted_and_shifted
//  CHECK-SAME:   (%{{.*}}: tensor<4xi32> {shardc.upper_bound = 7 : i64},
func.func @converted_and_shifted(%positions: tensor<4xi32>,
                                 %table: tensor<9x2xf32>) -> tensor<4x2xf32> {
  %0 = aten.to %positions i64 : (tensor<4xi32>) -> tensor<4xi64>
  %1 = aten.add.Scalar %0, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  %2 = aten.embedding %table, %1 : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// Odd rows of a table of 9 are 1, 3, 5 and 7.
// CHECK-LABEL: @scaled
//  CHECK-SAME:   (%{{.*}}: tensor<4xi64> {shardc.upper_bound = 4 : i64},
func.func @scaled(%halves: tensor<4xi64>, %table: tensor<9x2xf32>) -> tensor<4x2xf32> {
  %0 = aten.mul.Scalar %halves, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  %1 = aten.add.Scalar %0, 1 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  %2 = aten.embedding %table, %1 : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// Every operator that looks up at indices bounds them by the dimension that
// they count; what is looked up in is not an index.
// CHECK-LABEL: @look_ups
//  CHECK-SAME:   %{{[^:]*}}: tensor<3x2xi64> {shardc.upper_bound = 5 : i64}
//  CHECK-SAME:   %{{[^:]*}}: tensor<4xi64> {shardc.upper_bound = 8 : i64}
//  CHECK-SAME:   %{{[^:]*}}: tensor<5x8xi64>)
func.func @look_ups(%rows: tensor<3x2xi64>, %columns: tensor<4xi64>,
                    %table: tensor<5x8xi64>) -> tensor<5x4xi64> {
  %0 = aten.gather %table dim 0 at %rows : (tensor<5x8xi64>, tensor<3x2xi64>) -> tensor<3x2xi64>
  %1 = aten.index %table at %columns of [1] : (tensor<5x8xi64>, tensor<4xi64>) -> tensor<5x4xi64>
  return %1 : tensor<5x4xi64>
}

// -----

// Nothing is known of integers that a model replaces before it uses them, or
// when no number would do.
// CHECK-LABEL: @unknown_bounds
//   CHECK-NOT:   shardc.upper_bound
func.func @unknown_bounds(%labels: tensor<4xi64>, %far: tensor<4xi64>,
                          %mask: tensor<4xi1>, %zero: tensor<i64>,
                          %table: tensor<9x2xf32>) -> tensor<4x2xf32> {
  %0 = aten.where %mask, %labels, %zero : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = aten.embedding %table, %0 : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %2 = aten.add.Scalar %far, 9 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  %3 = aten.embedding %table, %2 : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

// -----

// Floating-point inputs and integers that index nothing have no bound.
// CHECK-LABEL: @unbounded_inputs
//   CHECK-NOT:   shardc.upper_bound
func.func @unbounded_inputs(%x: tensor<4xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %0 = aten.add %x, %n : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A dump of the import phase has modules, whose regions are followed: the loss
// would ignore -100, the embedding has no such row.
// CHECK-LABEL: @uses_in_modules
//  CHECK-SAME:   tensor<4xi64> {shardc.upper_bound = 9 : i64}
func.func @uses_in_modules(%t: tensor<4xi64>, %table: tensor<9x9xf32>) -> tensor<f32> {
  %same = fsdp.module "m" : "M" (%in = %t : tensor<4xi64>) -> tensor<4xi64> {
    fsdp.yield %in : tensor<4xi64>
  }
  %rows = fsdp.module "e" : "Embedding" (%weight = %table : tensor<9x9xf32>, %index = %same : tensor<4xi64>) -> tensor<4x9xf32> {
    %0 = aten.embedding %weight, %index : (tensor<9x9xf32>, tensor<4xi64>) -> tensor<4x9xf32>
    fsdp.yield %0 : tensor<4x9xf32>
  }
  %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %rows, %t
      {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<4x9xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return %loss : tensor<f32>
}

// -----

// Columns of one input index tables of their own: the largest says what some
// element may be.
// CHECK-LABEL: @columns_of_different_tables
//  CHECK-SAME:   tensor<4x2xi64> {shardc.upper_bound = 7 : i64}
func.func @columns_of_different_tables(%idx: tensor<4x2xi64>, %a: tensor<7x2xf32>,
                                       %b: tensor<5x2xf32>) -> tensor<4x1x2xf32> {
  %0 = aten.slice %idx dim 1 [0:1] : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %1 = aten.slice %idx dim 1 [1:2] : (tensor<4x2xi64>) -> tensor<4x1xi64>
  %2 = aten.embedding %a, %0 : (tensor<7x2xf32>, tensor<4x1xi64>) -> tensor<4x1x2xf32>
  %3 = aten.embedding %b, %1 : (tensor<5x2xf32>, tensor<4x1xi64>) -> tensor<4x1x2xf32>
  %4 = aten.add %2, %3 : (tensor<4x1x2xf32>, tensor<4x1x2xf32>) -> tensor<4x1x2xf32>
  return %4 : tensor<4x1x2xf32>
}
