// RUN: shardc-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

func.func @kernel_yields_other_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.kernel' op expected yielded values with the results' types}}
  %0 = exec.kernel "half" (%a = %x : tensor<4xf32>) -> tensor<2xf32> {
    exec.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_argument_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.kernel' op expected region arguments with the inputs' types}}
  "exec.kernel"(%x) <{label = "identity"}> ({
  ^bb0(%a: tensor<2xf32>):
    exec.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

// A kernel names everything that it reads.
func.func @kernel_captures(%x: tensor<4xf32>) {
  // expected-note@+1 {{required by region isolation constraints}}
  %0 = exec.kernel "double" () -> tensor<4xf32> {
    // expected-error@+1 {{using value defined outside the region}}
    %1 = arith.addf %x, %x : tensor<4xf32>
    exec.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @library_without_order(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.library' op expected one order a result, got 0 for 1}}
  %0 = exec.library "copy" (%x) {} order [] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @library_order_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.library' op expected orders of array<i64>, got [0]}}
  %0 = exec.library "copy" (%x) {} order [[0]] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @library_order_is_no_permutation(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'exec.library' op expected a permutation of 2 dimensions, got array<i64: 1, 1>}}
  %0 = exec.library "copy" (%x) {} order [array<i64: 1, 1>] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @library_order_of_fewer_dimensions(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'exec.library' op expected a permutation of 2 dimensions, got array<i64: 0>}}
  %0 = exec.library "copy" (%x) {} order [array<i64: 0>] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @view_strides(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{'exec.view' op expected 2 strides, got 1}}
  %0 = exec.view %x offset 0 strides [1] : tensor<2x2xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @view_converts(%x: tensor<2xf32>) {
  // expected-error@+1 {{'exec.view' op expected one element type, got 'tensor<2xf32>' and 'tensor<2xi32>'}}
  %0 = exec.view %x offset 0 strides [1] : tensor<2xf32> -> tensor<2xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.part' op expected one element type, got 'f32' and 'i32'}}
    %1 = exec.part %0[0] : memref<4xf32> -> memref<4xi32>
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.part' op expected strides of the mesh's axes, got "world"}}
    %1 = exec.part %0[0 + world * 4] : memref<4xf32> -> memref<4xf32>
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{a second stride of 'shard'}}
    %1 = exec.part %0[0 + shard * 4 + shard * 2] : memref<4xf32> -> memref<4xf32>
  }
}

// -----

fsdp.mesh @mesh <replicate = 2, shard = 2>
exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    exec.all_reduce %0 : memref<4xf32> over ["replicate", "shard"] on 0
    // expected-error@+1 {{'exec.all_reduce' op expected axes of the mesh, in its order, got ["shard", "replicate"]}}
    exec.all_reduce %0 : memref<4xf32> over ["shard", "replicate"] on 0
  }
}

// -----

fsdp.mesh @mesh <replicate = 2, shard = 2>
exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.all_reduce' op expected axes of the mesh, in its order, got ["tensor"]}}
    exec.all_reduce %0 : memref<4xf32> over ["tensor"] on 0
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    // expected-error@+1 {{'exec.buffer' op result #0 must be statically shaped memref of any type values, but got 'memref<?xf32>'}}
    %0 = exec.buffer : memref<?xf32>
  }
}

// -----

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

func.func @fill_outside(%memory: memref<4xf32>) {
  // expected-error@+1 {{'exec.fill' op expects parent op 'exec.section'}}
  exec.fill %memory : memref<4xf32> on 0
  return
}

// -----

exec.program @step streams ["compute"] {
  // expected-error@+1 {{expected string or keyword containing one of the following enum values for attribute 'repeat' [once, micro_batches, only_micro_batch, first_micro_batch, middle_micro_batches, last_micro_batch, initial_micro_batch, later_micro_batches]}}
  exec.section "micro_batch" repeat steps {
  }
}

// -----

%input = exec.input "finite" : memref<1xi1>
exec.program @step streams ["compute"] {
  // expected-error@+1 {{'exec.section' op expected a state as the condition}}
  exec.section "update" if %input : memref<1xi1> {
  }
}

// -----

exec.program @step streams ["compute"] {
  // expected-error@+1 {{expected to be in an exec.section}}
  %0 = arith.constant 0 : index
}

// -----

