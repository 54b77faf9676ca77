//===- ExportBuilder.h - Small exports for tests --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes down exported programs as PyTorch would make them, and translates
// them:
//
//   ExportBuilder model;
//   model.input("x", {4, 8}).parameter("fc.weight", {2, 8});
//   model.node("aten.linear.default",
//              {{"input", tensor("x")}, {"weight", tensor("p_fc_weight")}},
//              {{"linear", {4, 2}}}, "fc");
//   EXPECT_THAT(model.translate(), HasSubstr("aten.linear"));
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_COMPILER_TRANSLATION_EXPORTBUILDER_H
#define SHARDC_TEST_UNIT_COMPILER_TRANSLATION_EXPORTBUILDER_H

#include "compiler/Pt2/ArchiveReader.h"

#include <string>
#include <vector>

namespace shardc::translation {

using Sizes = std::vector<int64_t>;
inline constexpr auto f32 = pt2::ScalarType::Float32;
inline constexpr auto i64 = pt2::ScalarType::Int64;

/// A result of a node.
struct Result {
  std::string name;
  Sizes sizes;
  pt2::ScalarType dtype = f32;
};

/// A value of any kind for an argument.
template <typename T>
pt2::Argument argument(T value) {
  return pt2::Argument{std::move(value)};
}
inline pt2::Argument tensor(std::string name) {
  return argument(pt2::TensorRef{std::move(name)});
}
inline pt2::Argument integers(pt2::IntList values) {
  return argument(std::move(values));
}
inline pt2::Argument integer(int64_t value) { return argument(value); }
inline pt2::Argument none() { return argument(pt2::None()); }

/// What a translation ended with.
struct Outcome {
  bool succeeded = false;
  /// The module as text, empty after failure.
  std::string module;
  /// One line a diagnostic: "error: …", "note: …", "warning: …".
  std::string diagnostics;
};

/// Translates `model` in a context of its own, and runs the import phase on
/// the result when `import` is set.
Outcome translate(const pt2::ExportedModel &model, bool import = false);

class ExportBuilder {
public:
  /// A user input.
  ExportBuilder &input(const std::string &name, const Sizes &sizes,
                       pt2::ScalarType dtype = f32);
  /// State with the placeholder name that PyTorch gives it: p_fc_weight for
  /// parameter fc.weight, b_count for buffer count.
  ExportBuilder &parameter(const std::string &name, const Sizes &sizes,
                           pt2::ScalarType dtype = f32);
  ExportBuilder &buffer(const std::string &name, const Sizes &sizes,
                        pt2::ScalarType dtype = f32);
  ExportBuilder &constant(const std::string &name, const Sizes &sizes,
                          pt2::ScalarType dtype = f32);
  /// A node of "torch.ops." + `target` in the module `path`. Several results
  /// are a tuple, unless `isList` is set.
  ExportBuilder &
  node(const std::string &target,
       const std::vector<std::pair<std::string, pt2::Argument>> &inputs,
       const std::vector<Result> &results, const std::string &path = "",
       bool isList = false);
  /// A user output.
  ExportBuilder &output(const std::string &name);
  /// Appends a sum of tensor `name` over everything and returns it.
  ExportBuilder &sumOutput(const std::string &name);

  /// The model, for tests that change it further.
  pt2::ExportedModel &get() { return model; }

  std::string translate() const;
  std::string diagnostics() const;

private:
  pt2::ExportedModel model;

  void addTensor(const Result &result, bool requiresGrad = false);
  void addPlaceholder(pt2::InputKind kind, const std::string &placeholder,
                      const std::string &target, const Sizes &sizes,
                      pt2::ScalarType dtype);
};

} // namespace shardc::translation

#endif // SHARDC_TEST_UNIT_COMPILER_TRANSLATION_EXPORTBUILDER_H
