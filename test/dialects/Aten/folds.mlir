// RUN: shardc-opt %s --canonicalize | FileCheck %s

// Equal constants become one, in front of their uses.
// CHECK-LABEL: @equal_constants
//  CHECK-NEXT:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<2xf32>
//  CHECK-NEXT:   aten.add %[[ONE]], %[[ONE]]
func.func @equal_constants() -> tensor<2xf32> {
  %0 = aten.constant dense<1.0> : tensor<2xf32>
  %1 = aten.constant dense<1.0> : tensor<2xf32>
  %2 = aten.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// Operators have no effects: what nothing uses goes away.
// CHECK-LABEL: @unused_operators
//  CHECK-NEXT:   return
func.func @unused_operators(%x: tensor<2xf32>) {
  %0 = aten.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}
