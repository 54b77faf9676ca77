// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-scheduled

module @C1_synchronous_gather {
  func.func @step() {
    fsdp.begin forward
    // expected-error@+1 {{C1: expected a start and a wait}}
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C1_synchronous_reduction {
  func.func @step(%d_w: tensor<f32>) {
    fsdp.begin forward
    fsdp.begin backward
    // expected-error@+1 {{C1: expected a start and a wait}}
    %shard = fsdp.reduce_scatter @root [@w](%d_w) : (tensor<f32>) -> !fsdp.shard<@root>
    return
  }
}

// -----

module @C1_no_wait {
  func.func @step() {
    fsdp.begin forward
    // expected-error@+1 {{C1: expected one wait, got 0}}
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    return
  }
}

// -----

module @C1_two_waits {
  func.func @step() {
    fsdp.begin forward
    // expected-error@+1 {{C1: expected one wait, got 2}}
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    %again = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    fsdp.reshard %again : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C1_reduction_without_wait {
  func.func @step(%d_w: tensor<f32>) {
    fsdp.begin forward
    fsdp.begin backward
    // expected-error@+1 {{C1: expected one wait, got 0}}
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<f32>) -> !fsdp.pending<@root>
    return
  }
}

// -----

module @C2_no_reshard {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    // expected-error@+1 {{C2: expected a reshard of the whole group}}
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C2_two_reshards {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    // expected-error@+1 {{C2: expected one reshard, got several}}
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C2_use_after_reshard {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    // expected-error@+1 {{C2: expected no use after the reshard}}
    fsdp.reshard %root : !fsdp.unsharded<@root>
    %0 = aten.relu %w : (tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

module @C2_view_after_reshard {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    // expected-error@+1 {{C2: expected no use after the reshard}}
    fsdp.reshard %root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    return
  }
}

// -----

module @C2_view_of_a_view_after_reshard {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %half = aten.slice %w dim 0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    // expected-error@+1 {{C2: expected no use after the reshard}}
    fsdp.reshard %root : !fsdp.unsharded<@root>
    %0 = aten.relu %half : (tensor<2xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module @C3_kept_for_backward {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{C3: expected @root to be gathered again in backward}}
    %0 = aten.relu %w : (tensor<f32>) -> tensor<f32>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C3_view_of_a_view_kept_for_backward {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %half = aten.slice %w dim 0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    fsdp.begin backward
    // expected-error@+1 {{C3: expected @root to be gathered again in backward}}
    %0 = aten.relu %half : (tensor<2xf32>) -> tensor<2xf32>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C4_shard_of_a_gather {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    // expected-error@+1 {{C4: expected the value of @root, got '!fsdp.shard<@root>'}}
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

module @C4_whole_of_a_reduction {
  func.func @step(%d_w: tensor<f32>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<f32>) -> !fsdp.pending<@root>
    // expected-error@+1 {{C4: expected the value of @root, got '!fsdp.unsharded<@root>'}}
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C4_other_group {
  func.func @step() {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    // expected-error@+1 {{C4: expected the value of @root, got '!fsdp.unsharded<@h.0>'}}
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@h.0>
    return
  }
}

// -----

module @C3_gathered_over_all_ranks {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 2, within_2 = 2>
  fsdp.group @root on @mesh policy <> reshard always to 2 {
    fsdp.segment f32 reduce f32 elements 64 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    fsdp.begin backward
    // expected-error@+1 {{C3: expected a gather of what 2 ranks have of @root}}
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    return
  }
}

// -----

module @C1_sum_without_a_wait {
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %start = fsdp.reduce_scatter_start @root [@w](%gradient) on reduce : (tensor<4xf32>) -> !fsdp.pending<@root>
    // expected-error@+1 {{C1: expected one wait, got 0}}
    %sum = fsdp.all_reduce_start %start over ["replicate"] on replicate : !fsdp.pending<@root>
    return
  }
}
