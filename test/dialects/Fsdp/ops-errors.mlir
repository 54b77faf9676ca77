// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'fsdp.mesh' op expected at least 1 rank, got 0}}
fsdp.mesh @mesh <shard = 0>

// -----

// expected-error@+1 {{'fsdp.mesh' op expected axes of different names, got "shard"}}
fsdp.mesh @mesh <shard = 2, shard = 2>

// -----

// expected-error@+1 {{'fsdp.mesh' op expected from 1 to 4 axes with a size each}}
fsdp.mesh @mesh <>

// -----

func.func @region_argument_of_another_type(%input: tensor<4xf32>) {
  // expected-error@+1 {{'fsdp.module' op expected region arguments with the inputs' types}}
  "fsdp.module"(%input) <{path = "fc", type = "Linear"}> ({
  ^bb0(%x: tensor<4xbf16>):
    fsdp.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @yield_of_another_type(%input: tensor<4xf32>) {
  // expected-error@+1 {{'fsdp.module' op expected yielded values with the results' types}}
  %0 = fsdp.module "fc" : "Linear" (%x = %input : tensor<4xf32>) -> tensor<4xbf16> {
    fsdp.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @module_sees_only_its_inputs(%input: tensor<4xf32>) {
  // expected-note@+1 {{required by region isolation constraints}}
  fsdp.module "fc" : "Linear" () -> () {
    // expected-error@+1 {{'aten.relu' op using value defined outside the region}}
    aten.relu %input : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.yield
  }
  return
}

// -----

func.func @cast_of_another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fsdp.cast' op expected equal shapes, got 'tensor<4xf32>' and 'tensor<2xbf16>'}}
  %0 = fsdp.cast %x at input : tensor<4xf32> -> tensor<2xbf16>
  return
}

// -----

// Token indices are never cast.
func.func @cast_of_integers(%x: tensor<4xi64>) {
  // expected-error@+1 {{'fsdp.cast' op expected floating-point tensors, got 'tensor<4xi64>' and 'tensor<4xbf16>'}}
  %0 = fsdp.cast %x at input : tensor<4xi64> -> tensor<4xbf16>
  return
}

// -----

func.func @gradient_without_a_parameter(%x: tensor<4xf32>) {
  // expected-error@+1 {{'fsdp.reduce_scatter' op expected one parameter a gradient, got 0 and 1}}
  %0 = fsdp.reduce_scatter @root [] (%x) : (tensor<4xf32>) -> !fsdp.shard<@root>
  return
}

// -----

func.func @update_of_another_type(%shard: tensor<4xf32>) {
  // expected-error@+1 {{'fsdp.update' op expected yielded values with the results' types}}
  %0 = fsdp.update "sgd" (%p = %shard : tensor<4xf32>) -> tensor<4xbf16> {
    fsdp.yield %p : tensor<4xf32>
  }
  return
}

// -----

func.func @sum_of_a_sum(%shard: !fsdp.shard<@root>) {
  // expected-error@+1 {{'fsdp.all_reduce' op expected the result of a reduction}}
  %0 = fsdp.all_reduce %shard over ["replicate"] : !fsdp.shard<@root>
  return
}
