// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-outline-kernels=keep-kernels | FileCheck %s --check-prefix=KEEP

// Equal kernels on equal layouts share a function. What the region computes is
// kept where it is asked for.
// CHECK-LABEL: exec.program @equal_kernels
//  CHECK-NEXT:   exec.section
//  CHECK-NEXT:   %[[A:.*]] = exec.buffer : memref<16xf32>
//  CHECK-NEXT:   %[[B:.*]] = exec.buffer : memref<16xf32>
//  CHECK-NEXT:   exec.launch @[[DOUBLE:.*]] "double" extent {{.*}} (%[[A]] : memref<16xf32>, write %[[B]] : memref<16xf32>) on 0
//  CHECK-NEXT:   exec.launch @[[DOUBLE]] "double" extent {{.*}} (%[[B]] : memref<16xf32>, write %[[A]] : memref<16xf32>) on 1
//  CHECK-NEXT: }
//  CHECK-NEXT: }
//       CHECK: module @kernels
//       CHECK:   func.func @[[DOUBLE]](
//   CHECK-NOT:   func.func
// KEEP-LABEL: exec.program @equal_kernels
//       KEEP:   exec.compute "double" launches 1 (%[[A:.*]] : memref<16xf32>) -> (%[[B:.*]] : memref<16xf32>) {
//  KEEP-NEXT:   ^bb0(%{{.*}}: tensor<16xf32>):
//       KEEP:   exec.launch @{{.*}} "double" extent {{.*}} (%[[A]] : memref<16xf32>, write %[[B]] : memref<16xf32>)
exec.program @equal_kernels streams ["compute", "gather"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<16xf32>
    %b = exec.buffer : memref<16xf32>
    exec.run "double" (%a : memref<16xf32>) -> (%b : memref<16xf32>) on 0 {
    ^bb0(%x: tensor<16xf32>):
      %empty = tensor.empty() : tensor<16xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %twice = arith.addf %in, %in : f32
        linalg.yield %twice : f32
      } -> tensor<16xf32>
      exec.yield %y : tensor<16xf32>
    }
    exec.run "double" (%b : memref<16xf32>) -> (%a : memref<16xf32>) on 1 {
    ^bb0(%x: tensor<16xf32>):
      %empty = tensor.empty() : tensor<16xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %twice = arith.addf %in, %in : f32
        linalg.yield %twice : f32
      } -> tensor<16xf32>
      exec.yield %y : tensor<16xf32>
    }
  }
}

// -----

// An output that is an input is written over it, by one pointer.
// CHECK-LABEL: exec.program @in_place
//       CHECK:   exec.launch @{{.*}} "double" extent {{.*}} (read_write %{{.*}} : memref<16xf32>) on 0
exec.program @in_place streams ["compute"] {
  exec.section "update" {
    %a = exec.buffer : memref<16xf32>
    exec.run "double" (%a : memref<16xf32>) -> (%a : memref<16xf32>) on 0 {
    ^bb0(%x: tensor<16xf32>):
      %empty = tensor.empty() : tensor<16xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<16xf32>) outs(%empty : tensor<16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %twice = arith.addf %in, %in : f32
        linalg.yield %twice : f32
      } -> tensor<16xf32>
      exec.yield %y : tensor<16xf32>
    }
  }
}

// -----

// The sum has to be complete before it is divided by: it passes from the first
// launch to the second in a buffer.
// CHECK-LABEL: exec.program @two_launches
//       CHECK:   %[[SUM:.*]] = exec.buffer : memref<1xf32>
//  CHECK-NEXT:   exec.launch @{{.*}} "normalize" extent {{.*}} (%[[X:.*]] : memref<4096xf32>, write %[[SUM]] : memref<1xf32>)
//  CHECK-NEXT:   exec.launch @{{.*}} "normalize" extent {{.*}} (%[[X]] : memref<4096xf32>, write %{{.*}} : memref<4096xf32>, %[[SUM]] : memref<1xf32>)
exec.program @two_launches streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<4096xf32>
    %b = exec.buffer : memref<4096xf32>
    exec.run "normalize" (%a : memref<4096xf32>) -> (%b : memref<4096xf32>) on 0 {
    ^bb0(%x: tensor<4096xf32>):
      %zero = arith.constant 0.0 : f32
      %none = tensor.empty() : tensor<f32>
      %start = linalg.fill ins(%zero : f32) outs(%none : tensor<f32>) -> tensor<f32>
      %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
          ins(%x : tensor<4096xf32>) outs(%start : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %more = arith.addf %out, %in : f32
        linalg.yield %more : f32
      } -> tensor<f32>
      %empty = tensor.empty() : tensor<4096xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x, %sum : tensor<4096xf32>, tensor<f32>) outs(%empty : tensor<4096xf32>) {
      ^bb0(%in: f32, %total: f32, %out: f32):
        %part = arith.divf %in, %total : f32
        linalg.yield %part : f32
      } -> tensor<4096xf32>
      exec.yield %y : tensor<4096xf32>
    }
  }
}
