// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-verify-imported

// expected-error@+1 {{I1: expected one function, @forward}}
module @I1_other_function {
  func.func @backward() {
    return
  }
}

// -----

module @I1_loss_is_no_scalar {
  // expected-error@+1 {{I1: expected @forward to return one floating-point scalar, got 'tensor<4xf32>'}}
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module @I1_integer_loss {
  // expected-error@+1 {{I1: expected @forward to return one floating-point scalar, got 'tensor<i64>'}}
  func.func @forward(%x: tensor<i64> {shardc.name = "x"}) -> tensor<i64> {
    return %x : tensor<i64>
  }
}

// -----

module @I2_input_without_name {
  // expected-error@+1 {{I2: expected a 'shardc.name' of input 0}}
  func.func @forward(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module @I2_equal_names {
  // expected-error@+1 {{I2: expected inputs with different names, got two called "x"}}
  func.func @forward(%x: tensor<f32> {shardc.name = "x"},
                     %y: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module @I3_collective_in_forward {
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    // expected-error@+1 {{I3: expected aten operators, modules, numbers of the run, captures, reads and writes, got fsdp.unshard}}
    %0 = fsdp.unshard @root : !fsdp.unsharded<@root>
    return %x : tensor<f32>
  }
}

// -----

module @I4_undeclared_state {
  func.func @forward() -> tensor<f32> {
    // expected-error@+1 {{I4: expected a declared parameter or buffer, got @w}}
    %0 = fsdp.read @w : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module @I4_other_type {
  fsdp.parameter @w : tensor<f64>
  func.func @forward() -> tensor<f32> {
    // expected-error@+1 {{I4: expected the declared type 'tensor<f64>' of @w}}
    %0 = fsdp.read @w : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module @I5_frozen_parameter_written {
  fsdp.parameter frozen @w : tensor<f32>
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    // expected-error@+1 {{I5: expected a declared buffer or a parameter that is trained, got @w}}
    fsdp.write %x, @w : tensor<f32>
    return %x : tensor<f32>
  }
}

// -----

module @I5_other_type {
  fsdp.buffer @b : tensor<f64>
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    // expected-error@+1 {{I5: expected the declared type 'tensor<f64>' of @b}}
    fsdp.write %x, @b : tensor<f32>
    return %x : tensor<f32>
  }
}

// -----

module @I6_module_stack_left {
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    // expected-error@+1 {{I6: expected no module stack outside of translation}}
    %0 = aten.relu %x {shardc.modules = [{path = "relu", type = "ReLU"}]} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
