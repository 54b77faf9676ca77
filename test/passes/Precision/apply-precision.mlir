// RUN: shardc-opt %s --split-input-file --shardc-apply-precision --shardc-saturate-extremes --shardc-resolve-conversions --shardc-verify-precision | FileCheck %s

// The model's floating-point inputs are cast once, parameters are read in the
// dtype they are gathered in, and the dtypes inside of modules follow. Indices
// stay, and a loss of bf16 logits is f32.
// CHECK-LABEL: module @casts_at_input
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<8x4xf32> {shardc.name = "x"}, %[[TARGET:.*]]: tensor<8xi64> {shardc.name = "target"}) -> tensor<f32>
//  CHECK-NEXT:     %[[INPUT:.*]] = fsdp.cast %[[X]] at input : tensor<8x4xf32> -> tensor<8x4xbf16>
//  CHECK-NEXT:     %[[FC:.*]] = fsdp.module "fc" : "Linear" (%[[IN:.*]] = %[[INPUT]] : tensor<8x4xbf16>) -> tensor<8x2xbf16> {
//  CHECK-NEXT:       %[[WEIGHT:.*]] = fsdp.read @fc.weight : tensor<2x4xbf16>
//  CHECK-NEXT:       %[[OUT:.*]] = aten.linear %[[IN]], %[[WEIGHT]] : {{.*}} -> tensor<8x2xbf16>
//  CHECK-NEXT:       fsdp.yield %[[OUT]] : tensor<8x2xbf16>
//       CHECK:     %[[LOSS:.*]], %{{.*}}, %{{.*}} = aten.cross_entropy_loss %[[FC]], %[[TARGET]] {{.*}} -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
//  CHECK-NEXT:     return %[[LOSS]] : tensor<f32>
module @casts_at_input {
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}, %target: tensor<8xi64> {shardc.name = "target"}) -> tensor<f32> {
    %fc = fsdp.module "fc" : "Linear" (%in = %x : tensor<8x4xf32>) -> tensor<8x2xf32> {
      %weight = fsdp.read @fc.weight : tensor<2x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
      fsdp.yield %out : tensor<8x2xf32>
    }
    %loss:3 = aten.cross_entropy_loss %fc, %target {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<8x2xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
    return %loss#0 : tensor<f32>
  }
}

// -----

// A policy without dtypes changes nothing.
// CHECK-LABEL: module @f32_policy
//   CHECK-NOT:   fsdp.cast
//       CHECK:   fsdp.read @w : tensor<2x4xf32>
//  CHECK-NEXT:   aten.linear {{.*}} : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
module @f32_policy {
  fsdp.parameter @w : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @w
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %weight = fsdp.read @w : tensor<2x4xf32>
    %out = aten.linear %x, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
    return %out : tensor<8x2xf32>
  }
}

// -----

// BatchNorm takes bf16 and returns bf16; its statistics, and its parameters
// that the group keeps in f32, stay what they are. FSDP2 fails on this model.
// CHECK-LABEL: module @batch_norm_in_bf16
//       CHECK:   %[[INPUT:.*]] = fsdp.cast
//   CHECK-DAG:   %[[WEIGHT:.*]] = fsdp.read @weight : tensor<4xf32>
//   CHECK-DAG:   %[[MEAN:.*]] = fsdp.read @mean : tensor<4xf32>
//   CHECK-DAG:   %[[VAR:.*]] = fsdp.read @var : tensor<4xf32>
//       CHECK:   %[[OUT:.*]], %[[NEW_MEAN:.*]], %{{.*}}, %{{.*}}, %{{.*}} = aten.batch_norm %[[INPUT]] running(%[[MEAN]], %[[VAR]]) weight(%[[WEIGHT]])
//  CHECK-SAME:     -> (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
//  CHECK-NEXT:   fsdp.write %[[NEW_MEAN]], @mean : tensor<4xf32>
//       CHECK:   return %[[OUT]] : tensor<8x4xbf16>
module @batch_norm_in_bf16 {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.buffer @var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @weight keep f32
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %mean = fsdp.read @mean : tensor<4xf32>
    %var = fsdp.read @var : tensor<4xf32>
    %out:5 = aten.batch_norm %x running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    fsdp.write %out#1, @mean : tensor<4xf32>
    return %out#0 : tensor<8x4xf32>
  }
}

