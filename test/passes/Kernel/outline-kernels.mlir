// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels=pointwise-block=8 \
// RUN:   | FileCheck %s --check-prefix=BLOCKS

// The row is the launch's loop; its few columns are summed in a register.
// CHECK-LABEL: module @kernels
//       CHECK: func.func @kernel_sum(%[[X:.*]]: memref<32xf32>, %[[Y:.*]]: memref<4xf64> {exec.access = "write"}, %[[BEGIN:.*]]: index, %[[END:.*]]: index) attributes {exec.extent = 4 : i64}
//       CHECK: scf.parallel (%[[ROW:.*]]) = (%[[BEGIN]]) to (%[[END]])
//       CHECK: %[[SUM:.*]] = scf.for %[[COLUMN:.*]] = {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f64)
//       CHECK: affine.apply {{.*}}(%[[ROW]], %[[COLUMN]])
//       CHECK: arith.addf %[[BEFORE]], %{{.*}} : f64
//       CHECK: memref.store %[[SUM]], %[[Y]]
func.func @row_sums(%x: tensor<4x8xf32>) -> tensor<4xf64> {
  %0 = exec.kernel "sum" (%in = %x : tensor<4x8xf32>) -> tensor<4xf64> {
    %zero = arith.constant 0.0 : f64
    %empty = tensor.empty() : tensor<4xf64>
    %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<4xf64>) -> tensor<4xf64>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<4x8xf32>) outs(%start : tensor<4xf64>) {
    ^bb0(%a: f32, %b: f64):
      %wide = arith.extf %a : f32 to f64
      %s = arith.addf %b, %wide : f64
      linalg.yield %s : f64
    } -> tensor<4xf64>
    exec.yield %sum : tensor<4xf64>
  }
  return %0 : tensor<4xf64>
}

// -----

