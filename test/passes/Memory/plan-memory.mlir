// RUN: shardc-opt %s --split-input-file --shardc-plan-memory --shardc-verify-program | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-plan-memory --remarks-filter=shardc-plan-memory 2>&1 | FileCheck %s --check-prefix=REMARK

// The weight's gradient is written where the reduction reads it; only the
// padding of the second rank's part is filled with zeros. Gradients and metrics
// are sums over micro-batches and start at zero.
// CHECK-LABEL: module @gradient_in_place
//       CHECK:   exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
//  CHECK-NEXT:   exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
//  CHECK-NEXT:   exec.state "loss" metric : tensor<1xf32>
//  CHECK-NEXT:   exec.state "gradient_norm_squares" metric : tensor<2xf64>
//       CHECK:   exec.program @step arena 128
//  CHECK-NEXT:   exec.fill state[1 + 0] : memref<16xf32> in begin on 0
//  CHECK-NEXT:   exec.fill state[2 + 0] : memref<1xf32> in begin on 0
//  CHECK-NEXT:   exec.fill state[3 + 0] : memref<2xf64> in begin on 0
//  CHECK-NEXT:   exec.call "matmul" (input[0 + 0] : {{.*}}, input[1 + 0] : {{.*}}) -> (arena[0 + 0] : memref<4x4xf32>)
//  CHECK-NEXT:   exec.fill arena[0 + 64] : memref<16xf32> in micro_batch on 0 records 0
//  CHECK-NEXT:   exec.reduce_scatter @root arena[0 + 0] : memref<32xf32> -> state[1 + 0] : memref<16xf32> in micro_batch on 2 waits [0]

// REMARK: remark: [Analysis] arena {{.*}} Function=step {{.*}}arena_bytes=128{{.*}}lower_bound_bytes=128
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

// One value cannot be in two places: it is copied to the second.
// CHECK-LABEL: module @same_gradient_twice
//       CHECK:   exec.call "copy" {{.*}} -> (arena[0 + 0] : memref<16xf32>)
//  CHECK-NEXT:   exec.copy arena[0 + 0] : memref<16xf32> -> arena[0 + 64] : memref<16xf32>
//  CHECK-NEXT:   exec.reduce_scatter @root arena[0 + 0] : memref<32xf32>
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
//       CHECK:   exec.launch @[[CAST:.*]] "cast" {{.*}}(state[0 + 0] : memref<32xf32>, write arena[0 + 0 + rank * 64] : memref<32xbf16>) in micro_batch on 1
//  CHECK-NEXT:   exec.all_gather @root arena[0 + 0] : memref<64xbf16> slot 64 in micro_batch on 1 records 0
//  CHECK-NEXT:   exec.call "matmul" (input[0 + 0] : {{.*}}, arena[0 + 0] : memref<4x4xbf16>, arena[0 + 64] : memref<4xbf16>)
//  CHECK-SAME:     in micro_batch on 0 waits [0]
//       CHECK:   module @kernels
//       CHECK:   func.func @[[CAST]](
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
//       CHECK:   exec.program @step arena 64
//   CHECK-NOT:   exec.copy
//   CHECK-NOT:   exec.all_gather
//       CHECK:   exec.call "matmul" (input[0 + 0] : {{.*}}, state[0 + 0] : memref<4x4xf32>)
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

