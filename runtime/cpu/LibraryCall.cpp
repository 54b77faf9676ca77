//===- LibraryCall.cpp - A library call ready to run ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the function that prepares a call and keeps exceptions of the
// libraries behind it inside.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/LibraryCall.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/format/LibraryCalls.h"

#include <map>
#include <stdexcept>

namespace shardc::runtime {

static bool hasEmptyTensor(const LibraryCallArguments &arguments) {
  for (const auto *list : {&arguments.operands, &arguments.results})
    for (const TensorView &tensor : *list)
      if (tensor.elements() == 0)
        return true;
  return false;
}

LibraryCallOr prepareLibraryCall(const format::Command &command,
                                 std::vector<TensorView> tensors) {
  using Prepare = LibraryCallOr (*)(LibraryCallArguments);
  static const std::map<std::string_view, Prepare> table = {
      {"matmul", prepareMatmul},
      {"convolution", prepareConvolution},
      {"convolution_backward_input", prepareConvolutionBackwardInput},
      {"convolution_backward_weight", prepareConvolutionBackwardWeight},
      {"scaled_dot_product_attention", prepareAttention},
      {"scaled_dot_product_attention_backward", prepareAttentionBackward},
      {"scaled_dot_product_attention_backward_mask", prepareAttentionBackward},
      {"embedding_dense_backward", prepareEmbeddingBackward},
      {"grouped_mm", prepareGroupedMm},
      {"grouped_mm_backward_mat2", prepareGroupedMmBackwardMat2},
      {"max_pool2d", prepareMaxPool},
      {"max_pool2d_backward", prepareMaxPoolBackward},
      {"sort", prepareSort},
      {"sum_of_squares", prepareSumOfSquares},
  };
  const std::string &call = command.callee;
  auto found = table.find(call);
  const MatrixFunction function = findMatrixFunction(call);
  const format::LibraryCallKind *kind = format::findLibraryCall(call);
  if ((found == table.end() && !function) || !kind)
    return Status(ErrorCode::E0504, "unknown library call '" + call + "'");
  const auto firstResult =
      tensors.end() - static_cast<std::ptrdiff_t>(kind->results);
  LibraryCallArguments arguments = {command.attributes,
                                    {tensors.begin(), firstResult},
                                    {firstResult, tensors.end()}};
  if (!kind->mayBeEmpty && hasEmptyTensor(arguments))
    return Status(ErrorCode::E0504,
                  "library call '" + call + "' has an empty tensor");
  try {
    return function ? prepareMatrixFactors(std::move(arguments), function)
                    : found->second(std::move(arguments));
  } catch (const std::exception &error) {
    return Status(ErrorCode::E0504,
                  "library call '" + call +
                      "' cannot be prepared: " + error.what());
  }
}

} // namespace shardc::runtime
