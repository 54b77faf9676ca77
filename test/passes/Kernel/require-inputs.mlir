// RUN: shardc-opt %s --split-input-file --shardc-require-inputs | FileCheck %s

// Four samples of each input, whatever a sample is.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.buffer @count : tensor<i64>
  func.func @step(%x: tensor<4x3xf32>, %mask: tensor<4xi1>, %y: tensor<4x2x2xbf16>) {
    return
  }
}

// -----

// Inputs of other first dimensions: a sample is a whole micro-batch.
// CHECK-LABEL: module @graph_with_a_number
module @graph_with_a_number {
  func.func @step(%nodes: tensor<4x8xf32> {shardc.name = "nodes"}, %edges: tensor<2x9xi64> {shardc.name = "edges"}, %temperature: tensor<f32> {shardc.name = "temperature"}) {
    return
  }
}