// The gather of the second group runs beside the first group's compute, in
// bytes of its own; the third may take the first's again, but not before
// compute has read them.
// CHECK-LABEL: module @gathers_reuse_bytes
//       CHECK:   exec.copy {{.*}} -> arena[0 + [[A:[0-9]+]] + rank * 64]
//       CHECK:   exec.all_gather @a {{.*}} records [[A_IS_WHOLE:[0-9]+]]
//       CHECK:   exec.copy {{.*}} -> arena[0 + [[B:[0-9]+]] + rank * 64]
//       CHECK:   exec.all_gather @b {{.*}} records [[B_IS_WHOLE:[0-9]+]]
//       CHECK:   exec.call "first" {{.*}} waits {{\[}}[[A_IS_WHOLE]]] records [[A_IS_READ:[0-9]+]]
//       CHECK:   exec.copy {{.*}} -> arena[0 + [[A]] + rank * 64] : memref<16xf32> in micro_batch on 1 waits {{\[}}[[A_IS_READ]]]
//       CHECK:   exec.call "second" {{.*}} waits {{\[}}[[B_IS_WHOLE]]]
module @gathers_reuse_bytes {
  fsdp.parameter @w_a : tensor<32xf32>
  fsdp.parameter @w_b : tensor<32xf32>
  fsdp.parameter @w_c : tensor<32xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @a on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w_a at 0
    }
  }
  fsdp.group @b on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w_b at 0
    }
  }
  fsdp.group @c on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w_c at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %pending_a = fsdp.unshard_start @a on gather : !fsdp.pending<@a>
    %a = fsdp.wait %pending_a : !fsdp.pending<@a> -> !fsdp.unsharded<@a>
    %w_a = fsdp.view %a[@w_a] : !fsdp.unsharded<@a> -> tensor<32xf32>
    %pending_b = fsdp.unshard_start @b on gather : !fsdp.pending<@b>
    %0 = exec.library "first" (%w_a) {} order [array<i64>] : (tensor<32xf32>) -> tensor<f32>
    fsdp.reshard %a : !fsdp.unsharded<@a>
    %pending_c = fsdp.unshard_start @c on gather : !fsdp.pending<@c>
    %b = fsdp.wait %pending_b : !fsdp.pending<@b> -> !fsdp.unsharded<@b>
    %w_b = fsdp.view %b[@w_b] : !fsdp.unsharded<@b> -> tensor<32xf32>
    %1 = exec.library "second" (%w_b) {} order [array<i64>] : (tensor<32xf32>) -> tensor<f32>
    %c = fsdp.wait %pending_c : !fsdp.pending<@c> -> !fsdp.unsharded<@c>
    %w_c = fsdp.view %c[@w_c] : !fsdp.unsharded<@c> -> tensor<32xf32>
    %2 = exec.library "third" (%w_c) {} order [array<i64>] : (tensor<32xf32>) -> tensor<f32>
    return
  }
}

// -----

// Four values, of which two are alive at a time, need the bytes of two.
// CHECK-LABEL: module @values_share_bytes
//       CHECK:   exec.program @step arena 128
//       CHECK:   exec.call "a" {{.*}} -> (arena[0 + [[FIRST:.*]]] : memref<16xf32>)
//  CHECK-NEXT:   exec.call "b" (arena[0 + [[FIRST]]] : {{.*}}) -> (arena[0 + [[SECOND:.*]]] : memref<16xf32>)
//  CHECK-NEXT:   exec.call "c" (arena[0 + [[SECOND]]] : {{.*}}) -> (arena[0 + [[FIRST]]] : memref<16xf32>)
//  CHECK-NEXT:   exec.call "d" (arena[0 + [[FIRST]]] : {{.*}}) -> (arena[0 + [[SECOND]]] : memref<16xf32>)
module @values_share_bytes {
  func.func @step(%x: tensor<16xf32> {shardc.name = "x"}) {
    fsdp.begin forward
    %0 = exec.library "a" (%x) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %1 = exec.library "b" (%0) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %2 = exec.library "c" (%1) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    %3 = exec.library "d" (%2) {} order [array<i64>] : (tensor<16xf32>) -> tensor<16xf32>
    return
  }
}

// -----

// A library stores its result as it says; a view is bytes of its source.
// CHECK-LABEL: module @strides_and_offsets
//       CHECK:   exec.call "a" {{.*}} -> (arena[0 + 0] : memref<2x3xf32, strided<[1, 2]>>)
//  CHECK-NEXT:   exec.call "b" (arena[0 + 8] : memref<2xf32>)
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