// -----

// LayerNorm's parameters are gathered as the policy says, as in FSDP2.
// CHECK-LABEL: module @layer_norm_in_bf16
//       CHECK:   %[[WEIGHT:.*]] = fsdp.read @weight : tensor<4xbf16>
//       CHECK:   aten.layer_norm {{.*}} weight(%[[WEIGHT]]) {{.*}} -> (tensor<8x4xbf16>, tensor<8x1xf32>, tensor<8x1xf32>)
module @layer_norm_in_bf16 {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %out:3 = aten.layer_norm %x weight(%weight) {normalized_shape = array<i64: 4>, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
    return %out#0 : tensor<8x4xf32>
  }
}

// -----

// A conversion that the model's author wrote stays, and what follows it
// promotes: a bf16 residual plus an f32 branch is f32.
// CHECK-LABEL: module @explicit_to_stays
//       CHECK:   -> tensor<8x4xf32> {
//       CHECK:   %[[INPUT:.*]] = fsdp.cast
//  CHECK-NEXT:   %[[F32:.*]] = aten.to %[[INPUT]] f32 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
//  CHECK-NEXT:   %[[SQUARE:.*]] = aten.mul %[[F32]], %[[F32]] : {{.*}} -> tensor<8x4xf32>
//  CHECK-NEXT:   aten.add %[[SQUARE]], %[[INPUT]] : (tensor<8x4xf32>, tensor<8x4xbf16>) -> tensor<8x4xf32>
module @explicit_to_stays {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %f32 = aten.to %x f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %square = aten.mul %f32, %f32 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %sum = aten.add %square, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %sum : tensor<8x4xf32>
  }
}

// -----

// A buffer keeps its dtype: what is assigned to it is converted.
// CHECK-LABEL: module @write_converts_to_the_buffer
//       CHECK:   %[[INPUT:.*]] = fsdp.cast
//       CHECK:   %[[LAST:.*]] = aten.to %[[INPUT]] f32 : (tensor<4xbf16>) -> tensor<4xf32>
//  CHECK-NEXT:   fsdp.write %[[LAST]], @last : tensor<4xf32>
module @write_converts_to_the_buffer {
  fsdp.buffer @last : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    fsdp.write %x, @last : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}

// -----

// A module that is a group casts its floating-point inputs to its own policy's
// dtype and its outputs to the policy's output, whatever surrounds it.
// CHECK-LABEL: module @module_with_its_own_policy
//       CHECK:   %[[X:.*]] = fsdp.cast %{{.*}} at input : tensor<8x4xf32> -> tensor<8x4xbf16>
//  CHECK-NEXT:   %[[WIDE:.*]] = fsdp.cast %[[X]] at input : tensor<8x4xbf16> -> tensor<8x4xf32>
//  CHECK-NEXT:   %[[FC:.*]] = fsdp.module "fc" : "Linear" group @fc ({{.*}} = %[[WIDE]] : tensor<8x4xf32>) -> tensor<8x4xf32> {
//  CHECK-NEXT:     fsdp.read @fc.weight : tensor<4x4xf32>
//       CHECK:   }
//  CHECK-NEXT:   %[[NARROW:.*]] = fsdp.cast %[[FC]] at output : tensor<8x4xf32> -> tensor<8x4xbf16>
//  CHECK-NEXT:   aten.relu %[[NARROW]] : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
module @module_with_its_own_policy {
  fsdp.parameter @fc.weight : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @fc on @mesh policy <param = f32, output = bf16, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %fc = fsdp.module "fc" : "Linear" group @fc (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.read @fc.weight : tensor<4x4xf32>
      %out = aten.linear %in, %weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %out : tensor<8x4xf32>
    }
    %relu = aten.relu %fc : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %relu : tensor<8x4xf32>
  }
}

