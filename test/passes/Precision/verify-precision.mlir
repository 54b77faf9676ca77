// RUN: shardc-opt %s --split-input-file --shardc-verify-precision | FileCheck %s

// P1 to P6: casts at the input, parameters in their gathered dtypes, a buffer in
// its own, and a batch_norm whose statistics and affine parameters are f32.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @fc.weight : tensor<4x4xf32>
  fsdp.parameter @bn.weight : tensor<4xf32>
  fsdp.buffer @bn.mean : tensor<4xf32>
  fsdp.buffer @bn.var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @fc on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @bn.weight keep f32
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}, %target: tensor<8xi64> {shardc.name = "target"}) -> tensor<f32> {
    %in = fsdp.cast %x at input : tensor<8x4xf32> -> tensor<8x4xbf16>
    %fc = fsdp.module "fc" : "Linear" group @fc (%a = %in : tensor<8x4xbf16>) -> tensor<8x4xbf16> {
      %weight = fsdp.read @fc.weight : tensor<4x4xbf16>
      %out = aten.linear %a, %weight : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
      fsdp.yield %out : tensor<8x4xbf16>
    }
    %weight = fsdp.read @bn.weight : tensor<4xf32>
    %mean = fsdp.read @bn.mean : tensor<4xf32>
    %var = fsdp.read @bn.var : tensor<4xf32>
    %bn:5 = aten.batch_norm %fc running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    fsdp.write %bn#1, @bn.mean : tensor<4xf32>
    %loss:3 = aten.cross_entropy_loss %bn#0, %target {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<8x4xbf16>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
    return %loss#0 : tensor<f32>
  }
}

// -----

// P1: constants and conversions have the dtype that they are written with.
// CHECK-LABEL: module @P1_written_dtypes
module @P1_written_dtypes {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<2xf32> {shardc.name = "x"}) -> tensor<2xf64> {
    %two = aten.constant dense<2.0> : tensor<2xbf16>
    %f64 = aten.to %x f64 : (tensor<2xf32>) -> tensor<2xf64>
    %product = aten.mul %f64, %two : (tensor<2xf64>, tensor<2xbf16>) -> tensor<2xf64>
    return %product : tensor<2xf64>
  }
}
