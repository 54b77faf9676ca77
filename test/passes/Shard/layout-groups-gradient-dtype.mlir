// RUN: shardc-opt %s --shardc-layout-groups=gradient-dtype=reduce | FileCheck %s
// RUN: shardc-opt %s --shardc-layout-groups | FileCheck %s --check-prefix=F32 --implicit-check-not=gradient

// Sums of gradients are kept in the reduce dtype where that is narrower than
// what they are summed in; frozen parameters have none.
// CHECK-LABEL: module @kept_in_the_reduce_dtype
//       CHECK:   fsdp.segment bf16 reduce bf16 gradient bf16 elements
//  CHECK-NEXT:     fsdp.member @w at 0
//       CHECK:   fsdp.segment f32 reduce f32 elements
//  CHECK-NEXT:     fsdp.member @norm keep f32 at 0
//       CHECK:   fsdp.segment bf16 reduce bf16 gradient bf16 elements
//  CHECK-NEXT:     fsdp.member @wide at 0
//       CHECK:   fsdp.segment frozen bf16 reduce bf16 elements
//  CHECK-NEXT:     fsdp.member @table at 0
// F32-LABEL: module @kept_in_the_reduce_dtype
module @kept_in_the_reduce_dtype {
  fsdp.parameter @w : tensor<32xf32>
  fsdp.parameter @norm : tensor<32xf32>
  fsdp.parameter @wide : tensor<32xf64>
  fsdp.parameter frozen @table : tensor<32xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = bf16> reshard default {
    fsdp.member @w
    fsdp.member @norm keep f32
    fsdp.member @wide
    fsdp.member @table
  }
}