// -----

// The model's outputs are cast to the root policy's output, and the function
// has their type.
// CHECK-LABEL: module @output_of_the_model
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf64> {
//  CHECK-NEXT:     %[[OUTPUT:.*]] = fsdp.cast %[[X]] at output : tensor<4xf32> -> tensor<4xf64>
//  CHECK-NEXT:     return %[[OUTPUT]] : tensor<4xf64>
module @output_of_the_model {
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <output = f64> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// A conversion to another tensor's dtype follows it: the norm's result is what
// its input is, and the mask what the parameter is, which nothing else reads.
// CHECK-LABEL: module @follows_other
//       CHECK:   %[[INPUT:.*]] = fsdp.cast
//  CHECK-NEXT:   %[[F32:.*]] = aten.to %[[INPUT]] f32
//  CHECK-NEXT:   aten.to %[[F32]] bf16 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
//  CHECK-NEXT:   aten.to %{{.*}} bf16 : (tensor<8x4xi1>) -> tensor<8x4xbf16>
module @follows_other {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @w
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}, %mask: tensor<8x4xi1> {shardc.name = "mask"}) -> tensor<8x4xf32> {
    %f32 = aten.to %x f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %back = aten.to.other %f32 as %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %w = fsdp.read @w : tensor<4xf32>
    %factor = aten.to.other %mask as %w : (tensor<8x4xi1>, tensor<4xf32>) -> tensor<8x4xf32>
    %out = aten.mul %back, %factor : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %out : tensor<8x4xf32>
  }
}

// -----

// A plain export has `.to(input_dtype)` as f32. It converts what is f32 already,
// and is the only reason why the linear's input would be f32, which PyTorch
// refuses beside a bf16 weight, so it follows; the one before it stays.
// CHECK-LABEL: module @must_follow
//       CHECK:   %[[INPUT:.*]] = fsdp.cast
//       CHECK:   fsdp.module "norm"
//       CHECK:     %[[F32:.*]] = aten.to %{{.*}} f32 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
//       CHECK:     %[[SQUARE:.*]] = aten.mul %[[F32]], %[[F32]] : {{.*}} -> tensor<8x4xf32>
//       CHECK:     %[[BACK:.*]] = aten.to %[[SQUARE]] bf16 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
//       CHECK:     aten.mul %{{.*}}, %[[BACK]] : {{.*}} -> tensor<8x4xbf16>
//       CHECK:   aten.linear {{.*}} -> tensor<8x2xbf16>
module @must_follow {
  fsdp.parameter @norm.weight : tensor<4xf32>
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @norm.weight
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %norm = fsdp.module "norm" : "RMSNorm" (%in = %x : tensor<8x4xf32>) -> tensor<8x4xf32> {
      %f32 = aten.to %in f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %square = aten.mul %f32, %f32 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %back = aten.to %square f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %weight = fsdp.read @norm.weight : tensor<4xf32>
      %scaled = aten.mul %weight, %back : (tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      fsdp.yield %scaled : tensor<8x4xf32>
    }
    %w = fsdp.read @fc.weight : tensor<2x4xf32>
    %out = aten.linear %norm, %w : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
    return %out : tensor<8x2xf32>
  }
}

// -----

