// RUN: shardc-opt %s --shardc-apply-precision --remarks-filter='shardc-apply-precision' -o /dev/null 2>&1 | FileCheck %s

// What an export's conversion to f32 was taken for, each in its module.
// CHECK: remark: {{.*}}follows{{.*}}assuming that a conversion to f32 is x.to(y.dtype), not x.float(), in module 'fc'
// CHECK: remark: {{.*}}stays-f32{{.*}}assuming that a conversion to f32 is x.float() in module 'loss'
module @assumptions {
  fsdp.parameter @fc.weight : tensor<2x4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, cast_inputs = true> reshard default {
    fsdp.member @fc.weight
  }
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x2xf32> {
    %f32 = aten.to %x f32 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %to = aten.to %f32 f32 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("fc")
    %weight = fsdp.read @fc.weight : tensor<2x4xf32>
    %out = aten.linear %to, %weight : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
    %wide = aten.to %out f32 : (tensor<8x2xf32>) -> tensor<8x2xf32> loc("loss")
    return %wide : tensor<8x2xf32>
  }
}
