// RUN: RandomPrograms --replay=%s
// A bf16 policy keeps a BatchNorm's weight f32, which met an input that the
// model itself converts to f64.
// policy: --param-dtype bf16 --reduce-dtype f32
module @program {
  fsdp.parameter @norm.weight : tensor<5xf64>
  fsdp.parameter @norm.bias : tensor<5xf64>
  fsdp.buffer @norm.running_mean : tensor<5xf64>
  fsdp.buffer @norm.running_var : tensor<5xf64>
  fsdp.buffer @norm.num_batches_tracked : tensor<i64>
  func.func @forward(%arg0: tensor<4x5xi64> {shardc.name = "input0"}) -> tensor<f64> {
    %x = aten.to %arg0 f64 : (tensor<4x5xi64>) -> tensor<4x5xf64>
    %weight = fsdp.read @norm.weight {shardc.modules = [{path = "norm", type = "BatchNorm1d"}]} : tensor<5xf64>
    %bias = fsdp.read @norm.bias {shardc.modules = [{path = "norm", type = "BatchNorm1d"}]} : tensor<5xf64>
    %running_mean = fsdp.read @norm.running_mean {shardc.modules = [{path = "norm", type = "BatchNorm1d"}]} : tensor<5xf64>
    %running_var = fsdp.read @norm.running_var {shardc.modules = [{path = "norm", type = "BatchNorm1d"}]} : tensor<5xf64>
    %result, %new_running_mean, %new_running_var, %save_mean, %save_invstd = aten.batch_norm %x running(%running_mean, %running_var) weight(%weight) bias(%bias) {eps = 1.000000e-05 : f64, momentum = 3.000000e-01 : f64, training = true, shardc.modules = [{path = "norm", type = "BatchNorm1d"}]} : (tensor<4x5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> (tensor<4x5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>)
    fsdp.write %new_running_mean, @norm.running_mean : tensor<5xf64>
    fsdp.write %new_running_var, @norm.running_var : tensor<5xf64>
    %0 = aten.mul %result, %x : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<4x5xf64>
    %1 = aten.mean %0 [0, 1] : (tensor<4x5xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}