// A buffer that the module's last call changed, and a tensor that its parent
// keeps in an attribute, are no arguments: they come to the group as they are.
// What it was called with is cast.
// CHECK-LABEL: module @captures_are_not_cast
//       CHECK:   %[[COUNT:.*]] = aten.add
//  CHECK-NEXT:   fsdp.write %[[COUNT]], @m.count : tensor<4xf32>
//       CHECK:   %[[INPUT:.*]] = fsdp.cast %{{.*}} at input
//       CHECK:   fsdp.module "m" : "M" group @m (%[[X:.*]] = %[[INPUT]] : tensor<4xbf16>, %[[N:.*]] = %[[COUNT]] : tensor<4xf32>)
//       CHECK:     %[[CAPTURE:.*]] = fsdp.capture %[[N]] of @m.count : tensor<4xf32>
//       CHECK:     aten.mul %[[X]], %[[CAPTURE]] : {{.*}} -> tensor<4xf32>
module @captures_are_not_cast {
  fsdp.buffer @m.count : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @m on @mesh policy <param = bf16, cast_inputs = true> reshard default {
  }
  fsdp.group @root on @mesh policy <> reshard default {
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    %old = fsdp.read @m.count : tensor<4xf32>
    %count = aten.add %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    fsdp.write %count, @m.count : tensor<4xf32>
    %m = fsdp.module "m" : "M" group @m (%in = %x : tensor<4xf32>, %n = %count : tensor<4xf32>) -> tensor<4xf32> {
      %capture = fsdp.capture %n of @m.count : tensor<4xf32>
      %product = aten.mul %in, %capture : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      fsdp.yield %product : tensor<4xf32>
    }
    return %m : tensor<4xf32>
  }
}

// -----

// A batch norm's weight that the model computes, as 1 + gamma, is converted.
// CHECK-LABEL: module @computed_batch_norm_weight
//       CHECK:   %[[SUM:.*]] = aten.add.Scalar %{{.*}} -> tensor<4xbf16>
//       CHECK:   %[[WIDE:.*]] = aten.to %[[SUM]] f32
//       CHECK:   aten.batch_norm {{.*}} weight(%[[WIDE]])
module @computed_batch_norm_weight {
  fsdp.parameter @gamma : tensor<4xf32>
  fsdp.buffer @mean : tensor<4xf32>
  fsdp.buffer @var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @gamma
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %gamma = fsdp.read @gamma : tensor<4xf32>
    %mean = fsdp.read @mean : tensor<4xf32>
    %var = fsdp.read @var : tensor<4xf32>
    %weight = aten.add.Scalar %gamma, 1.0 : f64 : (tensor<4xf32>) -> tensor<4xf32>
    %out:5 = aten.batch_norm %x running(%mean, %var) weight(%weight) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %out#0 : tensor<8x4xf32>
  }
}

// -----

// A frozen parameter that forward changes, as a momentum encoder's: changed in
// f32, and read by its own module in the policy's dtype.
// CHECK-LABEL: module @momentum_encoder
// CHECK: fsdp.write %{{.*}}, @t.weight : tensor<4x4xf32>
// CHECK: %[[WEIGHT:.*]] = fsdp.capture %{{.*}} of @t.weight : tensor<4x4xf32>
// CHECK: %[[NARROW:.*]] = aten.to %[[WEIGHT]] bf16
// CHECK: aten.linear %{{.*}}, %[[NARROW]]
module @momentum_encoder {
  fsdp.parameter @q : tensor<4x4xf32>
  fsdp.buffer parameter @t.weight : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @q
  }
  func.func @forward(%x: tensor<2x4xf32> {shardc.name = "x"}) -> tensor<2x4xf32> {
    %before = fsdp.read @t.weight : tensor<4x4xf32>
    %less = aten.mul.Scalar %before, 9.000000e-01 : f64 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = fsdp.read @q : tensor<4x4xf32>
    %after = aten.add %less, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    fsdp.write %after, @t.weight : tensor<4x4xf32>
    %t = fsdp.module "t" : "Linear" (%arg0 = %after : tensor<4x4xf32>, %arg1 = %x : tensor<2x4xf32>) -> tensor<2x4xf32> {
      %weight = fsdp.capture %arg0 of @t.weight : tensor<4x4xf32>
      %y = aten.linear %arg1, %weight : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      fsdp.yield %y : tensor<2x4xf32>
    }
    return %t : tensor<2x4xf32>
  }
}

// -----

