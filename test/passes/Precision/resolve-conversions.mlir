// RUN: shardc-opt %s --split-input-file --shardc-resolve-conversions | FileCheck %s

// Dtypes are settled: a conversion to another tensor's is one to a known dtype,
// and the parameter that was read for its dtype alone is not read.
// CHECK-LABEL: module @becomes_to
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<8x4xf32>
//  CHECK-NEXT:     %[[TO:.*]] = aten.to %[[X]] bf16 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
//  CHECK-NEXT:     return %[[TO]]
module @becomes_to {
  fsdp.parameter @w : tensor<4xf32>
  func.func @forward(%x: tensor<8x4xf32> {shardc.name = "x"}) -> tensor<8x4xbf16> {
    %w = fsdp.read @w : tensor<4xbf16>
    %to = aten.to.other %x as %w : (tensor<8x4xf32>, tensor<4xbf16>) -> tensor<8x4xbf16>
    return %to : tensor<8x4xbf16>
  }
}

// -----

// Where the dtypes agree there is nothing to do, and a module has no input that
// only told a dtype.
// CHECK-LABEL: module @becomes_nothing
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<4xf32>
//  CHECK-NEXT:     fsdp.module "m" : "M" (%[[IN:.*]] = %[[X]] : tensor<4xf32>) -> tensor<4xf32> {
//  CHECK-NEXT:       fsdp.yield %[[IN]] : tensor<4xf32>
module @becomes_nothing {
  fsdp.parameter @w : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    %w = fsdp.read @w : tensor<4xf32>
    %m = fsdp.module "m" : "M" (%in = %x : tensor<4xf32>, %like = %w : tensor<4xf32>) -> tensor<4xf32> {
      %to = aten.to.other %in as %like : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      fsdp.yield %to : tensor<4xf32>
    }
    return %m : tensor<4xf32>
  }
}

// -----

// One follows another that follows.
// CHECK-LABEL: module @chain
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<4xf32> {{.*}}, %[[Y:.*]]: tensor<4xbf16>
//  CHECK-NEXT:     %[[TO:.*]] = aten.to %[[X]] bf16
//  CHECK-NEXT:     return %[[TO]]
module @chain {
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}, %y: tensor<4xbf16> {shardc.name = "y"}) -> tensor<4xbf16> {
    %first = aten.to.other %x as %y : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xbf16>
    %second = aten.to.other %x as %first : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xbf16>
    return %second : tensor<4xbf16>
  }
}

// -----

// What only told a dtype is erased once, also where two of its operands are one
// made of the other.
// CHECK-LABEL: module @told_by_a_diamond
//       CHECK:   func.func @forward(%[[X:.*]]: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xbf16>
//  CHECK-NEXT:     %[[TO:.*]] = aten.to %[[X]] bf16
//  CHECK-NEXT:     return %[[TO]]
module @told_by_a_diamond {
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}, %y: tensor<4xbf16> {shardc.name = "y"}) -> tensor<4xbf16> {
    %exp = aten.exp %y : (tensor<4xbf16>) -> tensor<4xbf16>
    %detached = aten.detach %exp : (tensor<4xbf16>) -> tensor<4xbf16>
    %sum = aten.add %exp, %detached : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %product = aten.mul %exp, %sum : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    %to = aten.to.other %x as %product : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xbf16>
    return %to : tensor<4xbf16>
  }
}
