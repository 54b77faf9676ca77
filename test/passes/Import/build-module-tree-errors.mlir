// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-build-module-tree

// A frame needs a path: the root is not a frame.
func.func @frame_without_path(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected frames with a path and a type in 'shardc.modules', got {type = "ReLU"}}}
  %0 = aten.relu %x {shardc.modules = [{type = "ReLU"}]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @frame_is_no_dictionary(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected frames with a path and a type in 'shardc.modules', got "relu"}}
  %0 = aten.relu %x {shardc.modules = ["relu"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
