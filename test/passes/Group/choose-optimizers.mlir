// RUN: shardc-opt %s --shardc-choose-optimizers=optimizer=muon | FileCheck %s
// RUN: shardc-opt %s --shardc-choose-optimizers=optimizer=adamw | FileCheck %s --check-prefix=ADAMW

// Muon has matrices, but for tables, which a tied head is too, and what a rule
// leaves to adamw. Frozen parameters have none. Another optimizer has all.
// CHECK-LABEL: module @matrices_and_others
//       CHECK:     fsdp.member @embed.weight with {optimizer = "adamw"}
//  CHECK-NEXT:     fsdp.member @fc.weight with {optimizer = "muon"}
//  CHECK-NEXT:     fsdp.member @fc.bias with {lr_scale = 5.000000e-01 : f64, optimizer = "adamw"}
//  CHECK-NEXT:     fsdp.member @conv.weight with {optimizer = "adamw"}
//  CHECK-NEXT:     fsdp.member @left.weight with {optimizer = "adamw"}
//  CHECK-NEXT:     fsdp.member @wanted.weight with {optimizer = "muon", weight_decay = 1.000000e-01 : f64}
//  CHECK-NEXT:     fsdp.member @frozen.weight{{$}}
// ADAMW-LABEL: module @matrices_and_others
//       ADAMW:     fsdp.member @embed.weight{{$}}
//  ADAMW-NEXT:     fsdp.member @fc.weight{{$}}
//  ADAMW-NEXT:     fsdp.member @fc.bias with {lr_scale = 5.000000e-01 : f64}
//  ADAMW-NEXT:     fsdp.member @conv.weight{{$}}
//  ADAMW-NEXT:     fsdp.member @left.weight{{$}}
module @matrices_and_others {
  fsdp.parameter @embed.weight aliases ["head.weight"] : tensor<4x2xf32>
  fsdp.parameter @fc.weight : tensor<2x2xf32>
  fsdp.parameter @fc.bias : tensor<2xf32>
  fsdp.parameter @conv.weight : tensor<2x2x1x1xf32>
  fsdp.parameter @left.weight : tensor<2x2xf32>
  fsdp.parameter @wanted.weight : tensor<2x2xf32>
  fsdp.parameter frozen @frozen.weight : tensor<2x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @embed.weight
    fsdp.member @fc.weight
    fsdp.member @fc.bias with {lr_scale = 0.5 : f64}
    fsdp.member @conv.weight
    fsdp.member @left.weight with {optimizer = "adamw"}
    fsdp.member @wanted.weight with {weight_decay = 0.1 : f64}
    fsdp.member @frozen.weight
  }
  func.func @forward(%i: tensor<3xi64>) -> tensor<3x2xf32> {
    %table = fsdp.read @embed.weight : tensor<4x2xf32>
    %0 = fsdp.module "embed" : "Embedding" (%in = %i : tensor<3xi64>, %t = %table : tensor<4x2xf32>) -> tensor<3x2xf32> {
      %scaled = aten.mul.Scalar %t, 2.0 : f32 : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %x = aten.embedding %scaled, %in {padding_idx = -1 : i64} : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
      fsdp.yield %x : tensor<3x2xf32>
    }
    return %0 : tensor<3x2xf32>
  }
}
