// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-precision

// An operator without type inference must not change the dtype by itself.
module @P1_backward_in_forward {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<8x4xbf16> {shardc.name = "x"}) -> tensor<4x4xf32> {
    // expected-error@+1 {{P1: expected one floating-point dtype, got 'bf16' and 'f32'}}
    %0 = aten.linear_backward_weight %x, %x : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

module @P2_parameter_in_master_dtype {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @w
  }
  func.func @forward() -> tensor<4xf32> {
    // expected-error@+1 {{P2: expected the type that the parameter is gathered in, 'tensor<4xbf16>', got 'tensor<4xf32>'}}
    %w = fsdp.read @w : tensor<4xf32>
    return %w : tensor<4xf32>
  }
}

// -----

module @P2_kept_parameter_in_policy_dtype {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @w keep f32
  }
  func.func @forward() -> tensor<4xbf16> {
    // expected-error@+1 {{P2: expected the type that the parameter is gathered in, 'tensor<4xf32>', got 'tensor<4xbf16>'}}
    %w = fsdp.read @w : tensor<4xbf16>
    return %w : tensor<4xbf16>
  }
}

// -----

module @P2_undeclared {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward() -> tensor<4xf32> {
    // expected-error@+1 {{P2: expected a declared parameter or buffer, got @w}}
    %w = fsdp.read @w : tensor<4xf32>
    return %w : tensor<4xf32>
  }
}

// -----

// No policy narrows a buffer.
module @P3_buffer_read_in_policy_dtype {
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
  }
  func.func @forward() -> tensor<4xbf16> {
    // expected-error@+1 {{P3: expected the buffer's type 'tensor<4xf32>', got 'tensor<4xbf16>'}}
    %mean = fsdp.read @mean : tensor<4xbf16>
    return %mean : tensor<4xbf16>
  }
}

// -----

module @P3_write_in_policy_dtype {
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
  }
  func.func @forward(%x: tensor<4xbf16> {shardc.name = "x"}) {
    // expected-error@+1 {{P3: expected a declared buffer or parameter of type 'tensor<4xbf16>'}}
    fsdp.write %x, @mean : tensor<4xbf16>
    return
  }
}

// -----

module @P4_input_without_cast {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    // expected-error@+1 {{P4: expected input 0 cast to 'bf16', got 'f32'}}
    %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module @P4_module_input_without_cast {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @h on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    // expected-error@+1 {{P4: expected floating-point inputs in 'bf16', got 'f32'}}
    %0 = fsdp.module "h" : "Block" group @h (%in = %x : tensor<4xf32>) -> tensor<4xf32> {
      fsdp.yield %in : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}

// -----

// A bf16 weight beside f32 statistics is a dtype error in PyTorch (2.15, CPU).
module @P5_batch_norm_with_bf16_weight {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.buffer @var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<8x4xbf16> {shardc.name = "x"}) -> tensor<8x4xbf16> {
    %weight = fsdp.read @weight : tensor<4xbf16>
    %mean = fsdp.read @mean : tensor<4xf32>
    %var = fsdp.read @var : tensor<4xf32>
    // expected-error@+1 {{P5: expected statistics and affine parameters in f32 or f64, got 'bf16'}}
    %out:5 = aten.batch_norm %x running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>) -> (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %out#0 : tensor<8x4xbf16>
  }
}

// -----

// expected-error@+1 {{expected a function @forward and one root group}}
module @no_root_group {
}

// -----

module @P6_unresolved_conversion {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    // expected-error@+1 {{P6: expected a conversion to a dtype, not to that of another tensor}}
    %0 = aten.to.other %x as %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module @P3_capture_in_another_dtype {
  fsdp.buffer @n : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<4xbf16> {shardc.name = "x"}) -> tensor<4xbf16> {
    // expected-error@+1 {{P3: expected a declared buffer or parameter of type 'tensor<4xbf16>'}}
    %0 = fsdp.capture %x of @n : tensor<4xbf16>
    return %0 : tensor<4xbf16>
  }
}
