// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-split-reductions | FileCheck %s

// A loss: 64 parts of 4 rows, whose sums are added.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0 * 8 + d1, d2)>
// CHECK-DAG: #[[PART:.*]] = affine_map<(d0, d1, d2) -> (d0)>
// CHECK-LABEL: func @loss
//       CHECK:   %[[PARTS:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #{{.*}}, #[[PART]]], iterator_types = ["parallel", "reduction", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<256x512xf32>, tensor<8xi1>) outs(%{{.*}} : tensor<32xf64>)
//       CHECK:     arith.extf
//       CHECK:     arith.addf
//       CHECK:   linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[PARTS]] : tensor<32xf64>) outs(%{{.*}} : tensor<f64>)
//       CHECK:     arith.addf
func.func @loss(%x: tensor<256x512xf32>) -> tensor<f64> {
  %0 = exec.kernel "sum" (%in = %x : tensor<256x512xf32>) -> tensor<f64> {
    %zero = arith.constant 0.0 : f64
    %empty = tensor.empty() : tensor<f64>
    %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<f64>) -> tensor<f64>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%in : tensor<256x512xf32>) outs(%start : tensor<f64>) {
    ^bb0(%element: f32, %carried: f64):
      %wide = arith.extf %element : f32 to f64
      %next = arith.addf %carried, %wide : f64
      linalg.yield %next : f64
    } -> tensor<f64>
    exec.yield %sum : tensor<f64>
  }
  return %0 : tensor<f64>
}

// -----

// A prime number of terms has no equal parts, a sum for each of many columns is
// work for many threads, and a short sum is none.
// CHECK-LABEL: func @left_as_they_are
// CHECK-COUNT-3: linalg.generic
//   CHECK-NOT: linalg.generic
func.func @left_as_they_are(%a: tensor<99991xf32>, %b: tensor<9000x64xf32>, %c: tensor<4x4000xf32>) -> (tensor<f32>, tensor<64xf32>, tensor<f32>) {
  %0:3 = exec.kernel "sum" (%in0 = %a : tensor<99991xf32>, %in1 = %b : tensor<9000x64xf32>, %in2 = %c : tensor<4x4000xf32>) -> (tensor<f32>, tensor<64xf32>, tensor<f32>) {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %row = tensor.empty() : tensor<64xf32>
    %starts = linalg.fill ins(%zero : f32) outs(%row : tensor<64xf32>) -> tensor<64xf32>
    %prime = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%in0 : tensor<99991xf32>) outs(%start : tensor<f32>) {
    ^bb0(%element: f32, %carried: f32):
      %next = arith.addf %carried, %element : f32
      linalg.yield %next : f32
    } -> tensor<f32>
    %columns = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%in1 : tensor<9000x64xf32>) outs(%starts : tensor<64xf32>) {
    ^bb0(%element: f32, %carried: f32):
      %next = arith.addf %carried, %element : f32
      linalg.yield %next : f32
    } -> tensor<64xf32>
    %short = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%in2 : tensor<4x4000xf32>) outs(%start : tensor<f32>) {
    ^bb0(%element: f32, %carried: f32):
      %next = arith.addf %carried, %element : f32
      linalg.yield %next : f32
    } -> tensor<f32>
    exec.yield %prime, %columns, %short : tensor<f32>, tensor<64xf32>, tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<64xf32>, tensor<f32>
}
