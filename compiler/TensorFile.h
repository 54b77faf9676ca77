//===- TensorFile.h - Tensors of the interpreter in files -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// safetensors files as tensors of the reference interpreter and back.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TENSORFILE_H
#define SHARDC_COMPILER_TENSORFILE_H

#include "dialects/Reference/Tensor.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Safetensors.h"

namespace shardc {

class TensorFile {
public:
  /// Opens the file at `path`. Fails with E0403 or E0404.
  static StatusOr<TensorFile> open(const std::string &path,
                                   mlir::MLIRContext &context);

  bool contains(const std::string &name) const {
    return content.find(name) != nullptr;
  }
  /// The tensor called `name`, or else `other`, if that is not empty, in the
  /// file's dtype. Fails with E0405 when the file has neither or has a dtype
  /// that no program has.
  StatusOr<reference::Tensor> read(const std::string &name,
                                   const std::string &other = "") const;

  const std::string &getPath() const { return path; }

private:
  std::string path;
  mlir::MLIRContext *context = nullptr;
  std::shared_ptr<const format::MappedFile> file;
  format::SafetensorsContent content;
};

/// Writes tensors by name. Complex ones become two real numbers in a last
/// dimension, as torch.view_as_real has them: safetensors has no complex dtype.
Status writeTensorFile(
    const std::string &path,
    const std::vector<std::pair<std::string, reference::Tensor>> &tensors);

} // namespace shardc

#endif // SHARDC_COMPILER_TENSORFILE_H
