// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-form-kernels \
// RUN:   --shardc-fuse-kernels --shardc-materialize-views --shardc-split-reductions --shardc-verify-kernels \
// RUN:   --shardc-outline-kernels | FileCheck %s

// Every thread takes a vector of 16 bytes and the one 256 threads further, and
// reads both before it stores one; 4096 blocks of 2048 elements need no bounds.
// CHECK-LABEL: func.func @relu
//       CHECK: func.func @kernel_relu({{.*}}exec.alignment = 16 : i64}{{.*}}) attributes {exec.extent = 4096 : i64, exec.threads = 256 : i64}
//       CHECK: %[[BLOCK:.*]] = gpu.block_id x
//       CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK-COUNT-2: vector.load {{.*}} {alignment = 16 : i64} : memref<8388608xf32>, vector<4xf32>
// CHECK-COUNT-4: arith.select
//       CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<8388608xf32>, vector<4xf32>
// CHECK-COUNT-4: arith.select
//       CHECK: vector.store
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @relu(%x: tensor<8192x1024xf32>) -> tensor<8192x1024xf32> {
  %0 = aten.relu %x : (tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
  return %0 : tensor<8192x1024xf32>
}

// -----

// A row is a warp's: four rows a block, six vectors a lane, five shuffles for the
// maximum and twice as many for the sum in f64. The
// maximum and the sum are in every lane, so that nothing is shared.
// CHECK-LABEL: func.func @softmax
//       CHECK: func.func @kernel_softmax({{.*}}) attributes {exec.extent = 2048 : i64, exec.threads = 128 : i64}
//   CHECK-NOT: workgroup
//       CHECK: scf.for %{{.*}} = %c0 to %c6
//       CHECK:   vector.load {{.*}} : memref<6291456xf32>, vector<4xf32>
// CHECK-COUNT-5: nvvm.shfl.sync bfly %c-1_i32
//   CHECK-NOT: gpu.barrier
//       CHECK: scf.for
// CHECK-COUNT-5: nvvm.shfl.sync bfly %c-1_i32
//   CHECK-NOT: gpu.barrier
//       CHECK: return
func.func @softmax(%x: tensor<8192x768xf32>) -> tensor<8192x768xf32> {
  %0 = aten.softmax %x dim 1 : (tensor<8192x768xf32>) -> tensor<8192x768xf32>
  return %0 : tensor<8192x768xf32>
}

// -----

// Of a shard whose end is within a block, each step is read where it exists.
// CHECK-LABEL: func.func @uneven
//       CHECK: func.func @kernel_mul({{.*}}) attributes {exec.extent = 7 : i64, exec.threads = 256 : i64}
//       CHECK: scf.if %[[FIRST:[0-9]+]] -> ({{(f32, )+f32}})
// CHECK-COUNT-2: vector.load
//       CHECK: scf.if %[[SECOND:[0-9]+]] -> ({{(f32, )+f32}})
// CHECK-COUNT-2: vector.load
//   CHECK-NOT: vector.load
//       CHECK: scf.if %[[FIRST]] {
//       CHECK:   vector.store
//       CHECK: scf.if %[[SECOND]] {
//       CHECK:   vector.store
func.func @uneven(%x: tensor<14144xf32>, %y: tensor<14144xf32>) -> tensor<14144xf32> {
  %0 = aten.mul %x, %y : (tensor<14144xf32>, tensor<14144xf32>) -> tensor<14144xf32>
  return %0 : tensor<14144xf32>
}

// -----

// A transposition is tiles of 32 x 32: 128 bytes of a line of what is read, and of
// what is written. Lines of the tile are 33 elements apart, so that neither way
// two threads of a warp meet in a bank.
// CHECK-LABEL: func.func @transposition
//       CHECK: func.func @kernel_relu({{.*}}) attributes {exec.extent = 384 : i64, exec.threads = 256 : i64}
//       CHECK: %[[TILE:.*]] = memref.alloca() {{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
//       CHECK: vector.load %{{.*}} : memref<393216xf32>, vector<4xf32>
// CHECK-COUNT-4: memref.store %{{.*}}, %[[TILE]]
//       CHECK: gpu.barrier
// CHECK-COUNT-4: memref.load %[[TILE]]
//       CHECK: vector.store %{{.*}} : memref<393216xf32>, vector<4xf32>
func.func @transposition(%x: tensor<512x768xf32>) -> tensor<768x512xf32> {
  %0 = aten.permute %x [1, 0] : (tensor<512x768xf32>) -> tensor<768x512xf32>
  %1 = aten.relu %0 : (tensor<768x512xf32>) -> tensor<768x512xf32>
  return %1 : tensor<768x512xf32>
}

// -----

// A softmax over a vocabulary: 16 parts of a row each, whose 16 KiB are near when
// they are read for the sum; then the parts' sums are joined, and the row is
// written.
// CHECK-LABEL: func.func @large_vocabulary
//       CHECK: func.func @kernel_softmax_part0({{.*}}) attributes {exec.extent = 65536 : i64, exec.threads = 128 : i64}
//       CHECK: vector.load {{.*}}vector<8xbf16>
//       CHECK: arith.maxnumf
//       CHECK: gpu.barrier
//       CHECK: vector.load {{.*}}vector<8xbf16>
//       CHECK: math.exp
//       CHECK: func.func @kernel_softmax_part1({{.*}}) attributes {exec.extent = 4096 : i64
//       CHECK: arith.divf
func.func @large_vocabulary(%x: tensor<4096x131072xbf16>) -> tensor<4096x131072xbf16> {
  %0 = aten.softmax %x dim 1 : (tensor<4096x131072xbf16>) -> tensor<4096x131072xbf16>
  return %0 : tensor<4096x131072xbf16>
}

// -----

// A row of a large vocabulary is a block's: 512 threads add their parts, of which
// only the last stands in a branch, and 16 warps meet in shared memory. The bf16
// elements of a vector are added in f32 before they are converted.
// CHECK-LABEL: func.func @long_rows
//       CHECK: func.func @kernel_sum({{.*}}) attributes {exec.extent = 4096 : i64, exec.threads = 512 : i64}
//       CHECK: memref.alloca() {alignment = 16 : i64} : memref<16xf64, #gpu.address_space<workgroup>>
//       CHECK: scf.for %{{.*}} = %c0 to %c31
//   CHECK-NOT: scf.if
//       CHECK: vector.load {{.*}}vector<8xbf16>
// CHECK-COUNT-7: arith.addf {{.*}} : f32
//  CHECK-NEXT: arith.extf {{.*}} : f32 to f64
//  CHECK-NEXT: arith.addf {{.*}} : f64
//  CHECK-NEXT: scf.yield
//       CHECK: scf.if
//       CHECK: vector.load {{.*}}vector<8xbf16>
// CHECK-COUNT-5: nvvm.shfl.sync
//       CHECK: gpu.barrier
//       CHECK: scf.for %{{.*}} = %c1 to %c16
func.func @long_rows(%x: tensor<4096x128256xbf16>) -> tensor<4096xbf16> {
  %0 = aten.sum %x [1] : (tensor<4096x128256xbf16>) -> tensor<4096xbf16>
  return %0 : tensor<4096xbf16>
}

// -----

// A sum over rows has parts, which a second launch adds: neighbouring threads take
// neighbouring columns, four rows at a time, and one thread stores a column.
// CHECK-LABEL: func.func @columns
//       CHECK: func.func @kernel_sum_part0({{.*}}exec.threads = 256 : i64}
//       CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK-COUNT-4: vector.load {{.*}}vector<8xbf16>
// CHECK-COUNT-8: arith.extf {{.*}} : f32 to f64
//       CHECK: scf.yield
//       CHECK: gpu.barrier
//       CHECK: scf.if
//       CHECK: memref.store {{.*}} : memref<12288xf64>
//       CHECK: func.func @kernel_sum_part1(
func.func @columns(%x: tensor<8192x768xbf16>) -> tensor<768xbf16> {
  %0 = aten.sum %x [0] : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  return %0 : tensor<768xbf16>
}

// -----

// Sums over the places of images with channels last are columns too: 64 parts of
// 56 x 56 rows, times 8 blocks of 32 channels.
// CHECK-LABEL: func.func @channels
//       CHECK: func.func @kernel_sum_part0({{.*}}exec.extent = 512 : i64, exec.threads = 256 : i64}
//       CHECK: vector.load {{.*}}vector<8xbf16>
func.func @channels(%x: tensor<64x56x56x256xbf16>) -> tensor<256xbf16> {
  %0 = aten.permute %x [0, 3, 1, 2] : (tensor<64x56x56x256xbf16>) -> tensor<64x256x56x56xbf16>
  %1 = aten.sum %0 [0, 2, 3] : (tensor<64x256x56x56xbf16>) -> tensor<256xbf16>
  return %1 : tensor<256xbf16>
}

// -----

// A mask that is multiplied and summed is computed where its column is summed.
// CHECK-LABEL: func.func @product_and_columns
//       CHECK: func.func @kernel_{{.*}}_part0({{.*}}exec.access = "write"{{.*}}exec.threads = 256 : i64}
//       CHECK: func.func @kernel_{{.*}}_part1(
//   CHECK-NOT: func.func
func.func @product_and_columns(%x: tensor<8192x768xbf16>, %y: tensor<8192x768xbf16>) -> (tensor<8192x768xbf16>, tensor<768xbf16>) {
  %0 = aten.mul %x, %y : (tensor<8192x768xbf16>, tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %1 = aten.sum %0 [0] : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  return %0, %1 : tensor<8192x768xbf16>, tensor<768xbf16>
}

// -----

// A running sum goes down its column in order: a thread a column, and neighbours
// read neighbours.
// CHECK-LABEL: func.func @scan
//       CHECK: func.func @kernel_cumsum_part0({{.*}}exec.extent = 6 : i64, exec.threads = 128 : i64}
//       CHECK: scf.for %{{.*}} = %c0 to %c8192 step %c1 iter_args({{.*}}) -> (f64)
//       CHECK: func.func @kernel_cumsum_part1({{.*}}
func.func @scan(%x: tensor<8192x768xf32>) -> tensor<8192x768xf32> {
  %0 = aten.cumsum %x dim 0 : (tensor<8192x768xf32>) -> tensor<8192x768xf32>
  return %0 : tensor<8192x768xf32>
}

// -----

// A warp has four short rows. All of them are there or none is, so that its lanes
// shuffle together, under a constant mask.
// CHECK-LABEL: func.func @short_rows
//       CHECK: func.func @kernel_softmax({{.*}}) attributes {exec.extent = 4 : i64, exec.threads = 128 : i64}
//   CHECK-NOT: scf.if
// CHECK-COUNT-3: nvvm.shfl.sync bfly %c-1_i32
func.func @short_rows(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = aten.softmax %x dim 1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// -----

// The last warp has three rows: the eight lanes of each shuffle for themselves.
// CHECK-LABEL: func.func @short_rows_and_a_rest
//       CHECK: %[[LANES:.*]] = arith.shli %c255_i32
//       CHECK: scf.if
// CHECK-COUNT-3: nvvm.shfl.sync bfly %[[LANES]]
func.func @short_rows_and_a_rest(%x: tensor<63x32xf32>) -> tensor<63x32xf32> {
  %0 = aten.softmax %x dim 1 : (tensor<63x32xf32>) -> tensor<63x32xf32>
  return %0 : tensor<63x32xf32>
}

// -----

// A row of one vector is a thread's. What it keeps between stages has constant
// indices and becomes registers.
// CHECK-LABEL: func.func @halves
//       CHECK: func.func @kernel_mul_Scalar_cat_mul({{.*}}) attributes {exec.extent = 16 : i64, exec.threads = 256 : i64}
//       CHECK: %[[ROW:.*]] = memref.alloca() : memref<8xbf16>
//   CHECK-NOT: scf.for
//       CHECK: memref.store {{.*}}, %[[ROW]][%c3]
//       CHECK: memref.store {{.*}}, %[[ROW]][%c7]
//       CHECK: vector.load {{.*}}vector<8xbf16>
//       CHECK: memref.load %[[ROW]][%c7]
//       CHECK: vector.store {{.*}}vector<8xbf16>
func.func @halves(%low: tensor<4096x4xbf16>, %high: tensor<4096x4xbf16>, %y: tensor<4096x8xbf16>) -> tensor<4096x8xbf16> {
  %0 = aten.mul.Scalar %high, -1.0 : bf16 : (tensor<4096x4xbf16>) -> tensor<4096x4xbf16>
  %1 = aten.cat %0, %low dim 1 : (tensor<4096x4xbf16>, tensor<4096x4xbf16>) -> tensor<4096x8xbf16>
  %2 = aten.mul %1, %y : (tensor<4096x8xbf16>, tensor<4096x8xbf16>) -> tensor<4096x8xbf16>
  return %2 : tensor<4096x8xbf16>
}
