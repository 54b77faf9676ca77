// RUN: RandomPrograms --replay=%s
// The parts of a cat inside a fused kernel were written to the wrong place.
// policy: --world-size 2 --lr 0.10 --seed 87
module @program {
  fsdp.parameter @bias : tensor<2xf32>
  func.func @forward(%arg0: tensor<2xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %bias = fsdp.read @bias : tensor<2xf32>
    %0 = aten.mul %arg0, %bias : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = aten.constant dense<[0.864218115, -0.238956839, 0.637180805, -0.565047264, 9.381950e-01, -0.4328309, 0.0933742672, 0.354981661, 0.303016096, -0.777285933, -0.457732916, -0.174745694, -0.274878114]> : tensor<13xf32>
    %2 = aten.constant dense<0.000000e+00> : tensor<11xf32>
    %3 = aten.cat %2, %0 dim 0 : (tensor<11xf32>, tensor<2xf32>) -> tensor<13xf32>
    %4 = aten.add %1, %3 : (tensor<13xf32>, tensor<13xf32>) -> tensor<13xf32>
    %5 = aten.constant dense<0.000000e+00> : tensor<f32>
    %6 = aten.mean %4 [0] : (tensor<13xf32>) -> tensor<f32>
    %7 = aten.add %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %7 : tensor<f32>
  }
}
