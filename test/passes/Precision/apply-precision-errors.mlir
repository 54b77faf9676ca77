// RUN: not shardc-opt %s --split-input-file --shardc-apply-precision 2>&1 | FileCheck %s

// The author's own f32 meets a bf16 weight. PyTorch finds this at run time; the
// error names the operator, its module and where each dtype comes from.
// CHECK: fc.py:7:9: error: E0210: 'aten.linear' cannot take its operands under the policy: expected operands of one dtype, got f32 and bf16
// CHECK: note: in module 'fc'
// CHECK: apply-precision-errors.mlir:[[#@LINE + 11]]:{{.*}} note: operand 0 is converted to 'f32' by the model's own .to()
// CHECK: apply-precision-errors.mlir:[[#@LINE + 11]]:{{.*}} note: operand 1 is @fc.weight, which is read as 'tensor<2x4xbf16>'
// CHECK: help: convert with .to() in the model so that the dtypes agree (PyTorch would report the mismatch only at run time)
// CHECK: note: if the model has a cast such as x.to(y.dtype) here, export it with tools/export/shardc_export.py: plain torch.export records a fixed dtype instead
module @explicit_to_before_linear {
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %f32 = aten.to %x f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %weight = fsdp.read @fc.weight : tensor<2x4xf32>
    %out = aten.linear %f32, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32> loc(#fc)
    return %out : tensor<8x2xf32>
  }
}
#fc = loc("fc"("fc.py":7:9))

// -----

// A buffer is a reason of its own beside a conversion that may have been an
// x.to(y.dtype).
// CHECK: E0210: 'aten.linear' cannot take its operands under the policy: expected operands of one dtype, got f32 and bf16
// CHECK: note: operand 0 is computed from @table, which is read as 'tensor<8x4xf32>'
// CHECK: note: operand 1 is @fc.weight, which is read as 'tensor<2x4xbf16>'
module @buffer_before_linear {
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.buffer @table : tensor<8x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %f32 = aten.to %x f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %table = fsdp.read @table : tensor<8x4xf32>
    %again = aten.to %f32 f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %sum = aten.add %table, %again : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %weight = fsdp.read @fc.weight : tensor<2x4xf32>
    %out = aten.linear %sum, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32> loc(#other)
    return %out : tensor<8x2xf32>
  }
}
#other = loc("fc"("fc.py":7:9))

// -----

// A module that was not grouped has no policy to apply.
// CHECK: error: expected a function @forward and one root group
module @no_root_group {
  func.func @forward(%x: tensor<f32> {shardc.name = "x"}) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// Nobody but the policy chose the dtypes: the smallest rule that fits.
// CHECK: E0210: 'aten.linear' cannot take its operands under the policy: expected operands of one dtype, got bf16 and f32
// CHECK: note: help: with the rule {"match": "head", "param_dtype": "f32"} the group casts its inputs to its parameters' dtype
module @group_without_a_policy {
  fsdp.parameter @head.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  fsdp.group @head on @mesh policy <> reshard default {
    fsdp.member @head.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %0 = fsdp.module "head" : "Head" group @head (%in = %x : tensor<8x4xf32>) -> tensor<8x2xf32> {
      %1 = fsdp.module "head.fc" : "Linear" (%inner = %in : tensor<8x4xf32>) -> tensor<8x2xf32> {
        %weight = fsdp.read @head.weight : tensor<2x4xf32>
        %y = aten.linear %inner, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
        fsdp.yield %y : tensor<8x2xf32>
      }
      fsdp.yield %1 : tensor<8x2xf32>
    }
    return %0 : tensor<8x2xf32>
  }
}

// -----

// Its inputs are not cast, because a rule says so.
// CHECK: E0210: 'aten.linear'
// CHECK: note: help: with the rule {"match": "", "cast_forward_inputs": true} the group casts its inputs
module @inputs_that_are_not_cast {
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %weight = fsdp.read @fc.weight : tensor<2x4xf32>
    %y = aten.linear %x, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
    return %y : tensor<8x2xf32>
  }
}
