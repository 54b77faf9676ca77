// RUN: shardc-opt %s --split-input-file --shardc-inline-modules --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Each operation is located in the innermost module that it came from.
// CHECK-LABEL: @nested_modules
//  CHECK-SAME:   (%[[X:.*]]: tensor<4xf32>
//   CHECK-NOT:   fsdp.module
//       CHECK:   %[[RELU:.*]] = aten.relu %[[X]] : {{.*}} loc("block.act"(
//  CHECK-NEXT:   %[[GELU:.*]] = aten.gelu %[[RELU]] : {{.*}} loc("block"(
//  CHECK-NEXT:   return %[[GELU]]
func.func @nested_modules(%input: tensor<4xf32>) -> tensor<4xf32> {
  %block = fsdp.module "block" : "Block" (%x = %input : tensor<4xf32>) -> tensor<4xf32> {
    %act = fsdp.module "block.act" : "ReLU" (%y = %x : tensor<4xf32>) -> tensor<4xf32> {
      %0 = aten.relu %y : (tensor<4xf32>) -> tensor<4xf32>
      fsdp.yield %0 : tensor<4xf32>
    }
    %1 = aten.gelu %act : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.yield %1 : tensor<4xf32>
  }
  return %block : tensor<4xf32>
}

// -----

// A module path that import has written down already stays.
// CHECK-LABEL: @known_paths_stay
//       CHECK:   aten.relu {{.*}} loc("block.mlp.act"("model.py":12:3))
func.func @known_paths_stay(%input: tensor<4xf32>) -> tensor<4xf32> {
  %block = fsdp.module "block" : "Block" (%x = %input : tensor<4xf32>) -> tensor<4xf32> {
    %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("block.mlp.act"("model.py":12:3))
    fsdp.yield %0 : tensor<4xf32>
  }
  return %block : tensor<4xf32>
}

// -----

// A module that returns its input computes nothing.
// CHECK-LABEL: @identity_module
//  CHECK-SAME:   (%[[X:.*]]: tensor<4xf32>
//  CHECK-NEXT:   return %[[X]]
func.func @identity_module(%input: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fsdp.module "drop" : "Identity" (%x = %input : tensor<4xf32>) -> tensor<4xf32> {
    fsdp.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Reads and writes of buffers keep their order across modules.
// CHECK-LABEL: @buffer_order
//       CHECK:   %[[OLD:.*]] = fsdp.read @count
//  CHECK-NEXT:   %[[NEW:.*]] = aten.add.Scalar %[[OLD]], 1
//  CHECK-NEXT:   fsdp.write %[[NEW]], @count
//  CHECK-NEXT:   %[[AGAIN:.*]] = fsdp.read @count
//  CHECK-NEXT:   return %[[AGAIN]]
fsdp.buffer @count : tensor<i64>
func.func @buffer_order() -> tensor<i64> {
  fsdp.module "bn" : "BatchNorm2d" () -> () {
    %0 = fsdp.read @count : tensor<i64>
    %1 = aten.add.Scalar %0, 1 : i64 : (tensor<i64>) -> tensor<i64>
    fsdp.write %1, @count : tensor<i64>
  }
  %2 = fsdp.read @count : tensor<i64>
  return %2 : tensor<i64>
}
