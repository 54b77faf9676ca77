// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-sharded

module @S1_member_without_segment {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{S1: expected members only in segments}}
    fsdp.member @w
  }
}

// -----

module @S1_member_without_offset {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      // expected-error@+1 {{S1: expected a member with an offset}}
      fsdp.member @w
    }
  }
}

// -----

module @S1_undeclared_parameter {
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      // expected-error@+1 {{S1: expected a declared parameter, got @w}}
      fsdp.member @w at 0
    }
  }
}

// -----

module @S1_undeclared_mesh {
  // expected-error@+1 {{S1: expected a declared mesh}}
  fsdp.group @root on @mesh policy <> reshard default {
  }
}

// -----

module @S2_shards_do_not_add_up {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{S2: expected 4 shards of 16 elements, got 48}}
    fsdp.segment f32 reduce f32 elements 48 shard 16 {
    }
  }
}

// -----

module @S3_members_overlap {
  fsdp.parameter @a : tensor<16xf32>
  fsdp.parameter @b : tensor<16xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      // expected-error@+1 {{S3: expected an offset of at least 16, got 15}}
      fsdp.member @b at 15
    }
  }
}

// -----

module @S3_member_leaves_the_segment {
  fsdp.parameter @w : tensor<32xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      // expected-error@+1 {{S3: expected an end of at most 32, got 48}}
      fsdp.member @w at 16
    }
  }
}

// -----

module @S4_module_left {
  func.func @step(%x: tensor<f32>) {
    // expected-error@+1 {{S4: expected no module after the shard phase}}
    %0 = fsdp.module "drop" : "Identity" (%in = %x : tensor<f32>) -> tensor<f32> {
      fsdp.yield %in : tensor<f32>
    }
    return
  }
}

// -----

module @S4_parameter_read {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    // expected-error@+1 {{S4: expected parameters read through views}}
    %0 = fsdp.read @w : tensor<f32>
    return
  }
}

// -----

module @S5_parameter_without_group {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @step() {
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    // expected-error@+1 {{S5: expected a parameter with a segment, got @w}}
    %1 = fsdp.view %0[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    return
  }
}

// -----

// The gathered value is bf16, whatever the master is.
module @S5_master_dtype {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.segment bf16 reduce bf16 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    // expected-error@+1 {{S5: expected a view of type 'tensor<4xbf16>', got 'tensor<4xf32>'}}
    %1 = fsdp.view %0[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    return
  }
}

// -----

module @S5_other_shape {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    // expected-error@+1 {{S5: expected a view of type 'tensor<4xf32>', got 'tensor<2x2xf32>'}}
    %1 = fsdp.view %0[@w] : !fsdp.unsharded<@root> -> tensor<2x2xf32>
    return
  }
}

// -----

module @S5_other_group {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @step() {
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    // expected-error@+1 {{S5: expected a view of group @h.0, got @root}}
    %1 = fsdp.view %0[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    return
  }
}

// -----

module @S6_two_unshards {
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @step() {
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    // expected-error@+1 {{S6: expected one unshard of @root}}
    %1 = fsdp.unshard @root : !fsdp.unsharded<@root>
    return
  }
}
