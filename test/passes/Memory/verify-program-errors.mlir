// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-program

module @M1_past_the_arena {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected bytes inside [0, 128), got [64, 132)}}
    exec.fill arena[0 + 64] : memref<17xf32> in micro_batch on 0
  }
}

// -----

module @M1_before_the_arena {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected bytes inside [0, 128), got [-4, 60)}}
    exec.fill arena[0 + -4] : memref<16xf32> in micro_batch on 0
  }
}

// -----

// The last element counts, not the number of elements.
module @M1_strides_past_the_arena {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected bytes inside [0, 128), got [0, 256)}}
    exec.call "matmul" (arena[0 + 0] : memref<2x2xf32, strided<[62, 1]>>) -> (arena[0 + 0] : memref<1xf32>) {} in micro_batch on 0
  }
}

// -----

// The first rank's slot is inside, the second rank's is not.
module @M1_last_rank_past_the_arena {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected bytes inside [0, 128), got [64, 192)}}
    exec.copy state[0 + 0] : memref<16xf32> -> arena[0 + 64 + rank * 64] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M1_past_a_state {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected bytes inside [0, 64), got [32, 96)}}
    exec.fill state[1 + 32] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M1_undeclared_state {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected a declared state, got number 2}}
    exec.fill state[2 + 0] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M1_undeclared_input {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected a declared input, got number 0}}
    exec.copy input[0 + 0] : memref<16xf32> -> arena[0 + 0] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M1_undeclared_scalar {
  exec.scalar "learning_rate" : f32
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M1: expected a declared scalar, got number 1}}
    exec.copy scalar[1 + 0] : memref<f32> -> arena[0 + 0] : memref<f32> in micro_batch on 0
  }
}

// -----

module @M2_no_kernels {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M2: expected a function of @kernels, got @relu}}
    exec.launch @relu "relu" extent 1 () in micro_batch on 0
  }
}

// -----

module @M2_unknown_kernel {
  module @kernels {
    func.func private @relu(index, index)
  }
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M2: expected a function of @kernels, got @gelu}}
    exec.launch @gelu "gelu" extent 1 () in micro_batch on 0
  }
}

// -----

module @M3_wait_without_record {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 1 records 0
    // expected-error@+1 {{M3: expected event 1 to be recorded before}}
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 0 waits [1]
  }
}

// -----

module @M3_wait_for_itself {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M3: expected event 0 to be recorded before}}
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 0 waits [0] records 0
  }
}

// -----

module @M3_recorded_twice {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 1 records 0
    // expected-error@+1 {{M3: expected event 0 to be recorded once}}
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 0 records 0
  }
}

// -----

module @M4_copy_onto_itself {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M4: expected a write that overlaps no other operand, got operands 1 and 0}}
    exec.copy arena[0 + 0] : memref<16xf32> -> arena[0 + 32] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M4_result_over_an_operand {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M4: expected a write that overlaps no other operand, got operands 2 and 0}}
    exec.call "matmul" (arena[0 + 0] : memref<2x2xf32>, arena[0 + 16] : memref<2x2xf32>) -> (arena[0 + 0] : memref<2x2xf32>) {} in micro_batch on 0
  }
}

// -----

module @M5_output_in_the_arena {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M5: expected a gradient state as the output}}
    exec.reduce_scatter @root arena[0 + 0] : memref<16xf32> -> arena[0 + 64] : memref<8xf32> in micro_batch on 0
  }
}

// -----

module @M5_output_is_no_gradient {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M5: expected a gradient state as the output}}
    exec.reduce_scatter @root arena[0 + 0] : memref<32xf32> -> state[0 + 0] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M5_other_size {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M5: expected 2 shards of 16 elements, got 16}}
    exec.reduce_scatter @root arena[0 + 0] : memref<16xf32> -> state[1 + 0] : memref<16xf32> in micro_batch on 0
  }
}

// -----

module @M6_begin_after_micro_batch {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    exec.fill arena[0 + 0] : memref<16xf32> in micro_batch on 0
    // expected-error@+1 {{M6: expected sections in order}}
    exec.fill arena[0 + 0] : memref<16xf32> in begin on 0
  }
}

// -----

// A program holds commands alone.
module @M6_no_command {
  exec.program @step arena 128 streams ["compute", "gather"] events 2 {
    // expected-error@+1 {{M6: expected sections in order}}
    %0 = arith.constant 0 : index
  }
}
