// RUN: shardc-opt %s --split-input-file | shardc-opt --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @kernel
//       CHECK:   exec.kernel "double" (%[[ARGUMENT:.*]] = %{{.*}} : tensor<4xf32>) -> tensor<4xf32> {
//       CHECK:     arith.addf %[[ARGUMENT]], %[[ARGUMENT]]
//       CHECK:     exec.yield %{{.*}} : tensor<4xf32>
func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = exec.kernel "double" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = arith.addf %a, %a : tensor<4xf32>
    exec.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A kernel may have no inputs, and several results.
// CHECK-LABEL: @kernel_without_inputs
//       CHECK:   %{{.*}}:2 = exec.kernel "constants" () -> (tensor<f32>, tensor<i64>) {
func.func @kernel_without_inputs() {
  %0:2 = exec.kernel "constants" () -> (tensor<f32>, tensor<i64>) {
    %1 = arith.constant dense<0.0> : tensor<f32>
    %2 = arith.constant dense<1> : tensor<i64>
    exec.yield %1, %2 : tensor<f32>, tensor<i64>
  }
  return
}

// -----

// The second result is row-major, the first stored with dimension 1 outermost.
// CHECK-LABEL: @library
//       CHECK:   exec.library "attention"(%{{.*}}) {scale = 5.000000e-01 : f64} order [array<i64: 1, 0>, array<i64>] : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
func.func @library(%x: tensor<2x3xf32>) {
  %0, %1 = exec.library "attention" (%x) {scale = 0.5 : f64} order [array<i64: 1, 0>, array<i64>]
      : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  return
}

// -----

// CHECK-LABEL: @view
//       CHECK:   exec.view %{{.*}} offset 1 strides [3] : tensor<2x3xf32> -> tensor<2xf32>
func.func @view(%x: tensor<2x3xf32>) {
  %0 = exec.view %x offset 1 strides [3] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// CHECK-LABEL: module @declarations
//       CHECK:   exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
//       CHECK:   exec.state "bn.running_mean" buffer : tensor<3xf32>
//       CHECK:   exec.input "idx" below 50304 ignore -100 : tensor<4x64xi64>
//       CHECK:   exec.input "x" : tensor<4x8xf32>
//       CHECK:   exec.scalar "bias_correction" beta 9.000000e-01 : f32
//       CHECK:   exec.scalar "learning_rate" : f32
module @declarations {
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "bn.running_mean" buffer : tensor<3xf32>
  exec.input "idx" below 50304 ignore -100 : tensor<4x64xi64>
  exec.input "x" : tensor<4x8xf32>
  exec.scalar "bias_correction" beta 0.9 : f32
  exec.scalar "learning_rate" : f32
}

// -----

// Each line is one command; waits and records are printed when there are any.
// CHECK-LABEL: module @commands
//       CHECK:   exec.program @step arena 1024 streams ["compute", "gather", "reduce"] events 2 {
//  CHECK-NEXT:     exec.fill state[1 + 0] : memref<16xf32> in begin on 0
//  CHECK-NEXT:     exec.copy state[0 + 0] : memref<16xf32> -> arena[0 + 0 + rank * 64] : memref<16xf32> in micro_batch on 1
//  CHECK-NEXT:     exec.all_gather @root arena[0 + 0] : memref<64xf32> slot 64 in micro_batch on 1 records 0
//  CHECK-NEXT:     exec.call "matmul" (input[0 + 0] : memref<2x4xf32>, arena[0 + 0] : memref<4x4xf32, strided<[1, 4]>>) -> (arena[0 + 256] : memref<2x4xf32>) {transpose_b = true} in micro_batch on 0 waits [0]
//  CHECK-NEXT:     exec.launch @relu "relu" extent 8 (arena[0 + 256] : memref<2x4xf32>, arena[0 + 320] : memref<2x4xf32>) in micro_batch on 0 records 1
//  CHECK-NEXT:     exec.reduce_scatter @root arena[0 + 0] : memref<64xf32> -> state[1 + 0] : memref<16xf32> in micro_batch on 2 waits [0, 1]
//  CHECK-NEXT:     exec.all_reduce state[2 + 0] : memref<1xf32> in update on 0
//  CHECK-NEXT:     exec.all_reduce state[3 + 0] : memref<2xf64> double_double in update on 0
//  CHECK-NEXT:     exec.launch @sgd "sgd" extent 16 (state[0 + 0] : memref<16xf32>, scalar[0 + 0] : memref<f32>, constant[0 + 8] : memref<f64>) in update on 0
//  CHECK-NEXT:   }
module @commands {
  exec.program @step arena 1024 streams ["compute", "gather", "reduce"] events 2 {
    exec.fill state[1 + 0] : memref<16xf32> in begin on 0
    exec.copy state[0 + 0] : memref<16xf32> -> arena[0 + 0 + rank * 64] : memref<16xf32> in micro_batch on 1
    exec.all_gather @root arena[0 + 0] : memref<64xf32> slot 64 in micro_batch on 1 records 0
    exec.call "matmul" (input[0 + 0] : memref<2x4xf32>, arena[0 + 0] : memref<4x4xf32, strided<[1, 4]>>) -> (arena[0 + 256] : memref<2x4xf32>) {transpose_b = true} in micro_batch on 0 waits [0]
    exec.launch @relu "relu" extent 8 (arena[0 + 256] : memref<2x4xf32>, arena[0 + 320] : memref<2x4xf32>) in micro_batch on 0 records 1
    exec.reduce_scatter @root arena[0 + 0] : memref<64xf32> -> state[1 + 0] : memref<16xf32> in micro_batch on 2 waits [0, 1]
    exec.all_reduce state[2 + 0] : memref<1xf32> in update on 0
    exec.all_reduce state[3 + 0] : memref<2xf64> double_double in update on 0
    exec.launch @sgd "sgd" extent 16 (state[0 + 0] : memref<16xf32>, scalar[0 + 0] : memref<f32>, constant[0 + 8] : memref<f64>) in update on 0
  }
}

// -----

// A reference is an attribute of its own, too.
// CHECK-LABEL: @reference
//  CHECK-SAME:   #exec.ref<arena[0 + 64] : memref<4xf32>>
//  CHECK-SAME:   #exec.ref<state[1 + 0 + rank * 64] : memref<4xf32>>
module @reference attributes {
  exec.first = #exec.ref<arena[0 + 64] : memref<4xf32>>,
  exec.second = #exec.ref<state[1 + 0 + rank * 64] : memref<4xf32>>} {
}
