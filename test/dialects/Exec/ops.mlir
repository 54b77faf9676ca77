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
// Memory
//===----------------------------------------------------------------------===//

// Values have the names that states and inputs have.
// CHECK-LABEL: module @declarations
//       CHECK:   %root.0.parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
//       CHECK:   %bn.running_mean = exec.state "bn.running_mean" buffer : memref<3xf32>
//       CHECK:   %idx = exec.input "idx" below 50304 ignore -100 : memref<4x64xi64>
//       CHECK:   %x = exec.input "x" : memref<4x8xf32>
//       CHECK:   %root.0.exp_avg = exec.state "root#0.exp_avg" optimizer "exp_avg" segment 0 : memref<16xf32>
//       CHECK:   %learning_rate = exec.scalar "learning_rate" : memref<f64>
module @declarations {
  %0 = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %1 = exec.state "bn.running_mean" buffer : memref<3xf32>
  %2 = exec.input "idx" below 50304 ignore -100 : memref<4x64xi64>
  %3 = exec.input "x" : memref<4x8xf32>
  %4 = exec.state "root#0.exp_avg" optimizer "exp_avg" segment 0 : memref<16xf32>
  %5 = exec.scalar "learning_rate" : memref<f64>
}

// -----

// CHECK-LABEL: exec.program @memory streams ["compute"] arena 192 {
//  CHECK-NEXT:   exec.section "micro_batch" repeat micro_batches {
//  CHECK-NEXT:   %[[FREE:.*]] = exec.buffer : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at 64 : memref<4x4xf32, strided<[1, 4]>>
//  CHECK-NEXT:   exec.part %[[FREE]][4] : memref<16xf32> -> memref<2x2xf32, strided<[4, 1]>>
//  CHECK-NEXT:   exec.part %[[FREE]][0 + replicate * 4 + shard * 8] : memref<16xf32> -> memref<4xf32>
fsdp.mesh @mesh <replicate = 2, shard = 2>
exec.program @memory streams ["compute"] arena 192 {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<16xf32>
    %1 = exec.buffer at 64 : memref<4x4xf32, strided<[1, 4]>>
    %2 = exec.part %0[4] : memref<16xf32> -> memref<2x2xf32, strided<[4, 1]>>
    %3 = exec.part %0[0 + shard * 8 + replicate * 4] : memref<16xf32> -> memref<4xf32>
  }
}

// -----

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

