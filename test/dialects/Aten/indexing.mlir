// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// gather has the index's shape, scatters have the tensor's.
// CHECK-LABEL: @along_a_dimension
//       CHECK:   aten.gather %{{.*}} dim 0 at %{{.*}} : (tensor<3x4xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
//       CHECK:   aten.scatter %{{.*}} dim 0 at %{{.*}} from %{{.*}} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
//       CHECK:   aten.scatter_reduce %{{.*}} dim 0 at %{{.*}} from %{{.*}} {include_self = false, reduce = #aten.scatter_reduction<mean>} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
func.func @along_a_dimension(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %s: tensor<2x4xf32>) {
  %0 = aten.gather %x dim 0 at %i : (tensor<3x4xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  %1 = aten.scatter %x dim 0 at %i from %s : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %2 = aten.scatter_reduce %x dim 0 at %i from %s {include_self = false, reduce = #aten.scatter_reduction<mean>} : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return
}

// Index tensors of neighbouring dimensions: their common shape takes the place
// of these dimensions.
// CHECK-LABEL: @neighbouring_dimensions
//       CHECK:   aten.index %{{.*}} at %{{.*}}, %{{.*}} of [1, 2] : (tensor<3x4x5xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<3x7x2xf32>
//       CHECK:   aten.index %{{.*}} at %{{.*}} of [1] : (tensor<3x4x5xf32>, tensor<2xi64>) -> tensor<3x2x5xf32>
func.func @neighbouring_dimensions(%x: tensor<3x4x5xf32>, %i: tensor<7x1xi64>, %j: tensor<2xi64>) {
  %0 = aten.index %x at %i, %j of [1, 2] : (tensor<3x4x5xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<3x7x2xf32>
  %1 = aten.index %x at %j of [1] : (tensor<3x4x5xf32>, tensor<2xi64>) -> tensor<3x2x5xf32>
  return
}

// Of dimensions apart: it comes first, as in NumPy.
// CHECK-LABEL: @separate_dimensions
//       CHECK:   aten.index %{{.*}} at %{{.*}}, %{{.*}} of [0, 2] : (tensor<3x4x5xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<7x2x4xf32>
func.func @separate_dimensions(%x: tensor<3x4x5xf32>, %i: tensor<7x1xi64>, %j: tensor<2xi64>) {
  %0 = aten.index %x at %i, %j of [0, 2] : (tensor<3x4x5xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<7x2x4xf32>
  return
}

// Values broadcast to the indexed shape.
// CHECK-LABEL: @index_put
//       CHECK:   aten.index_put %{{.*}} at %{{.*}} of [0] from %{{.*}} {accumulate = true} : (tensor<3x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<3x4xf32>
func.func @index_put(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %v: tensor<4xf32>) {
  %0 = aten.index_put %x at %i of [0] from %v {accumulate = true} : (tensor<3x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// The mask broadcasts with the tensor.
// CHECK-LABEL: @masked_scatter
//       CHECK:   aten.masked_scatter %{{.*}}, %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<4xi1>, tensor<12xf32>) -> tensor<3x4xf32>
func.func @masked_scatter(%x: tensor<3x4xf32>, %m: tensor<4xi1>, %s: tensor<12xf32>) {
  %0 = aten.masked_scatter %x, %m, %s : (tensor<3x4xf32>, tensor<4xi1>, tensor<12xf32>) -> tensor<3x4xf32>
  return
}

// Moves and triangles keep the type.
// CHECK-LABEL: @fixed_patterns
//       CHECK:   aten.roll %{{.*}} by [1, -2] along [0, 1] : (tensor<3x4xi1>) -> tensor<3x4xi1>
//       CHECK:   aten.flip %{{.*}} [1] : (tensor<3x4xi1>) -> tensor<3x4xi1>
//       CHECK:   aten.tril %{{.*}} : (tensor<3x4xi1>) -> tensor<3x4xi1>
//       CHECK:   aten.triu %{{.*}} {diagonal = 1 : i64} : (tensor<3x4xi1>) -> tensor<3x4xi1>
func.func @fixed_patterns(%x: tensor<3x4xi1>) {
  %0 = aten.roll %x by [1, -2] along [0, 1] : (tensor<3x4xi1>) -> tensor<3x4xi1>
  %1 = aten.flip %x [1] : (tensor<3x4xi1>) -> tensor<3x4xi1>
  %2 = aten.tril %x : (tensor<3x4xi1>) -> tensor<3x4xi1>
  %3 = aten.triu %x {diagonal = 1 : i64} : (tensor<3x4xi1>) -> tensor<3x4xi1>
  return
}
