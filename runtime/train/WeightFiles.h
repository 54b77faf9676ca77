//===- WeightFiles.h - Full tensors in safetensors files ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Opens what `--weights` names: one safetensors file, the index of several, or
// a folder with either, as Hugging Face's save_pretrained writes them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_WEIGHTFILES_H
#define SHARDC_RUNTIME_TRAIN_WEIGHTFILES_H

#include "runtime/format/MappedFile.h"
#include "runtime/format/Safetensors.h"

namespace shardc::runtime {

/// Full tensors, what their file says besides, and what they lie in.
struct Weights {
  std::vector<format::NamedTensor> tensors;
  format::Metadata metadata;
  std::vector<std::shared_ptr<const format::MappedFile>> files;
  /// Where they were read, the folder or index itself included; empty for an
  /// artifact's own.
  std::vector<std::string> paths;
};

/// The tensors at `path`. Fails with E0403 or E0404.
StatusOr<Weights> openWeights(const std::string &path);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_WEIGHTFILES_H
