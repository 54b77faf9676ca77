// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-program

module @M1_no_place {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M1: expected a place in the arena}}
      %0 = exec.buffer : memref<16xf32>
    }
  }
}

// -----

module @M1_no_arena {
  exec.program @step streams ["compute", "gather"] events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M1: expected a place in the arena}}
      %0 = exec.buffer at 0 : memref<16xf32>
    }
  }
}

// -----

module @M1_past_the_arena {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 64 : memref<17xf32>
      // expected-error@+1 {{M1: expected bytes inside [0, 128), got [64, 132)}}
      exec.fill %0 : memref<17xf32> on 0
    }
  }
}

// -----

module @M1_before_the_arena {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      %1 = exec.part %0[-1] : memref<16xf32> -> memref<16xf32>
      // expected-error@+1 {{M1: expected bytes inside [0, 64), got [-4, 60)}}
      exec.fill %1 : memref<16xf32> on 0
    }
  }
}

// -----

// The last element counts, not the number of elements.
module @M1_strides_past_the_arena {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<2x2xf32, strided<[62, 1]>>
      // expected-error@+1 {{M1: expected bytes inside [0, 128), got [0, 256)}}
      exec.call "sum" (%0 : memref<2x2xf32, strided<[62, 1]>>) -> (%0 : memref<2x2xf32, strided<[62, 1]>>) {} on 0
    }
  }
}

// -----

// The first rank's slot is inside, the second rank's is not.
module @M1_last_rank_past_the_arena {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 64 : memref<16xf32>
      %1 = exec.part %0[0 + shard * 16] : memref<16xf32> -> memref<16xf32>
      // expected-error@+1 {{M1: expected bytes inside [0, 64), got [64, 128)}}
      exec.copy %parameter : memref<16xf32> -> %1 : memref<16xf32> on 0
    }
  }
}

// -----

module @M1_past_a_state {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.part %gradient[8] : memref<16xf32> -> memref<16xf32>
      // expected-error@+1 {{M1: expected bytes inside [0, 64), got [32, 96)}}
      exec.fill %0 : memref<16xf32> on 0
    }
  }
}

// -----

// Inside the arena, and outside of the buffer.
module @M1_past_a_buffer {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<8xf32>
      %1 = exec.part %0[0] : memref<8xf32> -> memref<16xf32>
      // expected-error@+1 {{M1: expected bytes inside [0, 32), got [0, 64)}}
      exec.fill %1 : memref<16xf32> on 0
    }
  }
}

// -----

module @M2_no_kernels {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M2: expected a function of @kernels, got @relu}}
      exec.launch @relu "relu" extent 1 () on 0
    }
  }
}

// -----

module @M2_unknown_kernel {
  module @kernels {
    func.func private @relu(index, index)
  }
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M2: expected a function of @kernels, got @gelu}}
      exec.launch @gelu "gelu" extent 1 () on 0
    }
  }
}

// -----

module @M2_no_function {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M2: expected launches of functions of @kernels, got a kernel without one}}
      exec.run "nothing" () -> () on 0 {
        exec.yield
      }
    }
  }
}

// -----

module @M3_wait_without_record {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      exec.fill %0 : memref<16xf32> on 1 records 0
      // expected-error@+1 {{M3: expected event 1 to be recorded before in this section}}
      exec.fill %0 : memref<16xf32> on 0 waits [1]
    }
  }
}

// -----

module @M3_wait_for_itself {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      // expected-error@+1 {{M3: expected event 0 to be recorded before in this section}}
      exec.fill %0 : memref<16xf32> on 0 waits [0] records 0
    }
  }
}

// -----

module @M3_recorded_twice {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      exec.fill %0 : memref<16xf32> on 1 records 0
      // expected-error@+1 {{M3: expected event 0 to be recorded once}}
      exec.fill %0 : memref<16xf32> on 0 records 0
    }
  }
}

// -----