// What is in the arena does not outlive a section.
exec.program @step streams ["compute"] {
  exec.section "begin" {
    %0 = exec.buffer : memref<4xf32>
  }
  exec.section "micro_batch" {
    // expected-error@+1 {{use of undeclared SSA value name}}
    exec.fill %0 : memref<4xf32> on 0
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.launch' op expected one access an argument, got 0 for 1}}
    "exec.launch"(%0) <{kernel = @relu, label = "relu", extent = 1, accesses = array<i32>, stream = 0 : i64}> : (memref<4xf32>) -> ()
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "begin" {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.run' op expected region arguments of what the inputs hold}}
    exec.run "identity" (%0 : memref<4xf32>) -> (%0 : memref<4xf32>) on 0 {
    ^bb0(%in: tensor<2x2xf32>):
      exec.yield %in : tensor<2x2xf32>
    }
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "begin" {
    %0 = exec.buffer : memref<4xf32>
    // expected-error@+1 {{'exec.run' op expected yielded values of what the outputs hold}}
    exec.run "nothing" (%0 : memref<4xf32>) -> (%0 : memref<4xf32>) on 0 {
    ^bb0(%in: tensor<4xf32>):
      exec.yield
    }
  }
}

// -----

exec.program @step streams ["compute"] {
  exec.section "begin" {
    %0 = memref.alloc() : memref<4xf32>
    // expected-error@+1 {{'exec.fill' op expected memory that exec.state, exec.input, exec.scalar or exec.buffer declares}}
    exec.fill %0 : memref<4xf32> on 0
  }
}

// -----

// expected-error@+1 {{'exec.scalar' op expected a scalar of the run, got 'momentum'}}
%0 = exec.scalar "momentum" : memref<f64>

// -----

// expected-error@+1 {{'exec.scalar' op expected i64, got 'f64'}}
%0 = exec.scalar "seed" : memref<f64>

// -----

func.func @scan_of_other_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.scan' op expected starts, region arguments and yielded values of the tensors' element types}}
  %0 = exec.scan %x along 0 from [0.0 : f64] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%element: f32, %before: f32):
    exec.yield %element : f32
  }
  return
}

// -----

func.func @scan_of_other_shapes(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.scan' op expected tensors of one shape}}
  %0 = exec.scan %x along 0 from [0.0 : f32] : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%element: f32, %before: f32):
    exec.yield %element : f32
  }
  return
}

// -----

func.func @scan_along_nothing(%x: tensor<4xf32>) {
  // expected-error@+1 {{'exec.scan' op expected a dimension of the tensors}}
  %0 = exec.scan %x along 1 from [0.0 : f32] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%element: f32, %before: f32):
    exec.yield %element : f32
  }
  return
}

// -----

func.func @scatter_of_smaller_inputs(%i: tensor<4xi64>, %x: tensor<3xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{'exec.scatter' op expected inputs no smaller than the first}}
  %0 = exec.scatter %i, %x into %w at [-1] : tensor<4xi64>, tensor<3xf32> into tensor<8xf32> {
  ^bb0(%at: i64, %element: f32, %before: f32):
    %place = arith.index_cast %at : i64 to index
    exec.yield %place, %element : index, f32
  }
  return
}

// -----

func.func @scatter_beyond_the_whole(%i: tensor<4x9xi64>, %w: tensor<4x8xi64>) {
  // expected-error@+1 {{'exec.scatter' op expected for each dimension of the whole a loop that fits, each once, or -1}}
  %0 = exec.scatter %i into %w at [-1, 1] : tensor<4x9xi64> into tensor<4x8xi64> {
  ^bb0(%at: i64, %before: i64):
    %place = arith.index_cast %at : i64 to index
    exec.yield %place, %at : index, i64
  }
  return
}

// -----

func.func @scatter_without_an_index(%i: tensor<4xi64>, %w: tensor<8xi64>) {
  // expected-error@+1 {{'exec.scatter' op expected a body that takes elements of the inputs and the whole and yields indices and an element}}
  %0 = exec.scatter %i into %w at [-1] : tensor<4xi64> into tensor<8xi64> {
  ^bb0(%at: i64, %before: i64):
    exec.yield %at : i64
  }
  return
}

// -----

func.func @scatter_to_where_the_whole_says(%i: tensor<4xi64>, %w: tensor<8xi64>) {
  // expected-error@+1 {{'exec.scatter' op expected indices that do not depend on the whole's element}}
  %0 = exec.scatter %i into %w at [-1] : tensor<4xi64> into tensor<8xi64> {
  ^bb0(%at: i64, %before: i64):
    %place = arith.index_cast %before : i64 to index
    exec.yield %place, %at : index, i64
  }
  return
}
