// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-training-step

// expected-error@+1 {{D1: expected a function @step}}
module @D1_no_step {
}

// -----

module @D1_no_update_part {
  // expected-error@+1 {{D1: expected phases forward, backward, update, or check before update}}
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    return
  }
}

// -----

module @D1_wrong_order {
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    // expected-error@+1 {{D1: expected phases forward, backward, update, or check before update}}
    fsdp.begin update
    return
  }
}

// -----

module @D1_part_begins_twice {
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D1: expected phases forward, backward, update, or check before update}}
    fsdp.begin backward
    fsdp.begin update
    return
  }
}

// -----

module @D2_two_reductions {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    // expected-error@+1 {{D2: expected one reduction of @root, in backward}}
    %again = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D2_reduction_in_forward {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    // expected-error@+1 {{D2: expected one reduction of @root, in backward}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin backward
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D3_other_shape {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<2xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D3: expected a gradient of type 'tensor<4xf32>' for @w, got 'tensor<2xf32>'}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<2xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D3_other_dtype {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xbf16>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D3: expected a gradient of type 'tensor<4xf32>' for @w, got 'tensor<4xbf16>'}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xbf16>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D3_no_member {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D3: expected a member of @root, got @other}}
    %shard = fsdp.reduce_scatter @root [@other](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D3_member_of_another_group {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D3: expected a member of @root, got @w}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D4_no_update {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D4: expected one update of @root[0], got 0}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    return
  }
}

// -----

module @D4_two_updates {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D4: expected one update of @root[0], got 2}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D4_update_in_backward {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D4: expected one update of @root[0], got 0}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    fsdp.begin update
    return
  }
}

// -----

module @D4_update_without_gradient {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %other = fsdp.read_shard @root[0] : tensor<16xf32>
    // expected-error@+1 {{D4: expected that the gradient of @root[0] is read before}}
    fsdp.write_shard %other, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D5_two_losses {
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    // expected-error@+1 {{D5: expected one loss, recorded in forward}}
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
}

// -----

module @D5_loss_in_backward {
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    // expected-error@+1 {{D5: expected one loss, recorded in forward}}
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin update
    return
  }
}

// -----

module @D5_no_loss {
  // expected-error@+1 {{D5: expected one loss, recorded in forward}}
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    fsdp.begin update
    return
  }
}

// -----

module @D1_condition_of_a_check {
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D1: expected no condition but the update's}}
    fsdp.begin check if @flag
    fsdp.begin update
    return
  }
}

// -----

// The state is another value by then.
module @D6_value_of_the_check {
  fsdp.state @"optimizer#n" "n" : tensor<f64>
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin check
    %0 = fsdp.read @"optimizer#n" : tensor<f64>
    fsdp.begin update
    // expected-error@+1 {{D6: expected operands of its own part, got a result of 'fsdp.read'}}
    %1 = aten.add %0, %0 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    fsdp.write %1, @"optimizer#n" : tensor<f64>
    return
  }
}

// -----

module @D6_value_of_backward {
  fsdp.state @"optimizer#n" "n" : tensor<f32>
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    %0 = aten.mul.Scalar %loss, 2.0 : f32 : (tensor<f32>) -> tensor<f32>
    fsdp.record_loss %0 : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    // expected-error@+1 {{D6: expected operands of its own part, got a result of 'aten.mul.Scalar'}}
    fsdp.write %0, @"optimizer#n" : tensor<f32>
    return
  }
}

// -----

module @D7_evaluation_that_writes {
  fsdp.buffer @b : tensor<f32>
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
  func.func @evaluate(%loss: tensor<f32>) {
    fsdp.begin forward
    // expected-error@+1 {{D7: expected no operation that changes a state}}
    fsdp.write %loss, @b : tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

module @D7_evaluation_without_a_loss {
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
  // expected-error@+1 {{D7: expected one loss, got 0}}
  func.func @evaluate(%loss: tensor<f32>) {
    fsdp.begin forward
    return
  }
}

// -----

module @D7_evaluation_with_a_backward {
  func.func @step(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    return
  }
  func.func @evaluate(%loss: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    // expected-error@+1 {{D7: expected a forward alone}}
    fsdp.begin backward
    return
  }
}

// -----

// Each replica would go its own way.
module @D2_no_sum_over_replicas {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <replicate = 2, shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D2: expected a sum over [replicate], got one over []}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D2_a_use_before_the_sum {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <replicate = 2, shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D2: expected the all-reduce as the only use}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    %sum = fsdp.all_reduce %shard over ["replicate"] : !fsdp.shard<@root>
    fsdp.begin update
    %new = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    fsdp.write_shard %new, @root[0] : tensor<16xf32>
    return
  }
}

// -----

module @D8_a_gather_before_the_update {
  fsdp.parameter @w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %direction: tensor<16xbf16>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    // expected-error@+1 {{D8: expected it in the update part}}
    %whole = fsdp.gather_shard %direction of @root[0] : tensor<16xbf16> -> tensor<4x2xbf16>
    fsdp.begin update
    return
  }
}

// -----

module @D8_other_members {
  fsdp.parameter @w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %direction: tensor<16xbf16>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    // expected-error@+1 {{D8: expected a shard of 16 elements and members of 'tensor<4x2xbf16>'}}
    %whole = fsdp.gather_shard %direction of @root[0] : tensor<16xbf16> -> tensor<2x4xbf16>
    return
  }
}

// -----

module @D8_no_segment {
  fsdp.parameter @w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %whole: tensor<4x2xbf16>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    fsdp.begin update
    // expected-error@+1 {{D8: expected a segment, got @root[1]}}
    %part = fsdp.take_shard %whole of @root[1] : tensor<4x2xbf16> -> tensor<16xbf16>
    return
  }
}