module @M4_copy_onto_itself {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      %1 = exec.buffer at 32 : memref<16xf32>
      // expected-error@+1 {{M4: expected a write that overlaps no other operand, got operands 1 and 0}}
      exec.copy %0 : memref<16xf32> -> %1 : memref<16xf32> on 0
    }
  }
}

// -----

module @M4_result_over_an_operand {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<2x2xf32>
      %1 = exec.buffer at 16 : memref<2x2xf32>
      // expected-error@+1 {{M4: expected a write that overlaps no other operand, got operands 2 and 0}}
      exec.call "matmul" (%0 : memref<2x2xf32>, %1 : memref<2x2xf32>) -> (%0 : memref<2x2xf32>) {} on 0
    }
  }
}

// -----

module @M5_output_in_a_part {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      %1 = exec.buffer at 64 : memref<16xf32>
      %2 = exec.part %1[0 + shard * 8] : memref<16xf32> -> memref<8xf32>
      // expected-error@+1 {{M5: expected a gradient state or a buffer as the output}}
      exec.reduce_scatter @root %0 : memref<16xf32> -> %2 : memref<8xf32> over ["shard"] on 0
    }
  }
}

// -----

module @M5_output_is_no_gradient {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<32xf32>
      // expected-error@+1 {{M5: expected a gradient state or a buffer as the output}}
      exec.reduce_scatter @root %0 : memref<32xf32> -> %parameter : memref<16xf32> over ["shard"] on 0
    }
  }
}

// -----

module @M5_other_size {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      // expected-error@+1 {{M5: expected 2 shards of 16 elements, got 16}}
      exec.reduce_scatter @root %0 : memref<16xf32> -> %gradient : memref<16xf32> over ["shard"] on 0
    }
  }
}

// -----

module @M6_same_name {
  // expected-error@+1 {{M6: section 'micro_batch' appears twice}}
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
    }
    exec.section "micro_batch" {
    }
  }
}

// -----

// Two sections may share the micro-batches, not both take all.
// expected-error@+2 {{M6: sections of training take 2 micro-batches of 1}}
module @M6_micro_batches_twice {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
    }
    exec.section "again" repeat only_micro_batch {
    }
  }
}

// -----

// expected-error@+2 {{M6: the first, middle and last micro-batches are in this order}}
module @M6_last_before_first {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "only" repeat only_micro_batch {
    }
    exec.section "last" repeat last_micro_batch {
    }
    exec.section "middle" repeat middle_micro_batches {
    }
    exec.section "first" repeat first_micro_batch {
    }
  }
}

// -----

// Streams are joined between sections, and one may not run.
module @M3_event_of_another_section {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "begin" {
      %0 = exec.buffer at 0 : memref<16xf32>
      exec.fill %0 : memref<16xf32> on 1 records 0
    }
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      // expected-error@+1 {{M3: expected event 0 to be recorded before in this section}}
      exec.fill %0 : memref<16xf32> on 0 waits [0]
    }
  }
}

// -----

// A section holds commands alone.
module @M6_no_command {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      // expected-error@+1 {{M6: expected a command}}
      %0 = arith.constant 0 : index
    }
  }
}

// -----

module @M6_no_stream {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      // expected-error@+1 {{M6: expected one of 2 streams, got 2}}
      exec.fill %0 : memref<16xf32> on 2
    }
  }
}

// -----

module @M7_write_after_write {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      // expected-note@+1 {{this one}}
      exec.fill %0 : memref<16xf32> on 0
      // expected-error@+1 {{M7: expected an order with another command that touches bytes [0, 64) on rank 0}}
      exec.fill %0 : memref<16xf32> on 1
    }
  }
}

// -----

module @M7_read_of_a_part {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      %1 = exec.part %0[8] : memref<16xf32> -> memref<4xf32>
      %2 = exec.buffer at 64 : memref<4xf32>
      // expected-note@+1 {{this one}}
      exec.fill %0 : memref<16xf32> on 1
      // expected-error@+1 {{M7: expected an order with another command that touches bytes [32, 48) on rank 0}}
      exec.copy %1 : memref<4xf32> -> %2 : memref<4xf32> on 0
    }
  }
}

