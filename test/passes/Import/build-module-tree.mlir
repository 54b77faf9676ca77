// RUN: shardc-opt %s --split-input-file --shardc-build-module-tree | FileCheck %s

// A module holds what it calls; what flows in and out crosses its boundary by
// name. Reads go where the parameter is used.
// CHECK-LABEL: @nested_modules
//  CHECK-SAME:   (%[[X:.*]]: tensor<8x16xf32>)
//       CHECK:   %[[BLOCK:.*]] = fsdp.module "h.0" : "Block" (%[[A:.*]] = %[[X]] : tensor<8x16xf32>) -> tensor<8x4xf32> {
//  CHECK-NEXT:     %[[FC:.*]] = fsdp.module "h.0.fc" : "Linear" (%[[B:.*]] = %[[A]] : tensor<8x16xf32>) -> tensor<8x4xf32> {
//  CHECK-NEXT:       %[[WEIGHT:.*]] = fsdp.read @h.0.fc.weight
//  CHECK-NEXT:       %[[LINEAR:.*]] = aten.linear %[[B]], %[[WEIGHT]] :
//  CHECK-NEXT:       fsdp.yield %[[LINEAR]]
//       CHECK:     %[[RELU:.*]] = aten.relu %[[FC]] :
//  CHECK-NEXT:     fsdp.yield %[[RELU]]
//       CHECK:   return %[[BLOCK]]
fsdp.parameter @h.0.fc.weight : tensor<4x16xf32>
#block = {path = "h.0", type = "Block"}
#fc = {path = "h.0.fc", type = "Linear"}
func.func @nested_modules(%x: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %weight = fsdp.read @h.0.fc.weight {shardc.modules = [#block, #fc]} : tensor<4x16xf32>
  %fc = aten.linear %x, %weight {shardc.modules = [#block, #fc]} : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  %relu = aten.relu %fc {shardc.modules = [#block]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %relu : tensor<8x4xf32>
}

// -----

// Further calls of a module are modules of their own and carry their number.
// CHECK-LABEL: @module_called_twice
//       CHECK:   %[[FIRST:.*]] = fsdp.module "relu" : "ReLU" (
//       CHECK:   fsdp.module "relu" : "ReLU" call 1 ({{.*}} = %[[FIRST]] :
#first = {path = "relu", type = "ReLU"}
#second = {path = "relu", type = "ReLU", call = 1 : i64}
func.func @module_called_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x {shardc.modules = [#first]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.relu %0 {shardc.modules = [#second]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Several values may leave a module: here a skip connection of its inside.
// CHECK-LABEL: @value_used_inside_and_outside
//       CHECK:   %[[SKIP_OUT:.*]], %[[GELU_OUT:.*]] = fsdp.module "down" : "Down" (
//       CHECK:     %[[SKIP:.*]] = aten.relu
//       CHECK:     %[[GELU:.*]] = aten.gelu %[[SKIP]]
//       CHECK:     fsdp.yield %[[SKIP]], %[[GELU]]
//       CHECK:   aten.add %[[SKIP_OUT]], %[[GELU_OUT]]
#down = {path = "down", type = "Down"}
func.func @value_used_inside_and_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x {shardc.modules = [#down]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.gelu %0 {shardc.modules = [#down]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A value that a module is called with and captures as well is an input twice,
// and one that is returned and captured elsewhere a result twice: a boundary
// casts only what is passed.
// CHECK-LABEL: @captured_and_passed
//       CHECK:   %[[RETURNED:.*]], %[[KEPT:.*]] = fsdp.module "m" : "M" ({{.*}}) -> (tensor<4xf32>, tensor<4xf32>) {
//       CHECK:     fsdp.yield %[[N:.*]], %[[N]] :
//       CHECK:   fsdp.module "m" : "M" call 1 (%[[STATE:.*]] = %[[KEPT]] : tensor<4xf32>, %[[X:.*]] = %[[RETURNED]] : tensor<4xf32>)
//       CHECK:     %[[CAPTURE:.*]] = fsdp.capture %[[STATE]] of @m.n
//       CHECK:     aten.mul %[[X]], %[[CAPTURE]]
fsdp.buffer @m.n : tensor<4xf32>
#first_call = {path = "m", type = "M"}
#second_call = {path = "m", type = "M", call = 1 : i64}
func.func @captured_and_passed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = aten.relu %x {shardc.modules = [#first_call]} : (tensor<4xf32>) -> tensor<4xf32>
  fsdp.write %n, @m.n {shardc.modules = [#first_call]} : tensor<4xf32>
  %capture = fsdp.capture %n of @m.n {shardc.modules = [#second_call]} : tensor<4xf32>
  %y = aten.mul %n, %capture {shardc.modules = [#second_call]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A value that a module uses twice is one input; a value that only passes
// through an outer module to an inner one is an input of both.
// CHECK-LABEL: @inputs_are_distinct
//  CHECK-SAME:   (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
//       CHECK:   fsdp.module "a" : "A" (%[[XA:.*]] = %[[X]] : tensor<4xf32>, %[[YA:.*]] = %[[Y]] : tensor<4xf32>)
//       CHECK:     aten.mul %[[XA]], %[[XA]]
//       CHECK:     fsdp.module "a.b" : "B" ({{.*}}, %[[YB:.*]] = %[[YA]] : tensor<4xf32>)
//       CHECK:       aten.add {{.*}}, %[[YB]]
#a = {path = "a", type = "A"}
#b = {path = "a.b", type = "B"}
func.func @inputs_are_distinct(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul %x, %x {shardc.modules = [#a]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.add %0, %y {shardc.modules = [#a, #b]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A write stays behind the read that it replaces and leaves no result.
// CHECK-LABEL: @writes_keep_their_order
//       CHECK:   fsdp.module "bn" : "BatchNorm2d" () {{.*}}
//  CHECK-NEXT:     %[[OLD:.*]] = fsdp.read @bn.count
//  CHECK-NEXT:     %[[NEW:.*]] = aten.add.Scalar %[[OLD]], 1
//  CHECK-NEXT:     fsdp.write %[[NEW]], @bn.count
//  CHECK-NEXT:     fsdp.yield
fsdp.buffer @bn.count : tensor<i64>
#bn = {path = "bn", type = "BatchNorm2d"}
func.func @writes_keep_their_order() {
  %0 = fsdp.read @bn.count {shardc.modules = [#bn]} : tensor<i64>
  %1 = aten.add.Scalar %0, 1 : i64 {shardc.modules = [#bn]} : (tensor<i64>) -> tensor<i64>
  fsdp.write %1, @bn.count {shardc.modules = [#bn]} : tensor<i64>
  return
}

// -----

// A module that is called from another one than its owner is nested by the
// call, not by its name.
// CHECK-LABEL: @nested_by_call_not_by_name
//       CHECK:   fsdp.module "decoder" : "Decoder"
//       CHECK:     fsdp.module "encoder.embed" : "Embedding"
#decoder = {path = "decoder", type = "Decoder"}
#embed = {path = "encoder.embed", type = "Embedding"}
func.func @nested_by_call_not_by_name(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x {shardc.modules = [#decoder, #embed]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.relu %0 {shardc.modules = [#decoder]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
