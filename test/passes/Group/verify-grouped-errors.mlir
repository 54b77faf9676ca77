// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-grouped

// A parameter in two groups would be updated twice.
module @G1_two_groups {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-note@+1 {{first found here}}
    fsdp.member @w
    // expected-error@+1 {{G1: expected parameter @w in one group, found it again}}
    fsdp.member @w
  }
}

// -----

module @G1_no_group {
  // expected-error@+1 {{G1: expected parameter @w in one group, found it in none}}
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
}

// -----

// Buffers are not gathered.
module @G2_buffer_as_member {
  fsdp.buffer @mean : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{G2: expected a declared parameter, got @mean}}
    fsdp.member @mean
  }
}

// -----

module @G2_keep_integer {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{G2: expected a floating-point type to keep, got 'i32'}}
    fsdp.member @w keep i32
  }
}

// -----

// Segments are the shard phase's.
module @G2_segment {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{G2: expected members alone, got fsdp.segment}}
    fsdp.segment f32 reduce f32 elements 16 shard 4 {
    }
  }
}

// -----

module @G3_undeclared_mesh {
  // expected-error@+1 {{G3: expected a declared mesh, got @mesh}}
  fsdp.group @root on @mesh policy <> reshard default {
  }
}

// -----

module @G4_undeclared_group {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    // expected-error@+1 {{G4: expected a declared group, got @h.0}}
    %0 = fsdp.module "h.0" : "Block" group @h.0 (%in = %x : tensor<f32>) -> tensor<f32> {
      fsdp.yield %in : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----

// The group of a module is whole only while the module runs.
module @G5_read_outside_of_the_module {
  fsdp.parameter @h.0.w : tensor<f32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.member @h.0.w
  }
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.module "h.0" : "Block" group @h.0 (%in = %x : tensor<f32>) -> tensor<f32> {
      fsdp.yield %in : tensor<f32>
    }
    // expected-error@+1 {{G5: expected a read of @h.0.w inside of a module of group @h.0}}
    %w = fsdp.read @h.0.w : tensor<f32>
    return %w : tensor<f32>
  }
}

// -----

// expected-error@+1 {{G6: expected one group that no module names, the root, got 2}}
module @G6_two_roots {
  fsdp.mesh @mesh <shard = 4>
  // expected-note@+1 {{no module names this group}}
  fsdp.group @root on @mesh policy <> reshard default {
  }
  // expected-note@+1 {{no module names this group}}
  fsdp.group @h.0 on @mesh policy <> reshard default {
  }
}

// -----

// expected-error@+1 {{G6: expected one group that no module names, the root, got 0}}
module @G6_no_root {
}

// -----

// Shards are those of ranks one after the other.
module @G3_replicas_last {
  fsdp.mesh @mesh <shard = 4, replicate = 2>
  // expected-error@+1 {{G3: expected 'replicate' as the mesh's first axis}}
  fsdp.group @root on @mesh policy <> reshard default {
  }
}

// -----

module @G3_no_axes_to_reshard_to {
  fsdp.mesh @mesh <shard = 2, within_4 = 4>
  // expected-error@+1 {{G3: expected last axes of the mesh that have 2 ranks to reshard always to}}
  fsdp.group @root on @mesh policy <> reshard always to 2 {
  }
}

// -----

module @G3_more_ranks_than_the_last_axes_have {
  fsdp.mesh @mesh <shard = 2, within_3 = 3>
  // expected-error@+1 {{G3: expected last axes of the mesh that have 4 ranks to reshard always to}}
  fsdp.group @root on @mesh policy <> reshard always to 4 {
  }
}