// Equal kernels share a function. The loss is added up over micro-batches.
// CHECK-LABEL: module @equal_kernels
//       CHECK:   exec.input "x"
//       CHECK:   exec.launch @[[DOUBLE:.*]] "double" {{.*}}(input[0 + 0] : {{.*}}, write arena[0 + [[FIRST:.*]]] : memref<16xf32>)
//  CHECK-NEXT:   exec.launch @[[DOUBLE]] "double" {{.*}}(arena[0 + [[FIRST]]] : {{.*}}, write arena[0 + [[SECOND:.*]]] : memref<16xf32>)
//  CHECK-NEXT:   exec.call "sum" (arena[0 + [[SECOND]]] : {{.*}}) -> (arena[0 + [[LOSS:.*]]] : memref<f32>)
//  CHECK-NEXT:   exec.launch {{.*}} "loss" {{.*}}(read_write state[0 + 0] : memref<1xf32>, arena[0 + [[LOSS]]] : memref<f32>) in micro_batch on 0
//       CHECK:   func.func @[[DOUBLE]](
//   CHECK-NOT:   func.func @[[DOUBLE]]
module @equal_kernels {
  func.func @step(%x: tensor<16xf32> {shardc.name = "x"}) {
    fsdp.begin forward
    %0 = exec.kernel "double" (%a = %x : tensor<16xf32>) -> tensor<16xf32> {
      %empty = tensor.empty() : tensor<16xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%a : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %2 = arith.addf %in, %in : f32
        linalg.yield %2 : f32
      } -> tensor<16xf32>
      exec.yield %1 : tensor<16xf32>
    }
    %3 = exec.kernel "double" (%a = %0 : tensor<16xf32>) -> tensor<16xf32> {
      %empty = tensor.empty() : tensor<16xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%a : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %2 = arith.addf %in, %in : f32
        linalg.yield %2 : f32
      } -> tensor<16xf32>
      exec.yield %1 : tensor<16xf32>
    }
    %loss = exec.library "sum" (%3) {} order [array<i64>] : (tensor<16xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

// A read after a write sees the written value, but the state changes only at the
// end of the micro-batch: backward may still need the old one.
// CHECK-LABEL: module @buffer_changes_after_backward
//       CHECK:   exec.state "count" buffer
//       CHECK:   exec.call "add" (state[0 + 0] : {{.*}}) -> (arena[0 + [[NEW:.*]]] : memref<4xf32>)
//  CHECK-NEXT:   exec.call "add" (arena[0 + [[NEW]]] : {{.*}}) -> (arena[0 + [[NEWER:.*]]] : memref<4xf32>)
//  CHECK-NEXT:   exec.call "use" (state[0 + 0] :
//  CHECK-NEXT:   exec.copy arena[0 + [[NEWER]]] : memref<4xf32> -> state[0 + 0] : memref<4xf32> in micro_batch on 0
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
//       CHECK:   exec.state "current" buffer
//  CHECK-NEXT:   exec.state "previous" buffer
//       CHECK:   exec.call "new" () -> (arena[0 + [[NEW:.*]]] : memref<4xf32>)
//  CHECK-NEXT:   exec.copy state[0 + 0] : memref<4xf32> -> state[1 + 0] : memref<4xf32> in micro_batch
//  CHECK-NEXT:   exec.copy arena[0 + [[NEW]]] : memref<4xf32> -> state[0 + 0] : memref<4xf32> in micro_batch
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

// Where states go in a circle, one of them is saved in the arena. The view of
// one row is read from there too; a state that is written to itself stays.
// CHECK-LABEL: module @buffers_that_swap
//       CHECK:   exec.state "a" buffer
//  CHECK-NEXT:   exec.state "b" buffer
//  CHECK-NEXT:   exec.state "row" buffer
//  CHECK-NEXT:   exec.state "same" buffer
//       CHECK:   exec.copy state[0 + 16] : memref<4xf32> -> state[2 + 0] : memref<4xf32>
//  CHECK-NEXT:   exec.copy state[0 + 0] : memref<2x4xf32> -> arena[0 + [[ASIDE:.*]]] : memref<2x4xf32>
//  CHECK-NEXT:   exec.copy state[1 + 0] : memref<2x4xf32> -> state[0 + 0] : memref<2x4xf32>
//  CHECK-NEXT:   exec.copy arena[0 + [[ASIDE]]] : memref<2x4xf32> -> state[1 + 0] : memref<2x4xf32>
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
// and moments over themselves and reads the gradient and the step's scalars.
// CHECK-LABEL: module @adamw_on_one_group
//       CHECK:   exec.state "root#0.parameter"
//  CHECK-NEXT:   exec.state "root#0.gradient"
//  CHECK-NEXT:   exec.state "root#0.exp_avg" exp_avg segment 0 : tensor<16xf32>
//  CHECK-NEXT:   exec.state "root#0.exp_avg_sq" exp_avg_sq segment 0 : tensor<16xf32>
//  CHECK-NEXT:   exec.state "loss"
//  CHECK-NEXT:   exec.state "gradient_norm_squares"
//       CHECK:   exec.scalar "learning_rate" : f32
//  CHECK-NEXT:   exec.scalar "gradient_scale" : f32
//  CHECK-NEXT:   exec.scalar "bias_correction" beta 9.000000e-01 : f32
//  CHECK-NEXT:   exec.scalar "bias_correction" beta 7.500000e-01 : f32
//       CHECK:   exec.call "sum_of_squares" (state[1 + 0] : memref<16xf32>) -> (state[5 + 0] : memref<2xf64>) {} in update on 0
//  CHECK-NEXT:   exec.all_reduce state[5 + 0] : memref<2xf64> double_double in update on 0
//  CHECK-NEXT:   exec.all_reduce state[4 + 0] : memref<1xf32> in update on 0
//  CHECK-NEXT:   exec.launch @[[ADAMW:.*]] "adamw" {{.*}}(read_write state[0 + 0] : {{.*}}, read_write state[2 + 0] : {{.*}}, read_write state[3 + 0] : {{.*}}, state[1 + 0] : {{.*}}, scalar[0 + 0] : {{.*}}, scalar[1 + 0] : {{.*}}, scalar[2 + 0] : {{.*}}, scalar[3 + 0] : {{.*}}) in update on 0
//       CHECK:   func.func @[[ADAMW]](
module @adamw_on_one_group {
  fsdp.parameter @w : tensor<16xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
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
    fsdp.gradient_norm %shard : !fsdp.shard<@root>
    fsdp.update @root, %shard : !fsdp.shard<@root> with #fsdp.adamw<beta1 = 0.9, beta2 = 0.75, epsilon = 1.0e-8, weight_decay = 0.01>
    return
  }
}