// -----

// The first rank's slot is another one.
module @M7_on_the_second_rank {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<32xf32>
      %1 = exec.part %0[0 + shard * 16] : memref<32xf32> -> memref<16xf32>
      %2 = exec.part %0[16] : memref<32xf32> -> memref<16xf32>
      // expected-note@+1 {{this one}}
      exec.fill %1 : memref<16xf32> on 1
      // expected-error@+1 {{M7: expected an order with another command that touches bytes [64, 128) on rank 1}}
      exec.fill %2 : memref<16xf32> on 0
    }
  }
}

// -----

// An event says nothing of the commands after the one that records it.
module @M7_event_of_another_command {
  exec.program @step streams ["compute", "gather"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer at 0 : memref<16xf32>
      exec.fill %0 : memref<16xf32> on 0 records 0
      // expected-note@+1 {{this one}}
      exec.fill %0 : memref<16xf32> on 0
      // expected-error@+1 {{M7: expected an order with another command}}
      exec.fill %0 : memref<16xf32> on 1 waits [0]
    }
  }
}

// -----

module @M4_workspace_over_an_operand {
  exec.program @step streams ["compute"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %x = exec.buffer at 0 : memref<64xf32>
      %w = exec.buffer at 0 : memref<256xi8>
      // expected-error@+1 {{M4: expected a write that overlaps no other operand, got operands 1 and 0}}
      exec.call "sort" (%x : memref<64xf32>) -> () {} workspace %w : memref<256xi8> on 0
    }
  }
}

// -----

// What a call leaves in its workspace is nobody's.
module @M8_workspace_that_is_read {
  exec.program @step streams ["compute"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %x = exec.buffer at 0 : memref<64xi8>
      %w = exec.buffer at 256 : memref<256xi8>
      %read = exec.part %w[0] : memref<256xi8> -> memref<64xi8>
      // expected-error@+1 {{M8: expected a workspace that is a whole buffer and no other command's}}
      exec.call "sort" () -> (%x : memref<64xi8>) {} workspace %w : memref<256xi8> on 0
      exec.copy %read : memref<64xi8> -> %x : memref<64xi8> on 0
    }
  }
}

// -----

module @M8_workspace_that_lives_on {
  %state = exec.state "b" buffer : memref<256xi8>
  exec.program @step streams ["compute"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %x = exec.buffer at 0 : memref<64xf32>
      // expected-error@+1 {{M8: expected a workspace that is a whole buffer and no other command's}}
      exec.call "sort" () -> (%x : memref<64xf32>) {} workspace %state : memref<256xi8> on 0
    }
  }
}

// -----

module @M8_workspace_of_numbers {
  exec.program @step streams ["compute"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %x = exec.buffer at 0 : memref<64xf32>
      %w = exec.buffer at 256 : memref<64xf32>
      // expected-error@+1 {{M8: expected a workspace of bytes, got 'memref<64xf32>'}}
      exec.call "sort" () -> (%x : memref<64xf32>) {} workspace %w : memref<64xf32> on 0
    }
  }
}

// -----

// Two streams work in the same bytes.
module @M7_workspaces_at_a_time {
  exec.program @step streams ["compute", "gather"] arena 768 {
    exec.section "micro_batch" repeat micro_batches {
      %x = exec.buffer at 0 : memref<64xf32>
      %y = exec.buffer at 256 : memref<64xf32>
      %v = exec.buffer at 512 : memref<256xi8>
      %w = exec.buffer at 512 : memref<256xi8>
      // expected-note@+1 {{this one}}
      exec.call "sort" () -> (%x : memref<64xf32>) {} workspace %v : memref<256xi8> on 0
      // expected-error@+1 {{M7: expected an order with another command that touches bytes [512, 768) on rank 0}}
      exec.call "sort" () -> (%y : memref<64xf32>) {} workspace %w : memref<256xi8> on 1
    }
  }
}
