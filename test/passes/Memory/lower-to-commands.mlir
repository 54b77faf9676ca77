// RUN: shardc-opt %s --split-input-file --shardc-lower-to-commands | FileCheck %s

// The weight's gradient is written where the reduction reads it; only the
// padding of the second rank's part is filled with zeros. Gradients and metrics
// are sums over micro-batches: metrics start at zero, gradients are overwritten
// by the first one.
// CHECK-LABEL: module @gradient_in_place
//       CHECK:   %[[PARAMETER:.*]] = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
//  CHECK-NEXT:   %[[GRADIENT:.*]] = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
//  CHECK-NEXT:   %[[LOSS:.*]] = exec.state "loss" metric : memref<1xf32>
//  CHECK-NEXT:   %[[NORM:.*]] = exec.state "gradient_norm_squares" metric : memref<2xf64>
//  CHECK-NEXT:   %[[D_Y:.*]] = exec.input "input0" : memref<2x4xf32>
//  CHECK-NEXT:   %[[X:.*]] = exec.input "input1" : memref<2x4xf32>
//       CHECK:   %[[NUMBER:.*]] = exec.scalar "micro_batch" : memref<i64>
//       CHECK:   exec.program @step streams ["compute", "gather", "reduce"] {
//  CHECK-NEXT:     exec.section "begin" {
//  CHECK-NEXT:     exec.fill %[[LOSS]] : memref<1xf32> on 0
//  CHECK-NEXT:     exec.fill %[[NORM]] : memref<2xf64> on 0
//  CHECK-NEXT:     }
//  CHECK-NEXT:     exec.section "micro_batch" repeat micro_batches {
//  CHECK-NEXT:     %[[WHOLE:.*]] = exec.buffer : memref<32xf32>
//  CHECK-NEXT:     %[[D_W:.*]] = exec.part %[[WHOLE]][0] : memref<32xf32> -> memref<4x4xf32>
//  CHECK-NEXT:     exec.call "matmul" (%[[D_Y]] : {{.*}}, %[[X]] : {{.*}}) -> (%[[D_W]] : memref<4x4xf32>) {transpose_a = true} on 0
//  CHECK-NEXT:     %[[REST:.*]] = exec.part %[[WHOLE]][16] : memref<32xf32> -> memref<16xf32>
//  CHECK-NEXT:     exec.fill %[[REST]] : memref<16xf32> on 0
//  CHECK-NEXT:     exec.reduce_scatter @root %[[WHOLE]] : memref<32xf32> -> %[[GRADIENT]] : memref<16xf32> first_at %[[NUMBER]] : memref<i64> over ["shard"] on 2
//  CHECK-NEXT:     }
//  CHECK-NEXT:     exec.section "update" {
module @gradient_in_place {
  fsdp.parameter @w : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_y: tensor<2x4xf32>, %x: tensor<2x4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %d_w = exec.library "matmul" (%d_y, %x) {transpose_a = true} order [array<i64>] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<4x4xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// One value cannot be in two places: it is copied to the second. The sum of one
// rank is what the first micro-batch writes into the state itself.
// CHECK-LABEL: module @same_gradient_twice
//       CHECK:   exec.section "initial_micro_batch" repeat initial_micro_batch {
//  CHECK-NEXT:   %[[IN_STATE:.*]] = exec.part %[[GRADIENT:root.0.gradient]][0] : memref<32xf32> -> memref<16xf32>
//  CHECK-NEXT:   exec.call "copy" {{.*}} -> (%[[IN_STATE]] : memref<16xf32>)
//  CHECK-NEXT:   %[[SECOND:.*]] = exec.part %[[GRADIENT]][16] : memref<32xf32> -> memref<16xf32>
//  CHECK-NEXT:   exec.copy %[[IN_STATE]] : memref<16xf32> -> %[[SECOND]] : memref<16xf32>
//  CHECK-NEXT:   }
//       CHECK:   exec.section "later_micro_batches" repeat later_micro_batches {
//       CHECK:   %[[A:.*]] = exec.part %[[WHOLE:.*]][0] : memref<32xf32> -> memref<16xf32>
//  CHECK-NEXT:   exec.call "copy" {{.*}} -> (%[[A]] : memref<16xf32>)
//  CHECK-NEXT:   %[[B:.*]] = exec.part %[[WHOLE]][16] : memref<32xf32> -> memref<16xf32>
//  CHECK-NEXT:   exec.copy %[[A]] : memref<16xf32> -> %[[B]] : memref<16xf32>
//  CHECK-NEXT:   exec.reduce_scatter @root %[[WHOLE]] : memref<32xf32> -> %[[GRADIENT]] : memref<32xf32> first_at %{{.*}} : memref<i64> over ["shard"] on 2
module @same_gradient_twice {
  fsdp.parameter @a : tensor<16xf32>
  fsdp.parameter @b : tensor<16xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 16
    }
  }
  func.func @step(%x: tensor<16xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %d = exec.library "copy" (%x) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %pending = fsdp.reduce_scatter_start @root [@a, @b](%d, %d) on reduce : (tensor<16xf32>, tensor<16xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// Each rank casts its shard into its slot; after the gather the parameters are
// where they are used, at their offsets in the segment.
// CHECK-LABEL: module @gathered_bytes_are_the_parameters
//       CHECK:   %[[SHARD:.*]] = exec.state "root#0.parameter"
//       CHECK:   %[[WHOLE:.*]] = exec.buffer : memref<64xbf16>
//  CHECK-NEXT:   %[[SLOT:.*]] = exec.part %[[WHOLE]][0 + shard * 32] : memref<64xbf16> -> memref<32xbf16>
//  CHECK-NEXT:   exec.run "cast" (%[[SHARD]] : memref<32xf32>) -> (%[[SLOT]] : memref<32xbf16>) on 1 {
//  CHECK-NEXT:   ^bb0(%{{.*}}: tensor<32xf32>):
//       CHECK:   exec.all_gather @root %[[WHOLE]] : memref<64xbf16> slot 64 over ["shard"] on 1
//  CHECK-NEXT:   %[[WEIGHT:.*]] = exec.part %[[WHOLE]][0] : memref<64xbf16> -> memref<4x4xbf16>
//  CHECK-NEXT:   %[[BIAS:.*]] = exec.part %[[WHOLE]][32] : memref<64xbf16> -> memref<4xbf16>
//       CHECK:   exec.call "matmul" (%{{.*}}, %[[WEIGHT]] : {{.*}}, %[[BIAS]] : {{.*}}) {{.*}} on 0
module @gathered_bytes_are_the_parameters {
  fsdp.parameter @weight : tensor<4x4xf32>
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.segment bf16 reduce bf16 elements 64 shard 32 {
      fsdp.member @weight at 0
      fsdp.member @bias at 32
    }
  }
  func.func @step(%x: tensor<2x4xbf16>) {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x4xbf16>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %y = exec.library "matmul" (%x, %weight, %bias) {epilogue = "bias"} order [array<i64>]
        : (tensor<2x4xbf16>, tensor<4x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

// A rank that is alone uses its state.
// CHECK-LABEL: module @one_rank_needs_no_gather
//       CHECK:   %[[STATE:.*]] = exec.state "root#0.parameter"
//   CHECK-NOT:   exec.copy
//   CHECK-NOT:   exec.all_gather
//       CHECK:   %[[W:.*]] = exec.part %[[STATE]][0] : memref<16xf32> -> memref<4x4xf32>
//       CHECK:   exec.call "matmul" (%{{.*}}, %[[W]] : memref<4x4xf32>)
module @one_rank_needs_no_gather {
  fsdp.parameter @w : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<2x4xf32>) {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4x4xf32>
    %y = exec.library "matmul" (%x, %w) {} order [array<i64>] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

// A library stores its result as it says; a view is a part of its source.
// CHECK-LABEL: module @strides_and_offsets
//       CHECK:   %[[A:.*]] = exec.buffer : memref<2x3xf32, strided<[1, 2]>>
//  CHECK-NEXT:   exec.call "a" {{.*}} -> (%[[A]] : memref<2x3xf32, strided<[1, 2]>>)
//  CHECK-NEXT:   %[[COLUMN:.*]] = exec.part %[[A]][2] : memref<2x3xf32, strided<[1, 2]>> -> memref<2xf32>
//       CHECK:   exec.call "b" (%[[COLUMN]] : memref<2xf32>)
module @strides_and_offsets {
  func.func @step(%x: tensor<2x3xf32> {shardc.name = "x"}) {
    fsdp.begin forward
    %0 = exec.library "a" (%x) {} order [array<i64: 1, 0>] : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = exec.view %0 offset 2 strides [1] : tensor<2x3xf32> -> tensor<2xf32>
    %2 = exec.library "b" (%1) {} order [array<i64>] : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

// A read after a write sees the written value, but the state changes only at the
// end of the micro-batch: backward may still need the old one.
// CHECK-LABEL: module @buffer_changes_after_backward
//       CHECK:   %[[STATE:.*]] = exec.state "count" buffer
//       CHECK:   exec.call "add" (%[[STATE]] : {{.*}}) -> (%[[NEW:.*]] : memref<4xf32>)
//       CHECK:   exec.call "add" (%[[NEW]] : {{.*}}) -> (%[[NEWER:.*]] : memref<4xf32>)
//       CHECK:   exec.call "use" (%[[STATE]] :
//  CHECK-NEXT:   exec.copy %[[NEWER]] : memref<4xf32> -> %[[STATE]] : memref<4xf32> on 0
module @buffer_changes_after_backward {
  fsdp.buffer @count : tensor<4xf32>
  func.func @step() {
    fsdp.begin forward
    %old = fsdp.read @count : tensor<4xf32>
    %new = exec.library "add" (%old) {} order [array<i64>] : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.write %new, @count : tensor<4xf32>
    %again = fsdp.read @count : tensor<4xf32>
    %newer = exec.library "add" (%again) {} order [array<i64>] : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.write %newer, @count : tensor<4xf32>
    fsdp.begin backward
    %used = exec.library "use" (%old) {} order [array<i64>] : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.begin update
    return
  }
}

// -----

// Buffers change at once: the value that moves on is copied before the state
// that it is read from changes.
// CHECK-LABEL: module @buffers_that_move_on
//       CHECK:   %[[CURRENT:.*]] = exec.state "current" buffer
//  CHECK-NEXT:   %[[PREVIOUS:.*]] = exec.state "previous" buffer
//       CHECK:   exec.call "new" () -> (%[[NEW:.*]] : memref<4xf32>)
//  CHECK-NEXT:   exec.copy %[[CURRENT]] : memref<4xf32> -> %[[PREVIOUS]] : memref<4xf32> on 0
//  CHECK-NEXT:   exec.copy %[[NEW]] : memref<4xf32> -> %[[CURRENT]] : memref<4xf32> on 0
//   CHECK-NOT:   exec.copy
module @buffers_that_move_on {
  fsdp.buffer @current : tensor<4xf32>
  fsdp.buffer @previous : tensor<4xf32>
  func.func @step() {
    fsdp.begin forward
    %old = fsdp.read @current : tensor<4xf32>
    %new = exec.library "new" () {} order [array<i64>] : () -> tensor<4xf32>
    fsdp.write %new, @current : tensor<4xf32>
    fsdp.write %old, @previous : tensor<4xf32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
}

// -----

// Where states go in a circle, one of them is saved in a buffer. The view of one
// row is read from there too; a state that is written to itself stays.
// CHECK-LABEL: module @buffers_that_swap
//       CHECK:   %[[A:.*]] = exec.state "a" buffer
//  CHECK-NEXT:   %[[B:.*]] = exec.state "b" buffer
//  CHECK-NEXT:   %[[ROW:.*]] = exec.state "row" buffer
//  CHECK-NEXT:   exec.state "same" buffer
//       CHECK:   %[[A_ROW:.*]] = exec.part %[[A]][4] : memref<2x4xf32> -> memref<4xf32>
//  CHECK-NEXT:   exec.copy %[[A_ROW]] : memref<4xf32> -> %[[ROW]] : memref<4xf32>
//  CHECK-NEXT:   %[[ASIDE:.*]] = exec.buffer : memref<2x4xf32>
//  CHECK-NEXT:   exec.copy %[[A]] : memref<2x4xf32> -> %[[ASIDE]] : memref<2x4xf32>
//  CHECK-NEXT:   exec.copy %[[B]] : memref<2x4xf32> -> %[[A]] : memref<2x4xf32>
//  CHECK-NEXT:   exec.copy %[[ASIDE]] : memref<2x4xf32> -> %[[B]] : memref<2x4xf32>
//   CHECK-NOT:   exec.copy
module @buffers_that_swap {
  fsdp.buffer @a : tensor<2x4xf32>
  fsdp.buffer @b : tensor<2x4xf32>
  fsdp.buffer @row : tensor<4xf32>
  fsdp.buffer @same : tensor<4xf32>
  func.func @step() {
    fsdp.begin forward
    %a = fsdp.read @a : tensor<2x4xf32>
    %b = fsdp.read @b : tensor<2x4xf32>
    %same = fsdp.read @same : tensor<4xf32>
    %row = exec.view %a offset 4 strides [1] : tensor<2x4xf32> -> tensor<4xf32>
    fsdp.write %b, @a : tensor<2x4xf32>
    fsdp.write %a, @b : tensor<2x4xf32>
    fsdp.write %row, @row : tensor<4xf32>
    fsdp.write %same, @same : tensor<4xf32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
}

// -----

// The norm and the loss are summed over the ranks. The update writes parameter
// and momentum over themselves and reads the gradient and the step's numbers.
// CHECK-LABEL: module @sgd_on_one_group
//       CHECK:   %[[P:.*]] = exec.state "root#0.parameter"
//  CHECK-NEXT:   %[[G:.*]] = exec.state "root#0.gradient"
//  CHECK-NEXT:   %[[M:.*]] = exec.state "root#0.momentum" optimizer "momentum" segment 0 : memref<16xf32>
//  CHECK-NEXT:   %[[COUNT:.*]] = exec.state "optimizer#count" optimizer "count" : memref<f64>
//  CHECK-NEXT:   %[[LOSS:.*]] = exec.state "loss"
//  CHECK-NEXT:   %[[NORM:.*]] = exec.state "gradient_norm_squares"
//       CHECK:   %[[RATE:.*]] = exec.scalar "learning_rate" : memref<f64>
//       CHECK:   exec.call "sum_of_squares" (%[[G]] : memref<16xf32>) -> (%[[NORM]] : memref<2xf64>) {} on 0
//  CHECK-NEXT:   exec.all_reduce %[[NORM]] : memref<2xf64> double_double over ["shard"] on 0
//  CHECK-NEXT:   exec.all_reduce %[[LOSS]] : memref<1xf32> over ["shard"] on 0
//  CHECK-NEXT:   exec.run "sgd" (%[[P]] : {{.*}}, %[[G]] : {{.*}}, %[[M]] : {{.*}}, %[[RATE]] : {{.*}}) -> (%[[P]] : {{.*}}, %[[M]] : {{.*}}) on 0
//   CHECK-NOT:   exec.copy
module @sgd_on_one_group {
  fsdp.parameter @w : tensor<16xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  fsdp.state @"root#0.momentum" "momentum" of @root[0] : tensor<16xf32>
  fsdp.state @"optimizer#count" "count" : tensor<f64>
  func.func @step(%d: tensor<16xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %d_w = exec.library "copy" (%d) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<16xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    %squares = fsdp.gradient_norm %shard : (!fsdp.shard<@root>) -> tensor<2xf64>
    %rate = fsdp.scalar learning_rate : tensor<f64>
    %p = fsdp.read_shard @root[0] : tensor<16xf32>
    %g = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    %m = fsdp.read @"root#0.momentum" : tensor<16xf32>
    %new:2 = exec.kernel "sgd" (%a = %p : tensor<16xf32>, %b = %g : tensor<16xf32>, %c = %m : tensor<16xf32>, %r = %rate : tensor<f64>) -> (tensor<16xf32>, tensor<16xf32>) {
      %e = tensor.empty() : tensor<16xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%b, %c : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
      ^bb0(%x: f32, %y: f32, %out: f32):
        %z = arith.addf %x, %y : f32
        linalg.yield %z : f32
      } -> tensor<16xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a, %0 : tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<16xf32>) {
      ^bb0(%x: f32, %y: f32, %out: f32):
        %z = arith.subf %x, %y : f32
        linalg.yield %z : f32
      } -> tensor<16xf32>
      exec.yield %1, %0 : tensor<16xf32>, tensor<16xf32>
    }
    fsdp.write_shard %new#0, @root[0] : tensor<16xf32>
    fsdp.write %new#1, @"root#0.momentum" : tensor<16xf32>
    return
  }
}

// -----

// A new value that reads elements of another place of the old one does not
// overwrite it, and is copied when the update is done. So are values that
// somebody reads after the kernel.
// CHECK-LABEL: module @update_that_must_not_overwrite
//       CHECK:   %[[P:.*]] = exec.state "root#0.parameter"
//       CHECK:   exec.run "reverse" (%[[P]] : memref<16xf32>) -> (%[[NEW:.*]] : memref<16xf32>) on 0
//       CHECK:   exec.copy %[[NEW]] : memref<16xf32> -> %[[P]] : memref<16xf32> on 0
module @update_that_must_not_overwrite {
  fsdp.parameter @w : tensor<16xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    fsdp.begin backward
    fsdp.begin update
    %p = fsdp.read_shard @root[0] : tensor<16xf32>
    %new = exec.kernel "reverse" (%a = %p : tensor<16xf32>) -> (tensor<16xf32>) {
      %e = tensor.empty() : tensor<16xf32>
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (15 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<16xf32>) outs(%e : tensor<16xf32>) {
      ^bb0(%x: f32, %out: f32):
        linalg.yield %x : f32
      } -> tensor<16xf32>
      exec.yield %0 : tensor<16xf32>
    }
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

// A frozen segment has a parameter state and nothing else.
// CHECK-LABEL: module @frozen_segment
//       CHECK:   exec.state "root#0.parameter" parameter segment 0
//  CHECK-NEXT:   %[[P:.*]] = exec.state "root#1.parameter" parameter segment 1
//  CHECK-NEXT:   %[[G:.*]] = exec.state "root#1.gradient" gradient segment 1
//  CHECK-NEXT:   exec.state "loss"
//       CHECK:   exec.reduce_scatter @root {{.*}} -> %[[G]]
//   CHECK-NOT:   exec.reduce_scatter
module @frozen_segment {
  fsdp.parameter frozen @table : tensor<16xf32>
  fsdp.parameter @w : tensor<16xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 16 shard 16 {
      fsdp.member @table at 0
    }
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d: tensor<16xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %d_w = exec.library "copy" (%d) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<16xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// Names and bounds of the inputs go to the runtime, which checks the data.
// CHECK-LABEL: module @inputs
//       CHECK:   exec.input "idx" below 10 : memref<4xi64>
//       CHECK:   exec.input "target" below 10 ignore -100 : memref<4xi64>
//       CHECK:   exec.program @step
module @inputs {
  func.func @step(%idx: tensor<4xi64> {shardc.name = "idx", shardc.upper_bound = 10 : i64},
                  %target: tensor<4xi64> {shardc.name = "target", shardc.upper_bound = 10 : i64, shardc.ignore_index = -100 : i64}) {
    fsdp.begin forward
    return
  }
}

// -----

// A check is a section before the update, which has a condition; what it writes
// is copied to the states at its end. An evaluation is sections of its own, which
// share states and inputs with the step.
// CHECK-LABEL: module @check_and_evaluation
//       CHECK:   %[[FLAG:.*]] = exec.state "optimizer#all_finite" optimizer "all_finite" : memref<i1>
//       CHECK:   %[[LOSS:.*]] = exec.state "loss" metric : memref<1xf32>
//       CHECK:   %[[X:.*]] = exec.input "input0" : memref<f32>
//       CHECK:   exec.section "micro_batch" repeat micro_batches {
//       CHECK:     exec.run "loss" (%[[LOSS]] : memref<1xf32>, %[[X]] : memref<f32>)
//       CHECK:   exec.section "check" {
//       CHECK:     %[[NEW:.*]] = exec.buffer : memref<i1>
//       CHECK:     exec.run "isfinite" (%{{.*}} : memref<2xf64>) -> (%[[NEW]] : memref<i1>)
//       CHECK:     exec.copy %[[NEW]] : memref<i1> -> %[[FLAG]] : memref<i1>
//       CHECK:   exec.section "update" if %[[FLAG]] : memref<i1> {
//       CHECK:   exec.section "evaluate_begin" run evaluation {
//  CHECK-NEXT:     exec.fill %[[LOSS]] : memref<1xf32>
//       CHECK:   exec.section "evaluate" run evaluation repeat micro_batches {
//  CHECK-NEXT:     exec.run "loss" (%[[LOSS]] : memref<1xf32>, %[[X]] : memref<f32>)
//       CHECK:   exec.section "evaluate_end" run evaluation {
//  CHECK-NEXT:     exec.all_reduce %[[LOSS]] : memref<1xf32> over ["shard"] on 0
module @check_and_evaluation {
  fsdp.mesh @mesh <shard = 2>
  fsdp.state @"optimizer#all_finite" "all_finite" : tensor<i1>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %x : tensor<f32>
    fsdp.begin backward
    fsdp.begin check
    %squares = fsdp.gradient_norm : () -> tensor<2xf64>
    %0 = exec.kernel "isfinite" (%s = %squares : tensor<2xf64>) -> tensor<i1> {
      %high = tensor.extract_slice %s[0] [1] [1] : tensor<2xf64> to tensor<f64>
      %empty = tensor.empty() : tensor<i1>
      %flag = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%high : tensor<f64>) outs(%empty : tensor<i1>) {
      ^bb0(%a: f64, %b: i1):
        %difference = arith.subf %a, %a : f64
        %finite = arith.cmpf oeq, %difference, %difference : f64
        linalg.yield %finite : i1
      } -> tensor<i1>
      exec.yield %flag : tensor<i1>
    }
    fsdp.write %0, @"optimizer#all_finite" : tensor<i1>
    fsdp.begin update if @"optimizer#all_finite"
    return
  }
  func.func @evaluate(%x: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %x : tensor<f32>
    return
  }
}

// -----

// Replicas sum after the last micro-batch, which may be the only one.
// CHECK-LABEL: module @replicas
//       CHECK:   exec.program @step streams ["compute", "gather", "reduce", "replicate"] {
//       CHECK:     exec.section "only_micro_batch" repeat only_micro_batch {
//       CHECK:       exec.reduce_scatter @root {{.*}} over ["shard"] on 2
//  CHECK-NEXT:       exec.all_reduce %[[GRADIENT:.*]] : memref<16xf32> over ["replicate"] on 3
//       CHECK:     exec.section "first_micro_batch" repeat first_micro_batch {
//   CHECK-NOT:       exec.all_reduce
//       CHECK:     exec.section "middle_micro_batches" repeat middle_micro_batches {
//   CHECK-NOT:       exec.all_reduce
//       CHECK:     exec.section "last_micro_batch" repeat last_micro_batch {
//       CHECK:       exec.all_reduce %[[GRADIENT]] : memref<16xf32> over ["replicate"] on 3
//       CHECK:     exec.section "update" {
module @replicas {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <replicate = 2, shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_w: tensor<f32>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<f32>) -> !fsdp.pending<@root>
    %sum = fsdp.all_reduce_start %pending over ["replicate"] on replicate : !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %sum : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// Where only replicas differ, what the first micro-batch writes into the state is
// summed over them if it is the only one.
// CHECK-LABEL: module @replicas_alone
//       CHECK:     exec.section "only_micro_batch" repeat only_micro_batch {
//   CHECK-NOT:       exec.reduce_scatter
//       CHECK:       exec.copy %input0 : memref<f32> -> %[[PART:.*]] : memref<f32> on 0
//       CHECK:       exec.all_reduce %[[GRADIENT:.*]] : memref<16xf32> over ["replicate"] on 3
//       CHECK:     exec.section "first_micro_batch" repeat first_micro_batch {
//   CHECK-NOT:       exec.{{all_reduce|reduce_scatter}}
//       CHECK:     exec.section "middle_micro_batches" repeat middle_micro_batches {
//       CHECK:       exec.reduce_scatter @root %{{.*}} : memref<16xf32> -> %[[GRADIENT]] : memref<16xf32>
//   CHECK-NOT:       exec.all_reduce
//       CHECK:     exec.section "last_micro_batch" repeat last_micro_batch {
//       CHECK:       exec.reduce_scatter @root %{{.*}} : memref<16xf32> -> %[[GRADIENT]] : memref<16xf32>
//       CHECK:       exec.all_reduce %[[GRADIENT]] : memref<16xf32> over ["replicate"] on 3
module @replicas_alone {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <replicate = 2, shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_w: tensor<f32>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<f32>) -> !fsdp.pending<@root>
    %sum = fsdp.all_reduce_start %pending over ["replicate"] on replicate : !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %sum : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// What is reduced once a step adds up until the last micro-batch: the first one
// sets the whole gradients. The only one reduces them as they are.
// CHECK-LABEL: module @reduced_once
//       CHECK:   %[[WHOLE:.*]] = exec.state "root#0.accumulated" accumulated segment 0 : memref<64xbf16>
//       CHECK:     exec.section "only_micro_batch" repeat only_micro_batch {
//       CHECK:       exec.reduce_scatter @root %[[ONLY:.*]] : memref<64xbf16> -> %[[SHARD:.*]] : memref<32xf32> first_at %{{.*}} : memref<i64> over ["shard"] on 2
//   CHECK-NOT:       exec.{{copy|run|reduce_scatter}} {{.*}}memref<64xbf16>
//       CHECK:     exec.section "first_micro_batch" repeat first_micro_batch {
//   CHECK-NOT:       exec.reduce_scatter
//       CHECK:       exec.copy %{{.*}} : memref<64xbf16> -> %[[WHOLE]] : memref<64xbf16> on 0
//   CHECK-NOT:       exec.{{run|reduce_scatter}}
//       CHECK:     exec.section "middle_micro_batches" repeat middle_micro_batches {
//   CHECK-NOT:       exec.{{copy|reduce_scatter}} {{.*}}memref<64xbf16>
//       CHECK:       exec.run "accumulate" (%[[WHOLE]] : memref<64xbf16>, %{{.*}} : memref<64xbf16>) -> (%[[WHOLE]] : memref<64xbf16>) on 0
//   CHECK-NOT:       exec.reduce_scatter
//       CHECK:     exec.section "last_micro_batch" repeat last_micro_batch {
//   CHECK-NOT:       exec.{{copy|reduce_scatter}} {{.*}}memref<64xbf16>
//       CHECK:       exec.run "accumulate" (%[[WHOLE]] :
//       CHECK:       exec.reduce_scatter @root %[[WHOLE]] : memref<64xbf16> -> %[[SHARD]] : memref<32xf32> over ["shard"] on 2
//   CHECK-NOT:       exec.reduce_scatter
//       CHECK:     exec.section "update" {
module @reduced_once {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <reduce = bf16> reshard default {
    fsdp.segment f32 reduce bf16 elements 64 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_w: tensor<bf16>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root once [@w](%d_w) on reduce : (tensor<bf16>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// Of 8 ranks, 4 keep a group among them: each the part that its coordinates on
// the last axes say, and the gather is theirs.
// CHECK-LABEL: module @retained
//       CHECK:     %[[WHOLE:.*]] = exec.buffer : memref<128xf32>
//  CHECK-NEXT:     %[[SLOT:.*]] = exec.part %[[WHOLE]][0 + shard * 64 + within_4 * 16] : memref<128xf32> -> memref<16xf32>
//       CHECK:     exec.all_gather @root %[[WHOLE]] : memref<128xf32> slot 64 over ["shard", "within_4"] on 1
//  CHECK-NEXT:     %[[PART:.*]] = exec.part %[[WHOLE]][0 + within_4 * 32] : memref<128xf32> -> memref<32xf32>
//  CHECK-NEXT:     %[[KEPT:.*]] = exec.buffer : memref<32xf32>
//  CHECK-NEXT:     exec.copy %[[PART]] : memref<32xf32> -> %[[KEPT]] : memref<32xf32> on 0
//  CHECK-NEXT:     %[[AGAIN:.*]] = exec.buffer : memref<128xf32>
//  CHECK-NEXT:     %[[OWN:.*]] = exec.part %[[AGAIN]][0 + within_4 * 32] : memref<128xf32> -> memref<32xf32>
//  CHECK-NEXT:     exec.copy %[[KEPT]] : memref<32xf32> -> %[[OWN]] : memref<32xf32> on 1
//  CHECK-NEXT:     exec.all_gather @root %[[AGAIN]] : memref<128xf32> slot 128 over ["within_4"] on 1
module @retained {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 2, within_4 = 4>
  fsdp.group @root on @mesh policy <> reshard always to 4 {
    fsdp.segment f32 reduce f32 elements 128 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %p0 = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %h0 = fsdp.wait %p0 : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %kept = fsdp.retain %h0 : !fsdp.unsharded<@root> -> !fsdp.retained<@root>
    fsdp.begin backward
    %p1 = fsdp.unshard_start @root from %kept as !fsdp.retained<@root> on gather : !fsdp.pending<@root>
    %h1 = fsdp.wait %p1 : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    fsdp.begin update
    return
  }
}
