// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-differentiate

// expected-error@+1 {{expected a function @step}}
module @no_step {
}

// -----

module @no_loss {
  // expected-error@+1 {{E0220: expected one recorded loss, got 0}}
  func.func @step() {
    fsdp.begin forward
    return
  }
}

// -----

module @two_losses {
  // expected-error@+1 {{E0220: expected one recorded loss, got 2}}
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %x : tensor<f32>
    fsdp.record_loss %x : tensor<f32>
    return
  }
}

// -----

module @all_parameters_frozen {
  fsdp.parameter frozen @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  // expected-error@+2 {{E0222: the loss depends on no trainable parameter}}
  // expected-note@+1 {{help: look for frozen=true rules, detach(), and operators without a derivative}}
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    fsdp.record_loss %w : tensor<f32>
    return
  }
}

// -----

// Only first derivatives exist. The note says where in the model this is.
module @operator_without_derivative {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    // expected-error@unknown {{E0221: 'aten.threshold_backward' has no derivative, but a trainable parameter reaches the loss through it}}
    // expected-note@unknown {{in module 'h.0.act'}}
    // expected-note@unknown {{help: freeze the parameters before it or replace the operator}}
    %y = aten.threshold_backward %w, %w {threshold = 0.0 : f64} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("h.0.act")
    fsdp.record_loss %y : tensor<f32>
    return
  }
}

// -----

// Statistics are results of the operator, but not differentiable ones.
module @loss_through_a_statistic {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    // expected-error@+1 {{E0221: result 1 of 'aten.layer_norm' has no derivative, but a trainable parameter reaches the loss through it}}
    %y, %mean, %rstd = aten.layer_norm %w {normalized_shape = array<i64: 4>, eps = 1.0e-5 : f64}
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>, tensor<1xf32>)
    %sum = aten.add %y, %mean : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    fsdp.record_loss %sum : tensor<4xf32>
    return
  }
}

// -----

// What has a rule for real numbers alone does not use it for complex ones.
module @loss_through_complex_numbers {
  fsdp.parameter @w : tensor<2x2x2xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x2x2xf32>
    %c = aten.view_as_complex %w : (tensor<2x2x2xf32>) -> tensor<2x2xcomplex<f32>>
    // All that is in the way is named at once.
    // expected-note@+1 {{'aten.matmul' with complex numbers has no derivative yet either}}
    %d = aten.matmul %c, %c : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    // expected-error@+2 {{E0221: 'aten.relu' with complex numbers has no derivative yet, but a trainable parameter reaches the loss through it}}
    // expected-note@+1 {{help: freeze the parameters}}
    %e = aten.relu %d : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %y = aten.abs %e : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    fsdp.record_loss %y : tensor<2x2xf32>
    return
  }
}

// -----

module @half_precision {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  // expected-note@+2 {{help: use bf16, or --loss-scale dynamic, which works like torch.amp.GradScaler}}
  // expected-error@+1 {{E0225: the group 'root' has f16 gradients, which underflow without a loss scale}}
  fsdp.group @root on @mesh policy <reduce = f16> reshard default {
    fsdp.segment f32 reduce f16 elements 64 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    return
  }
}

// -----

// A gradient flows through what frozen f16 parameters compute of trained ones.
module @half_precision_of_activations {
  fsdp.parameter @v : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <output = f16> reshard default {
    fsdp.segment f32 reduce f32 elements 64 shard 32 {
      fsdp.member @v at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %v = fsdp.view %root[@v] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %h = fsdp.cast %v at input : tensor<4xf32> -> tensor<4xf16>
    %0 = aten.sum %h [0] : (tensor<4xf16>) -> tensor<f16>
    // expected-note@+2 {{help: use bf16, or --loss-scale dynamic, which works like torch.amp.GradScaler}}
    // expected-error@+1 {{E0225: activations have f16 gradients}}
    %1 = aten.to %0 f32 : (tensor<f16>) -> tensor<f32>
    fsdp.record_loss %1 : tensor<f32>
    return
  }
}

