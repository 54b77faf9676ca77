// RUN: shardc-opt %s --shardc-require-inputs | FileCheck %s

// Four samples of each input, whatever a sample is.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.buffer @count : tensor<i64>
  func.func @step(%x: tensor<4x3xf32>, %mask: tensor<4xi1>, %y: tensor<4x2x2xbf16>) {
    return
  }
}
