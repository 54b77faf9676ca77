// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels --verify-diagnostics

func.func @k2_other_operation(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = exec.kernel "reshape" (%in = %x : tensor<4xf32>) -> tensor<2x2xf32> {
    // expected-error@below {{K2: expected a loop nest, an insertion or a constant in a kernel, got 'tensor.expand_shape'}}
    %matrix = tensor.expand_shape %in [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    exec.yield %matrix : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @k2_index_with_remainder(%x: tensor<2xf32>) -> tensor<4xf32> {
  %0 = exec.kernel "repeat" (%in = %x : tensor<2xf32>) -> tensor<4xf32> {
    %empty = tensor.empty() : tensor<4xf32>
    // expected-error@below {{K2: expected sums of multiples of loops as indices}}
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i mod 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in : tensor<2xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<4xf32>
    exec.yield %y : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @k2_no_elements(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  // expected-error@below {{K2: expected tensors with elements, got 'tensor<0x4xf32>'}}
  %0 = exec.kernel "copy" (%in = %x : tensor<0x4xf32>) -> tensor<0x4xf32> {
    exec.yield %in : tensor<0x4xf32>
  }
  return %0 : tensor<0x4xf32>
}

// -----

// The second element is read after it has been written over.
exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<2xf32>
    // expected-error@below {{expected input 0 to be complete before output 0 is written over it}}
    exec.run "swap" (%a : memref<2xf32>) -> (%a : memref<2xf32>) on 0 {
    ^bb0(%in: tensor<2xf32>):
      %empty = tensor.empty() : tensor<2xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i) -> (1 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in : tensor<2xf32>) outs(%empty : tensor<2xf32>) {
      ^bb0(%a0: f32, %b0: f32):
        linalg.yield %a0 : f32
      } -> tensor<2xf32>
      exec.yield %y : tensor<2xf32>
    }
  }
}
