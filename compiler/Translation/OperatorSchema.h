//===- OperatorSchema.h - Operator signatures as PyTorch writes them ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The signatures of native_functions.yaml in PyTorch, parsed:
//
//   add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
//
// A call in an export names its arguments and leaves out defaults, and which
// defaults it leaves out differs between versions of PyTorch. The signature
// supplies them. Its alias annotations say which results are views of an
// argument, `(a)`, and which arguments an operator changes in place, `(a!)`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_OPERATORSCHEMA_H
#define SHARDC_COMPILER_TRANSLATION_OPERATORSCHEMA_H

#include "compiler/Pt2/ExportedProgram.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::translation {

/// What a parameter accepts. `TensorOrScalar` is not PyTorch's: an export of
/// `x + 1` calls add.Tensor with a number. `Any` is for what translation never
/// looks at: devices, layouts, memory formats.
enum class ParameterKind {
  Tensor,
  TensorOrScalar,
  Integer,
  Float,
  Boolean,
  Scalar,
  String,
  Dtype,
  Any,
};

/// One parameter of an operator.
struct SchemaParameter {
  std::string name;
  ParameterKind kind = ParameterKind::Any;
  /// `Tensor?`: None is a value.
  bool isOptional = false;
  /// `Tensor[]`, `int[2]`.
  bool isList = false;
  /// 2 of `int[2]`: a single integer stands for that many equal ones.
  int64_t listLength = 0;
  /// The letter of `Tensor(a)`, or 0.
  char aliasSet = 0;
  /// `Tensor(a!)`: the operator changes the tensor in place.
  bool isMutated = false;
  /// The value of a call that does not give one; nothing when it must.
  std::optional<pt2::Argument> defaultValue;
};

/// One result of an operator.
struct SchemaResult {
  bool isList = false;
  char aliasSet = 0;
  bool isMutated = false;
};

struct OperatorSchema {
  /// "add_.Tensor", "relu"; with a namespace where it is not PyTorch's own:
  /// "transformers::grouped_mm_fallback".
  std::string name;
  std::vector<SchemaParameter> parameters;
  std::vector<SchemaResult> results;

  /// The operator's name in an export: "torch.ops.aten.relu.default".
  std::string target() const;
  const SchemaParameter *find(llvm::StringRef parameter) const;

  /// Whether PyTorch returns an argument itself, the same tensor object, where
  /// the operator has nothing to do. Others return a new view even then.
  bool returnsItself() const;
};

/// Parses a signature. Asserts that it is well formed: signatures are part of
/// this program, not of its input.
OperatorSchema parseSchema(llvm::StringRef text);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_OPERATORSCHEMA_H
