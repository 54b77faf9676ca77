// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-saturate-extremes

// masked_fill with a number that the dtype does not have, as PyTorch refuses it.
module @fill_beyond_f16 {
  func.func @forward(%mask: tensor<4xi1>, %x: tensor<4xf16>) -> tensor<4xf16> {
    %number = aten.constant dense<-1.0e+09> : tensor<f32>
    // expected-error@+2 {{E0227: masked_fill with -1.000000e+09 overflows 'f16' under the policy}}
    // expected-note@+1 {{fill with torch.finfo(x.dtype).min}}
    %0 = aten.where %mask, %number, %x {shardc.fills} : (tensor<4xi1>, tensor<f32>, tensor<4xf16>) -> tensor<4xf16>
    return %0 : tensor<4xf16>
  }
}