// -----

// A frozen segment has a parameter state and nothing else.
// CHECK-LABEL: module @frozen_segment
//       CHECK:   exec.state "root#0.parameter" parameter segment 0
//  CHECK-NEXT:   exec.state "root#1.parameter" parameter segment 1
//  CHECK-NEXT:   exec.state "root#1.gradient" gradient segment 1
//  CHECK-NEXT:   exec.state "loss"
//       CHECK:   exec.reduce_scatter @root {{.*}} -> state[2 + 0]
//   CHECK-NOT:   exec.reduce_scatter
//       CHECK:   exec.launch {{.*}} "sgd" {{.*}}(read_write state[1 + 0] : {{.*}}, state[2 + 0] :
//   CHECK-NOT:   "sgd"
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
    fsdp.update @root, %shard : !fsdp.shard<@root> with #fsdp.sgd<momentum = 0.0, weight_decay = 0.0>
    return
  }
}

// -----

// Names and bounds of the inputs go to the runtime, which checks the data.
// CHECK-LABEL: module @inputs
//       CHECK:   exec.input "idx" below 10 : tensor<4xi64>
//       CHECK:   exec.input "target" below 10 ignore -100 : tensor<4xi64>
//       CHECK:   exec.program @step arena 0
module @inputs {
  func.func @step(%idx: tensor<4xi64> {shardc.name = "idx", shardc.upper_bound = 10 : i64},
                  %target: tensor<4xi64> {shardc.name = "target", shardc.upper_bound = 10 : i64, shardc.ignore_index = -100 : i64}) {
    fsdp.begin forward
    return
  }
}