// One that its own module changes is a statistic, and stays in f32.
// CHECK-LABEL: module @codebook
// CHECK: fsdp.module "t"
// CHECK: fsdp.read @t.weight : tensor<4xf32>
// CHECK-NOT: aten.to
// CHECK: fsdp.write
module @codebook {
  fsdp.parameter @q : tensor<4xf32>
  fsdp.buffer parameter @t.weight : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @q
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    %t = fsdp.module "t" : "Codebook" (%arg0 = %x : tensor<4xf32>) -> tensor<4xf32> {
      %weight = fsdp.read @t.weight : tensor<4xf32>
      %y = aten.add %weight, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      fsdp.write %y, @t.weight : tensor<4xf32>
      fsdp.yield %y : tensor<4xf32>
    }
    return %t : tensor<4xf32>
  }
}

// -----

// A parameter that forward changes is changed in f32, and the module computes
// with what it becomes in the policy's dtype.
// CHECK-LABEL: module @changed_parameter
//       CHECK:     %[[IN:.*]] = fsdp.cast %{{.*}} at input
//       CHECK:     %[[OLD:.*]] = fsdp.read @weight : tensor<4x4xf32>
//       CHECK:     %[[CLIPPED:.*]] = aten.clamp %[[OLD]] {{.*}} -> tensor<4x4xf32>
//  CHECK-NEXT:     fsdp.write %[[CLIPPED]], @weight : tensor<4x4xf32>
//  CHECK-NEXT:     %[[NARROW:.*]] = aten.to %[[CLIPPED]] bf16
//  CHECK-NEXT:     aten.linear %[[IN]], %[[NARROW]] : {{.*}} -> tensor<8x4xbf16>
module @changed_parameter {
  fsdp.parameter @weight : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @weight keep f32
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %weight = fsdp.read @weight : tensor<4x4xf32>
    %clipped = aten.clamp %weight {min = -1.0 : f32, max = 1.0 : f32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    fsdp.write %clipped, @weight : tensor<4x4xf32>
    %out = aten.linear %x, %clipped : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    return %out : tensor<8x4xf32>
  }
}

// -----

// A batch norm has f32 of a weight that its parent changes.
// CHECK-LABEL: module @changed_weight_of_a_batch_norm
//       CHECK:     fsdp.write %[[CLIPPED:.*]], @bn.weight : tensor<4xf32>
//       CHECK:     fsdp.module "bn" {{.*}} = %[[CLIPPED]] : tensor<4xf32>) -> tensor<8x4xbf16> {
//       CHECK:       %[[WEIGHT:.*]] = fsdp.capture %{{.*}} of @bn.weight : tensor<4xf32>
//       CHECK:       aten.batch_norm {{.*}} weight(%[[WEIGHT]])
module @changed_weight_of_a_batch_norm {
  fsdp.parameter @bn.weight : tensor<4xf32>
  fsdp.parameter @bn.bias : tensor<4xf32>
  fsdp.buffer @bn.running_mean : tensor<4xf32>
  fsdp.buffer @bn.running_var : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @bn.weight keep f32
    fsdp.member @bn.bias keep f32
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xf32> {
    %old = fsdp.read @bn.weight : tensor<4xf32>
    %clipped = aten.clamp %old {max = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.write %clipped, @bn.weight : tensor<4xf32>
    %0 = fsdp.module "bn" : "BatchNorm1d" (%in = %x : tensor<8x4xf32>, %w = %clipped : tensor<4xf32>) -> tensor<8x4xf32> {
      %weight = fsdp.capture %w of @bn.weight : tensor<4xf32>
      %bias = fsdp.read @bn.bias : tensor<4xf32>
      %mean = fsdp.read @bn.running_mean : tensor<4xf32>
      %var = fsdp.read @bn.running_var : tensor<4xf32>
      %out:5 = aten.batch_norm %in running(%mean, %var) weight(%weight) bias(%bias) {training = true, momentum = 1.0e-1 : f64, eps = 1.0e-5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      fsdp.yield %out#0 : tensor<8x4xf32>
    }
    return %0 : tensor<8x4xf32>
  }
}
