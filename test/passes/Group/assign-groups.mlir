// RUN: shardc-opt %s --split-input-file --shardc-assign-groups="world-size=4 param-dtype=bf16 reduce-dtype=f32" | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-assign-groups="wrap=h.* reshard=always param-dtype=f32 reduce-dtype=bf16" | FileCheck %s --check-prefix=REGEX
// RUN: shardc-opt %s --split-input-file --shardc-assign-groups="wrap= param-dtype=bf16 reduce-dtype=bf16" | FileCheck %s --check-prefix=WHOLE
// RUN: shardc-opt %s --split-input-file --shardc-assign-groups="wrap=>=9" | FileCheck %s --check-prefix=SIZE
// RUN: shardc-opt %s --split-input-file --shardc-assign-groups="wrap=blocks:2" | FileCheck %s --check-prefix=TOGETHER
// RUN: shardc-opt %s --split-input-file --shardc-assign-groups --remarks-filter='shardc-assign-groups.*' 2>&1 | FileCheck %s --check-prefix=REMARK

// Blocks that repeat are groups of their own and the rest is the root's. FSDP2
// casts a wrapped module's inputs by default.
// CHECK-LABEL: module @repeated_blocks
//       CHECK:   fsdp.mesh @mesh <shard = 4>
//  CHECK-NEXT:   fsdp.group @h.0 on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
//  CHECK-NEXT:     fsdp.member @h.0.weight
//  CHECK-NEXT:   }
//  CHECK-NEXT:   fsdp.group @h.1 on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
//  CHECK-NEXT:     fsdp.member @h.1.weight
//  CHECK-NEXT:   }
//  CHECK-NEXT:   fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
//  CHECK-NEXT:     fsdp.member @head.weight
//  CHECK-NEXT:   }
//       CHECK:   fsdp.module "h.0" : "Linear" group @h.0 (
//       CHECK:   fsdp.module "h.1" : "Linear" group @h.1 (
//       CHECK:   fsdp.module "head" : "Linear" (

// A regular expression matches whole paths. A dtype that is the parameters' own
// still casts inputs, as FSDP2's does.
// REGEX-LABEL: module @repeated_blocks
//       REGEX:   fsdp.mesh @mesh <shard = 1>
//  REGEX-NEXT:   fsdp.group @h.0 on @mesh policy <param = f32, reduce = bf16, cast_inputs = true> reshard always {
//       REGEX:   fsdp.group @h.1 on
//       REGEX:   fsdp.group @head on
//       REGEX:   fsdp.group @root on @mesh policy <param = f32, reduce = bf16, cast_inputs = true> reshard always {
//  REGEX-NEXT:   }

// Neighbouring blocks are one group, as of fully_shard([h[0], h[1]]).
// TOGETHER-LABEL: module @repeated_blocks
//       TOGETHER:   fsdp.group @"h.0&h.1" on
//  TOGETHER-NEXT:     fsdp.member @h.0.weight
//  TOGETHER-NEXT:     fsdp.member @h.1.weight
//  TOGETHER-NEXT:   }
//       TOGETHER:   fsdp.module "h.0" : "Linear" group @"h.0&h.1" (
//       TOGETHER:   fsdp.module "h.1" : "Linear" group @"h.0&h.1" (

// With nothing wrapped, everything is the root's, in the order of declaration.
// WHOLE-LABEL: module @repeated_blocks
//       WHOLE:   fsdp.group @root on @mesh policy <param = bf16, reduce = bf16, cast_inputs = true> reshard default {
//  WHOLE-NEXT:     fsdp.member @h.0.weight
//  WHOLE-NEXT:     fsdp.member @h.1.weight
//  WHOLE-NEXT:     fsdp.member @head.weight
//  WHOLE-NEXT:   }
//   WHOLE-NOT:   group @h

// A size wraps what has as many elements.
// SIZE-LABEL: module @repeated_blocks
//       SIZE:   fsdp.group @h.0 on
//       SIZE:   fsdp.group @h.1 on
//       SIZE:   fsdp.group @root on
//  SIZE-NEXT:     fsdp.member @head.weight

// Each group says what is in it and why.
// REMARK: remark: [Analysis] group | {{.*}} | Function=h.0 | Reason="the module is wrapped", elements=16, group=h.0, parameters=1
// REMARK: Function=root | Reason="parameters that are used outside of all wrapped modules", elements=8, group=root, parameters=1
module @repeated_blocks {
  fsdp.parameter @h.0.weight : tensor<4x4xf32>
  fsdp.parameter @h.1.weight : tensor<4x4xf32>
  fsdp.parameter @head.weight : tensor<2x4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %0 = fsdp.module "h.0" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %1 = fsdp.module "h.1" : "Linear" (%in = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.1.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %2 = fsdp.module "head" : "Linear" (%in = %1 : tensor<8x4xf32>) -> tensor<8x2xf32> {
      %weight = fsdp.read @head.weight : tensor<2x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
      fsdp.yield %out : tensor<8x2xf32>
    }
    return %2 : tensor<8x2xf32>
  }
}

