// RUN: shardc-opt %s --split-input-file --shardc-verify-kernels --verify-diagnostics

func.func @K1_operator_is_left(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{K1: expected no 'aten.relu'}}
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @K1_cast_is_left(%x: tensor<4xf32>) -> tensor<4xbf16> {
  // expected-error@below {{K1: expected no 'fsdp.cast'}}
  %0 = fsdp.cast %x at input : tensor<4xf32> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

func.func @K2_other_operation(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = exec.kernel "reshape" (%in = %x : tensor<4xf32>) -> tensor<2x2xf32> {
    // expected-error@below {{K2: expected a loop nest, an insertion or a constant in a kernel, got 'tensor.expand_shape'}}
    %matrix = tensor.expand_shape %in [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    exec.yield %matrix : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @K2_output_does_not_start_empty(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = exec.kernel "add" (%in = %x : tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@below {{K2: expected an output that starts empty}}
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in : tensor<4xf32>) outs(%in : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    exec.yield %sum : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @K3_unknown_call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{K3: expected a known library call, got 'fft'}}
  %0 = exec.library "fft"(%x) {} order [array<i64>] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @K3_number_of_operands(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@below {{K3: expected 2 to 3 operands of 'matmul', got 1}}
  %0 = exec.library "matmul"(%x) {} order [array<i64>] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @K3_element_type(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  // expected-error@below {{K3: expected f32, bf16, f64 or i64 tensors, got 'tensor<4x4xf16>'}}
  %0 = exec.library "matmul"(%x, %x) {} order [array<i64>] : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
  return %0 : tensor<4x4xf16>
}

// -----

func.func @K4_broadcast_matrix(%x: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = exec.view %x offset 0 strides [0, 1] : tensor<4xf32> -> tensor<4x4xf32>
  // expected-error@below {{K4: 'matmul' expects matrices with rows or columns one element apart, got strides [0, 1] for 'tensor<4x4xf32>'}}
  %1 = exec.library "matmul"(%0, %0) {} order [array<i64>] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

func.func @K5_view_of_a_view(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = exec.view %x offset 1 strides [1] : tensor<4xf32> -> tensor<2xf32>
  // expected-error@below {{K5: expected a source that owns its storage}}
  %1 = exec.view %0 offset 1 strides [1] : tensor<2xf32> -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// -----

func.func @K5_outside_the_storage(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@below {{K5: expected a view inside 4 elements, got elements 3 to 5}}
  %0 = exec.view %x offset 3 strides [1] : tensor<4xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