// A long sum has 16 lanes, in an order that nothing changes: 2 chunks, a rest of
// 3, then pairs of lanes.
// CHECK-LABEL: func.func @kernel_long_sum(
//   CHECK-NOT: fastmath
//       CHECK: %[[LANES:.*]] = memref.alloca() : memref<16xf32>
//       CHECK: scf.for %[[CHUNK:.*]] = %{{.*}} to %c2
//       CHECK:   scf.for %[[LANE:.*]] = %{{.*}} to %c16
//       CHECK:     memref.load %[[LANES]][%[[LANE]]]
//       CHECK:     affine.apply {{.*}}(%[[CHUNK]], %[[LANE]])
//       CHECK: scf.for %{{.*}} = %{{.*}} to %c3
//       CHECK: scf.for %[[LOW:.*]] = %{{.*}} to %c8
//       CHECK:   %[[HIGH:.*]] = affine.apply {{.*}}(%[[LOW]])
//       CHECK:   %[[A:.*]] = memref.load %[[LANES]][%[[LOW]]]
//       CHECK:   %[[B:.*]] = memref.load %[[LANES]][%[[HIGH]]]
//       CHECK:   arith.addf %[[A]], %[[B]]
func.func @sum_in_lanes(%x: tensor<35xf32>) -> tensor<f32> {
  %0 = exec.kernel "long_sum" (%in = %x : tensor<35xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%in : tensor<35xf32>) outs(%start : tensor<f32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    exec.yield %sum : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// What a sum starts with counts in one lane.
// CHECK-LABEL: func.func @kernel_sum_from_one(
//   CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
//   CHECK-DAG: %[[ZERO:.*]] = arith.constant {{-?}}0.000000e+00 : f32
//       CHECK: %[[LANES:.*]] = memref.alloca() : memref<16xf32>
//       CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %c16
//       CHECK:   memref.store %[[ZERO]], %[[LANES]][%[[LANE]]]
//       CHECK: memref.store %[[ONE]], %[[LANES]][%c0
func.func @sum_from_one(%x: tensor<35xf32>) -> tensor<f32> {
  %0 = exec.kernel "sum_from_one" (%in = %x : tensor<35xf32>) -> tensor<f32> {
    %one = arith.constant 1.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%one : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%in : tensor<35xf32>) outs(%start : tensor<f32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    exec.yield %sum : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Dimensions that follow each other in memory are one loop, cut into blocks.
// CHECK-LABEL: @kernel_relu
//       CHECK: scf.for %{{.*}} = %{{.*}} to %c20
//  BLOCKS-LABEL: @kernel_relu
//        BLOCKS: scf.parallel (%[[BLOCK:.*]]) =
//        BLOCKS: affine.min {{.*}}(%[[BLOCK]])
func.func @one_loop_over_contiguous_memory(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = exec.kernel "relu" (%in = %x : tensor<4x5xf32>) -> tensor<4x5xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4x5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%in : tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %zero : f32
      linalg.yield %m : f32
    } -> tensor<4x5xf32>
    exec.yield %y : tensor<4x5xf32>
  }
  return %0 : tensor<4x5xf32>
}

// -----

// The row's sum is private to its iteration; nothing of it reaches memory.
// CHECK-LABEL: func.func @kernel_normalize(
//  CHECK-SAME: %{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32> {exec.access = "write"}, %{{.*}}: index, %{{.*}}: index)
//       CHECK: memref.alloca() : memref<1xf32>
//       CHECK: iter_args
//       CHECK: arith.divf
func.func @private_row_sum(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = exec.kernel "normalize" (%in = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %out = tensor.empty() : tensor<4x8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%in, %sum : tensor<4x8xf32>, tensor<4xf32>) outs(%out : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %q = arith.divf %a, %b : f32
      linalg.yield %q : f32
    } -> tensor<4x8xf32>
    exec.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

// Sums over rows and sums over columns share no loop: two launches, and what
// passes between them is an operand of both.
// CHECK-LABEL: func.func @kernel_total_part0(
//  CHECK-SAME: %{{.*}}: memref<32xf32>, %{{.*}}: memref<4xf32> {exec.access = "write"}, %{{.*}}: index, %{{.*}}: index)
// CHECK-LABEL: func.func @kernel_total_part1(
//  CHECK-SAME: %{{.*}}: memref<1xf32> {exec.access = "write"}, %{{.*}}: memref<4xf32>, %{{.*}}: index, %{{.*}}: index)
func.func @two_launches(%x: tensor<4x8xf32>) -> tensor<f32> {
  %0 = exec.kernel "total" (%in = %x : tensor<4x8xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<4x8xf32>) outs(%start : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %scalar = tensor.empty() : tensor<f32>
    %begin = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%rows : tensor<4xf32>) outs(%begin : tensor<f32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    exec.yield %sum : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Two layers of one shape run the same code.
// CHECK-LABEL: @equal_kernels_share_a_function
//       CHECK: module @kernels
//       CHECK: func.func @kernel_copy
//   CHECK-NOT: func.func @kernel
func.func @equal_kernels_share_a_function(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = exec.kernel "copy" (%in = %x : tensor<4xf32>) -> tensor<4xf32> {
    exec.yield %in : tensor<4xf32>
  }
  %1 = exec.kernel "copy" (%in = %y : tensor<4xf32>) -> tensor<4xf32> {
    exec.yield %in : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A transposed input is read by its strides; the result is row-major.
// CHECK-LABEL: func.func @kernel_transpose
//       CHECK: %[[FROM:.*]] = affine.apply {{.*}}
//       CHECK: memref.load %{{.*}}[%[[FROM]]]
func.func @strided_input(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %0 = exec.view %x offset 0 strides [1, 4] : tensor<3x4xf32> -> tensor<4x3xf32>
  %1 = exec.kernel "transpose" (%in = %0 : tensor<4x3xf32>) -> tensor<4x3xf32> {
    exec.yield %in : tensor<4x3xf32>
  }
  return %1 : tensor<4x3xf32>
}

// -----

// A concatenation writes its parts where they belong.
// CHECK-LABEL: func.func @kernel_cat(
//  CHECK-SAME: %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<12xf32>, %[[Y:.*]]: memref<20xf32>
//   CHECK-NOT: alloca
//       CHECK: %[[ELEMENT:.*]] = memref.load %[[B]]
//       CHECK: memref.store %[[ELEMENT]], %[[Y]]
func.func @parts_in_place(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = exec.kernel "cat" (%first = %a : tensor<4x2xf32>, %second = %b : tensor<4x3xf32>) -> tensor<4x5xf32> {
    %whole = tensor.empty() : tensor<4x5xf32>
    %1 = tensor.insert_slice %first into %whole[0, 0] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x5xf32>
    %2 = tensor.insert_slice %second into %1[0, 2] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x5xf32>
    exec.yield %2 : tensor<4x5xf32>
  }
  return %0 : tensor<4x5xf32>
}

// -----

// The parts of a whole that stays in the kernel are written where its reader
// looks for them: both in one scratch buffer, the second part from element 32
// on. (Written elsewhere, the reader summed what nobody had written.)
// CHECK-LABEL: func.func @kernel_sum_of_whole_part0(
//  CHECK-SAME:     %{{[^:]*}}: memref<32xf32>, %{{[^:]*}}: memref<512xf32>,
//  CHECK-SAME:     %[[WHOLE:[^:]*]]: memref<544xf32> {exec.access = "write"}
//       CHECK:   memref.store %{{.*}}, %[[WHOLE]]
//       CHECK:   memref.store %{{.*}}, %[[WHOLE]]
// CHECK-LABEL: func.func @kernel_sum_of_whole_part1(
//  CHECK-SAME:     %{{[^:]*}}: memref<1xf32> {exec.access = "write"}, %{{[^:]*}}: memref<544xf32>,
func.func @parts_of_a_temporary(%a: tensor<1x32xf32>, %b: tensor<16x32xf32>) -> tensor<f32> {
  %0 = exec.kernel "sum_of_whole" (%x = %a : tensor<1x32xf32>, %y = %b : tensor<16x32xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %part = tensor.empty() : tensor<1x32xf32>
    %first = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x32xf32>) outs(%part : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %rest = tensor.empty() : tensor<16x32xf32>
    %second = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<16x32xf32>) outs(%rest : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %empty = tensor.empty() : tensor<17x32xf32>
    %1 = tensor.insert_slice %first into %empty[0, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<17x32xf32>
    %whole = tensor.insert_slice %second into %1[1, 0] [16, 32] [1, 1] : tensor<16x32xf32> into tensor<17x32xf32>
    %total = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%total : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%whole : tensor<17x32xf32>) outs(%start : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    exec.yield %sum : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Kernels that differ in an element of a constant are two functions, also when
// the printer leaves constants out.
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels \
// RUN:   --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDED
// ELIDED: func.func @kernel_shift(
// ELIDED: func.func @kernel_shift_1(
func.func @shifts(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = exec.kernel "shift" (%in = %x : tensor<3xf32>) -> tensor<3xf32> {
    %by = arith.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
    %empty = tensor.empty() : tensor<3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in, %by : tensor<3xf32>, tensor<3xf32>) outs(%empty : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    exec.yield %y : tensor<3xf32>
  }
  %1 = exec.kernel "shift" (%in = %x : tensor<3xf32>) -> tensor<3xf32> {
    %by = arith.constant dense<[0.0, 1.0, 3.0]> : tensor<3xf32>
    %empty = tensor.empty() : tensor<3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in, %by : tensor<3xf32>, tensor<3xf32>) outs(%empty : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    exec.yield %y : tensor<3xf32>
  }
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// The numbers of elements are computed from the loops of whoever reads them: no
// memory, no operand, and loops merge as those of a tensor do.
// CHECK-LABEL: func.func @kernel_number(
//  CHECK-SAME: %[[Y:.*]]: memref<12xi64> {exec.access = "write"}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
//       CHECK: scf.for %[[I:.*]] = %{{.*}} to %c12
//       CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : index to i64
//       CHECK: memref.store %[[NUMBER]], %[[Y]][%[[I]]]
func.func @numbers() -> tensor<3x4xi64> {
  %0 = exec.kernel "number" () -> tensor<3x4xi64> {
    %iota = exec.iota : tensor<3x4xi64>
    %empty = tensor.empty() : tensor<3x4xi64>
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%iota : tensor<3x4xi64>) outs(%empty : tensor<3x4xi64>) {
    ^bb0(%a: i64, %b: i64):
      linalg.yield %a : i64
    } -> tensor<3x4xi64>
    exec.yield %y : tensor<3x4xi64>
  }
  return %0 : tensor<3x4xi64>
}

// -----

// A part goes to every second element, and writes there directly.
// CHECK-LABEL: func.func @kernel_strided_part0(
// CHECK-LABEL: func.func @kernel_strided_part1(
//  CHECK-SAME: %{{.*}}: memref<3xf32>, %[[Y:.*]]: memref<7xf32> {exec.access = "write"}
//       CHECK: scf.for %[[I:.*]] = %{{.*}} to %c3
//       CHECK:   %[[AT:.*]] = affine.apply #{{.*}}(%[[I]])
//       CHECK:   memref.store %{{.*}}, %[[Y]][%[[AT]]] : memref<7xf32>
func.func @strided_insertion(%x: tensor<3xf32>) -> tensor<7xf32> {
  %0 = exec.kernel "strided" (%in = %x : tensor<3xf32>) -> tensor<7xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<7xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<7xf32>) -> tensor<7xf32>
    %new = tensor.empty() : tensor<3xf32>
    %part = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in : tensor<3xf32>) outs(%new : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<3xf32>
    %y = tensor.insert_slice %part into %zeros[1] [3] [2] : tensor<3xf32> into tensor<7xf32>
    exec.yield %y : tensor<7xf32>
  }
  return %0 : tensor<7xf32>
}

// -----

// A scan, here from the last element to the first, carries its value in a
// register and stores it each time.
// CHECK-LABEL: func.func @kernel_scan(
//       CHECK: scf.parallel (%[[ROW:.*]]) =
//       CHECK:   scf.for %[[STEP:.*]] = %c0 to %c8 step %c1 iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f64)
//       CHECK:     %[[PLACE:.*]] = affine.apply {{.*}}(%[[ROW]], %[[STEP]])
//       CHECK:     memref.load %{{.*}}[%[[PLACE]]]
//       CHECK:     %[[NEXT:.*]] = arith.addf %[[BEFORE]], %{{.*}} : f64
//       CHECK:     memref.store %[[NEXT]], %{{.*}}[%[[PLACE]]]
//       CHECK:     scf.yield %[[NEXT]]
func.func @scan_from_the_end(%x: tensor<4x8xf32>) -> tensor<4x8xf64> {
  %0 = exec.kernel "scan" (%in = %x : tensor<4x8xf32>) -> tensor<4x8xf64> {
    %sums = exec.scan %in along 1 reverse from [0.0 : f64] : (tensor<4x8xf32>) -> tensor<4x8xf64> {
    ^bb0(%element: f32, %before: f64):
      %wide = arith.extf %element : f32 to f64
      %next = arith.addf %before, %wide : f64
      exec.yield %next : f64
    }
    exec.yield %sums : tensor<4x8xf64>
  }
  return %0 : tensor<4x8xf64>
}

// -----

// A copy of the whole, then a nest that changes it. Columns are independent;
// elements for one place come in the order of the rows. Indices are held inside.
// CHECK-LABEL: func.func @kernel_scatter(
//       CHECK: scf.parallel
//       CHECK:   memref.store
//       CHECK:   scf.for %[[ROW:.*]] = %c0 to %c9
//  CHECK-NEXT:   scf.for %[[COLUMN:.*]] = %c0 to %c5
//       CHECK:     %[[INDEX:.*]] = arith.index_cast
//       CHECK:     %[[LEAST:.*]] = arith.maxsi %[[INDEX]], %c0
//       CHECK:     %[[HELD:.*]] = arith.minsi %[[LEAST]], %c3
//       CHECK:     %[[TO:.*]] = affine.apply {{.*}}%[[HELD]]
//       CHECK:     %[[BEFORE:.*]] = memref.load %{{.*}}[%[[TO]]]
//       CHECK:     arith.addf %[[BEFORE]],
//       CHECK:     memref.store %{{.*}}[%[[TO]]]
func.func @scatter_rows(%index: tensor<9x5xi64>, %source: tensor<9x5xf32>, %whole: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = exec.kernel "scatter" (%i = %index : tensor<9x5xi64>, %s = %source : tensor<9x5xf32>, %w = %whole : tensor<4x5xf32>) -> tensor<4x5xf32> {
    %sums = exec.scatter %i, %s into %w at [-1, 1] : tensor<9x5xi64>, tensor<9x5xf32> into tensor<4x5xf32> {
    ^bb0(%at: i64, %element: f32, %before: f32):
      %row = arith.index_cast %at : i64 to index
      %next = arith.addf %before, %element : f32
      exec.yield %row, %next : index, f32
    }
    exec.yield %sums : tensor<4x5xf32>
  }
  return %0 : tensor<4x5xf32>
}

// -----

// Along another dimension than the last, the scan is outside of the loop over
// neighbours, and reads what it stored one row before.
// CHECK-LABEL: func.func @kernel_columns(
//       CHECK:   scf.for %[[C0:.*]] = %c0 to
//       CHECK:     arith.addf %{{.*}}, %cst
//       CHECK:     memref.store
//       CHECK:   scf.for %[[ROW:.*]] = %c1 to %c9
//  CHECK-NEXT:     scf.for %[[C:.*]] = %c0 to
//       CHECK:       %[[BEFORE:.*]] = memref.load %[[Y:.*]][
//       CHECK:       %[[SUM:.*]] = arith.addf %[[BEFORE]],
//       CHECK:       memref.store %[[SUM]], %[[Y]][
func.func @scan_of_columns(%x: tensor<9x64xf32>) -> tensor<9x64xf32> {
  %0 = exec.kernel "columns" (%in = %x : tensor<9x64xf32>) -> tensor<9x64xf32> {
    %sums = exec.scan %in along 0 from [0.0 : f32] : (tensor<9x64xf32>) -> tensor<9x64xf32> {
    ^bb0(%element: f32, %before: f32):
      %next = arith.addf %before, %element : f32
      exec.yield %next : f32
    }
    exec.yield %sums : tensor<9x64xf32>
  }
  return %0 : tensor<9x64xf32>
}

// -----

// Terms that are narrower than their sum, and take long to compute, have a loop
// of their own, so that vectors are full. Each lane gets the same in the same
// order.
// CHECK-LABEL: func.func @kernel_exponentials(
//   CHECK-DAG:   %[[LANES:.*]] = memref.alloca() : memref<16xf64>
//   CHECK-DAG:   %[[TERMS:.*]] = memref.alloca() : memref<16xf32>
//       CHECK:   scf.for %[[CHUNK:.*]] = %c0 to %c4
//       CHECK:     scf.for %[[LANE:.*]] = %c0 to %c16
//       CHECK:       %[[TERM:.*]] = math.exp
//  CHECK-NEXT:       memref.store %[[TERM]], %[[TERMS]][%[[LANE]]]
//       CHECK:     scf.for %[[LANE:.*]] = %c0 to %c16
//       CHECK:       memref.load %[[LANES]][%[[LANE]]]
//       CHECK:       memref.load %[[TERMS]][%[[LANE]]]
//  CHECK-NEXT:       arith.extf
//  CHECK-NEXT:       %[[SUM:.*]] = arith.addf
//  CHECK-NEXT:       memref.store %[[SUM]], %[[LANES]][%[[LANE]]]
func.func @sum_of_exponentials(%x: tensor<64xf32>) -> tensor<f64> {
  %0 = exec.kernel "exponentials" (%in = %x : tensor<64xf32>) -> tensor<f64> {
    %zero = arith.constant 0.0 : f64
    %empty = tensor.empty() : tensor<f64>
    %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<f64>) -> tensor<f64>
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%in : tensor<64xf32>) outs(%start : tensor<f64>) {
    ^bb0(%a: f32, %b: f64):
      %e = math.exp %a : f32
      %wide = arith.extf %e : f32 to f64
      %s = arith.addf %b, %wide : f64
      linalg.yield %s : f64
    } -> tensor<f64>
    exec.yield %sum : tensor<f64>
  }
  return %0 : tensor<f64>
}