// -----

// A tied parameter that two groups use is the root's, which is whole while
// both run; FSDP2 raises an error here. The group that is left without parameters
// has a policy, whose casts hold.
// REGEX-LABEL: module @tied_across_groups
//       REGEX:   fsdp.group @root on @mesh policy <param = f32, reduce = bf16, cast_inputs = true> reshard always {
//  REGEX-NEXT:     fsdp.member @h.0.weight
//       REGEX:   fsdp.group @h.1 on
//  REGEX-NEXT:     fsdp.member @h.1.bias
//       REGEX:   fsdp.group @h.0 on
//  REGEX-NEXT:   }
module @tied_across_groups {
  fsdp.parameter @h.0.weight aliases ["h.1.weight"] : tensor<4x4xf32>
  fsdp.parameter @h.1.bias : tensor<4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %0 = fsdp.module "h.0" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %1 = fsdp.module "h.1" : "Linear" (%in = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %bias = fsdp.read @h.1.bias : tensor<4xf32>
      %out = aten.linear %in, %weight, %bias : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    return %1 : tensor<8x4xf32>
  }
}

// -----

// A parameter that forward does not use is gathered with the root.
// CHECK-LABEL: module @unused_parameter
//       CHECK:   fsdp.group @root on
//  CHECK-NEXT:     fsdp.member @unused
module @unused_parameter {
  fsdp.parameter @unused : tensor<4xf32>
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.module "h" : "ReLU" (%in = %x : tensor<f32>) -> tensor<f32> {
      %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
      fsdp.yield %out : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----

// Every call of a module is in the module's group.
// REGEX-LABEL: module @module_called_twice
//       REGEX:   fsdp.module "h" : "Linear" group @h (
//       REGEX:   fsdp.module "h" : "Linear" call 1 group @h (
module @module_called_twice {
  fsdp.parameter @h.weight : tensor<4x4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %0 = fsdp.module "h" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %1 = fsdp.module "h" : "Linear" call 1 (%in = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @h.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    return %1 : tensor<8x4xf32>
  }
}

// -----

// A group whose name is taken by a parameter gets a suffix.
// WHOLE-LABEL: module @parameter_called_root
//       WHOLE:   fsdp.mesh @[[MESH:mesh_[0-9]+]] <shard = 1>
//       WHOLE:   fsdp.group @root.group on @[[MESH]] policy
module @parameter_called_root {
  fsdp.parameter @root : tensor<4xf32>
  fsdp.parameter @mesh : tensor<4xf32>
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = fsdp.module "h" : "ReLU" (%in = %x : tensor<f32>) -> tensor<f32> {
      %out = aten.relu %in : (tensor<f32>) -> tensor<f32>
      fsdp.yield %out : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----

// The root's parameters stay gathered: what is large could be wrapped.
// REMARK: remark: [Missed] wrap | Category:shardc-assign-groups.root | Function=root | Remark="the root group's parameters stay gathered for the whole step", Suggestion="consider wrapping also embed, head; shardc plan --wrap auto tries it", elements=1000000, largest other group=16
module @large_root {
  fsdp.parameter @embed.weight : tensor<125000x4xf32>
  fsdp.parameter @h.0.weight : tensor<4x4xf32>
  fsdp.parameter @h.1.weight : tensor<4x4xf32>
  fsdp.parameter @head.weight : tensor<125000x4xf32>
  func.func @forward(%x: tensor<2xi64> {shardc.name = "x"}) -> tensor<2x125000xf32> {
    %e = fsdp.module "embed" : "Embedding" (%in = %x : tensor<2xi64>) -> tensor<2x4xf32> {
      %weight = fsdp.read @embed.weight : tensor<125000x4xf32>
      %out = aten.embedding %weight, %in : (tensor<125000x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
      fsdp.yield %out : tensor<2x4xf32>
    }
    %0 = fsdp.module "h.0" : "Linear" (%in = %e : tensor<2x4xf32>) -> tensor<2x4xf32> {
      %weight = fsdp.read @h.0.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      fsdp.yield %out : tensor<2x4xf32>
    }
    %1 = fsdp.module "h.1" : "Linear" (%in = %0 : tensor<2x4xf32>) -> tensor<2x4xf32> {
      %weight = fsdp.read @h.1.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      fsdp.yield %out : tensor<2x4xf32>
    }
    %2 = fsdp.module "head" : "Linear" (%in = %1 : tensor<2x4xf32>) -> tensor<2x125000xf32> {
      %weight = fsdp.read @head.weight : tensor<125000x4xf32>
      %out = aten.linear %in, %weight : (tensor<2x4xf32>, tensor<125000x4xf32>) -> tensor<2x125000xf32>
      fsdp.yield %out : tensor<2x125000xf32>
    }
    return %2 : tensor<2x125000xf32>
  }
}