// Each line is one command; waits and records are printed when there are any.
// CHECK-LABEL: module @commands
//       CHECK:   exec.program @step streams ["compute", "gather", "reduce"] arena 1024 events 2 {
//  CHECK-NEXT:     exec.section "begin" {
//  CHECK-NEXT:       exec.fill %[[GRADIENT:.*]] : memref<16xf32> on 0
//  CHECK-NEXT:     }
//  CHECK-NEXT:     exec.section "micro_batch" repeat micro_batches {
//       CHECK:     exec.copy %[[PARAMETER:.*]] : memref<16xf32> -> %[[SLOT:.*]] : memref<16xf32> on 1
//  CHECK-NEXT:     exec.all_gather @root %[[WHOLE:.*]] : memref<64xf32> slot 64 over ["shard"] on 1 records 0
//  CHECK-NEXT:     exec.call "matmul" (%[[X:.*]] : memref<2x4xf32>, %[[W:.*]] : memref<4x4xf32, strided<[1, 4]>>) -> (%[[Y:.*]] : memref<2x4xf32>) {transpose_b = true} on 0 waits [0]
//  CHECK-NEXT:     exec.launch @relu "relu" extent 8 (%[[Y]] : memref<2x4xf32>, write %[[Z:.*]] : memref<2x4xf32>) on 0 records 1
//  CHECK-NEXT:     exec.reduce_scatter @root %[[WHOLE]] : memref<64xf32> -> %[[GRADIENT]] : memref<16xf32> over ["shard"] on 2 waits [0, 1]
//       CHECK:     exec.section "update" if %[[FINITE:.*]] : memref<1xi1> {
//  CHECK-NEXT:     exec.all_reduce %[[LOSS:.*]] : memref<1xf32> over ["shard"] on 0
//  CHECK-NEXT:     exec.all_reduce %[[NORM:.*]] : memref<2xf64> double_double over ["shard"] on 0
//  CHECK-NEXT:     exec.launch @sgd "sgd" extent 16 (read_write %[[PARAMETER]] : memref<16xf32>, %[[RATE:.*]] : memref<f64>) on 0
//  CHECK-NEXT:   }
module @commands {
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  %loss = exec.state "loss" metric : memref<1xf32>
  %norm = exec.state "gradient_norm_squares" metric : memref<2xf64>
  %finite = exec.state "finite" metric : memref<1xi1>
  %x = exec.input "x" : memref<2x4xf32>
  %rate = exec.scalar "learning_rate" : memref<f64>
  exec.program @step streams ["compute", "gather", "reduce"] arena 1024 events 2 {
    exec.section "begin" {
      exec.fill %gradient : memref<16xf32> on 0
    }
    exec.section "micro_batch" repeat micro_batches {
      %whole = exec.buffer at 0 : memref<64xf32>
      %slot = exec.part %whole[0 + shard * 16] : memref<64xf32> -> memref<16xf32>
      %w = exec.part %whole[0] : memref<64xf32> -> memref<4x4xf32, strided<[1, 4]>>
      %y = exec.buffer at 256 : memref<2x4xf32>
      %z = exec.buffer at 320 : memref<2x4xf32>
      exec.copy %parameter : memref<16xf32> -> %slot : memref<16xf32> on 1
      exec.all_gather @root %whole : memref<64xf32> slot 64 over ["shard"] on 1 records 0
      exec.call "matmul" (%x : memref<2x4xf32>, %w : memref<4x4xf32, strided<[1, 4]>>) -> (%y : memref<2x4xf32>) {transpose_b = true} on 0 waits [0]
      exec.launch @relu "relu" extent 8 (%y : memref<2x4xf32>, write %z : memref<2x4xf32>) on 0 records 1
      exec.reduce_scatter @root %whole : memref<64xf32> -> %gradient : memref<16xf32> over ["shard"] on 2 waits [0, 1]
    }
    exec.section "update" if %finite : memref<1xi1> {
      exec.all_reduce %loss : memref<1xf32> over ["shard"] on 0
      exec.all_reduce %norm : memref<2xf64> double_double over ["shard"] on 0
      exec.launch @sgd "sgd" extent 16 (read_write %parameter : memref<16xf32>, %rate : memref<f64>) on 0
    }
  }
}

// -----

// A kernel without a function, and what is kept of one that has it.
// CHECK-LABEL: exec.program @kernels
//       CHECK:   exec.run "identity" (%[[X:.*]] : memref<4xf32>) -> (%[[Y:.*]] : memref<4xf32>) on 1 waits [2] {
//  CHECK-NEXT:   ^bb0(%[[IN:.*]]: tensor<4xf32>):
//  CHECK-NEXT:     exec.yield %[[IN]] : tensor<4xf32>
//       CHECK:   exec.compute "identity" launches 1 (%[[X]] : memref<4xf32>) -> (%[[Y]] : memref<4xf32>) {
exec.program @kernels streams ["compute", "gather"] events 3 {
  exec.section "micro_batch" repeat micro_batches {
    %x = exec.buffer : memref<4xf32>
    %y = exec.buffer : memref<4xf32>
    exec.run "identity" (%x : memref<4xf32>) -> (%y : memref<4xf32>) on 1 waits [2] {
    ^bb0(%in: tensor<4xf32>):
      exec.yield %in : tensor<4xf32>
    }
    exec.compute "identity" launches 1 (%x : memref<4xf32>) -> (%y : memref<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      exec.yield %in : tensor<4xf32>
    }
  }
}
