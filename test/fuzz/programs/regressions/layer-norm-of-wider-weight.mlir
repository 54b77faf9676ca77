// RUN: RandomPrograms --replay=%s
// The weight is a constant, which no policy casts.
// policy: --world-size 2 --param-dtype bf16 --lr 0.00 --seed 306
module @program {
  fsdp.parameter @weight : tensor<2x11x5xf64>
  func.func @forward(%arg0: tensor<2x11x5xf64> {shardc.name = "input0"}) -> tensor<f64> {
    %weight = fsdp.read @weight : tensor<2x11x5xf64>
    %0 = aten.add %arg0, %weight : (tensor<2x11x5xf64>, tensor<2x11x5xf64>) -> tensor<2x11x5xf64>
    %1 = aten.constant dense<-0.94206452894197956> : tensor<11x5xf64>
    %result, %mean, %rstd = aten.layer_norm %0 weight(%1) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 11, 5>} : (tensor<2x11x5xf64>, tensor<11x5xf64>) -> (tensor<2x11x5xf64>, tensor<2x1x1xf64>, tensor<2x1x1xf64>)
    %2 = aten.mean %result [0, 1, 2] : (tensor<2x11x5xf64>) -> tensor<f64>
    return %2 : tensor<f64>
  }
}
