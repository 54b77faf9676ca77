// RUN: shardc-opt %s --split-input-file --shardc-layout-groups | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-layout-groups --remarks-filter=shardc-layout-groups 2>&1 | FileCheck %s --check-prefix=REMARK

// Members keep their order within a dtype. Each starts at a multiple of 64
// bytes of the narrower of the gathered and the reduce dtype: 32 elements of
// bf16, 16 of f32.
// CHECK-LABEL: module @one_segment_a_dtype
//       CHECK:   fsdp.group @root
//  CHECK-NEXT:     fsdp.segment bf16 reduce f32 elements 640 shard 160 {
//  CHECK-NEXT:       fsdp.member @fc1.weight at 0
//  CHECK-NEXT:       fsdp.member @fc1.bias at 512
//  CHECK-NEXT:       fsdp.member @fc2.weight at 544
//  CHECK-NEXT:     }
//  CHECK-NEXT:     fsdp.segment f32 reduce f32 elements 64 shard 16 {
//  CHECK-NEXT:       fsdp.member @bn.weight keep f32 at 0
//  CHECK-NEXT:       fsdp.member @bn.bias keep f32 at 32

// REMARK: remark: [Analysis] segment {{.*}} Function=root {{.*}}bytes=1280{{.*}}dtype=bf16{{.*}}elements=640{{.*}}group=root{{.*}}padding=0
module @one_segment_a_dtype {
  fsdp.parameter @fc1.weight : tensor<32x16xf32>
  fsdp.parameter @fc1.bias : tensor<32xf32>
  fsdp.parameter @bn.weight : tensor<32xf32>
  fsdp.parameter @bn.bias : tensor<32xf32>
  fsdp.parameter @fc2.weight : tensor<3x32xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.member @fc1.weight
    fsdp.member @fc1.bias
    fsdp.member @bn.weight keep f32
    fsdp.member @bn.bias keep f32
    fsdp.member @fc2.weight
  }
}

// -----

// 10 elements on 3 ranks: 16 each, so that the last rank's part is padding.
// CHECK-LABEL: module @shards_are_padded_to_one_size
//       CHECK:   fsdp.segment f32 reduce f32 elements 48 shard 16 {
//  CHECK-NEXT:     fsdp.member @w at 0
module @shards_are_padded_to_one_size {
  fsdp.parameter @w : tensor<10xf32>
  fsdp.mesh @mesh <shard = 3>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @w
  }
}

// -----

// Without a policy, parameters are gathered and reduced in their own dtype.
// CHECK-LABEL: module @no_policy_keeps_the_master_dtype
//       CHECK:   fsdp.segment f32 reduce f32
//       CHECK:     fsdp.member @single at 0
//       CHECK:   fsdp.segment f64 reduce f64
//       CHECK:     fsdp.member @double at 0
module @no_policy_keeps_the_master_dtype {
  fsdp.parameter @single : tensor<16xf32>
  fsdp.parameter @double : tensor<16xf64>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @single
    fsdp.member @double
  }
}

// -----

// Gradients are reduced in the parameters' own dtype when the policy does not say.
// CHECK-LABEL: module @reduce_defaults_to_the_parameters
//       CHECK:   fsdp.segment bf16 reduce f32 elements 32 shard 32
module @reduce_defaults_to_the_parameters {
  fsdp.parameter @w : tensor<32xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @w
  }
}

// -----

// One gathered dtype, two dtypes of the optimizer's shards.
// CHECK-LABEL: module @master_dtypes_apart
//       CHECK:   fsdp.segment bf16 reduce f32
//  CHECK-NEXT:     fsdp.member @single at 0
//       CHECK:   fsdp.segment bf16 reduce f32
//  CHECK-NEXT:     fsdp.member @double at 0
module @master_dtypes_apart {
  fsdp.parameter @single : tensor<16xf32>
  fsdp.parameter @double : tensor<16xf64>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.member @single
    fsdp.member @double
  }
}

// -----

// A frozen parameter is gathered, but has no gradient beside trainable ones.
// CHECK-LABEL: module @frozen_parameters_apart
//       CHECK:   fsdp.segment frozen f32 reduce f32
//  CHECK-NEXT:     fsdp.member @frozen at 0
//       CHECK:   fsdp.segment f32 reduce f32
//  CHECK-NEXT:     fsdp.member @trained at 0
module @frozen_parameters_apart {
  fsdp.parameter frozen @frozen : tensor<16xf32>
  fsdp.parameter @trained : tensor<16xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @frozen
    fsdp.member @trained
  }
}

// -----

// CHECK-LABEL: module @group_without_members
//       CHECK:   fsdp.group @root
//   CHECK-NOT:     fsdp.segment
module @group_without_members {
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
  }
}
