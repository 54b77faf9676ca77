//===- MaskIdentity.cpp - Masks that are the same -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Value numbering of the operators that RowRules knows as functions.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/MaskIdentity.h"

#include "compiler/Pt2/RowRules.h"
#include "compiler/Pt2/Selections.h"

#include <algorithm>

namespace shardc::pt2 {

bool MaskIdentity::isMask(const std::string &tensor) const {
  const TensorMeta *meta = graph.findTensor(tensor);
  return meta &&
         (meta->dtype == ScalarType::Bool || meta->dtype == ScalarType::UInt8 ||
          meta->dtype == ScalarType::Int8);
}

std::string MaskIdentity::of(const std::string &tensor) const {
  auto found = known.find(tensor);
  if (found != known.end())
    return found->second;
  return tensor + "@" + std::to_string(graphNumber) + "." +
         std::to_string(isMask(tensor) ? maskWrites : otherWrites);
}

void MaskIdentity::set(const std::string &tensor, const std::string &identity) {
  known.insert_or_assign(tensor, identity);
}

void MaskIdentity::forget() {
  known.clear();
  ++maskWrites;
  ++otherWrites;
}

namespace {

/// An argument that is no tensor; empty for one that is not told apart.
struct LiteralText {
  std::optional<std::string> operator()(int64_t value) const {
    return std::to_string(value);
  }
  std::optional<std::string> operator()(double value) const {
    std::string bits(sizeof(value), '\0');
    std::copy_n(reinterpret_cast<const char *>(&value), sizeof(value),
                bits.begin());
    return bits;
  }
  std::optional<std::string> operator()(bool value) const {
    return value ? "true" : "false";
  }
  std::optional<std::string> operator()(const IntList &list) const {
    std::string text = "[";
    for (int64_t value : list)
      text += std::to_string(value) + ",";
    return text + "]";
  }
  std::optional<std::string> operator()(const None &) const { return "none"; }
  std::optional<std::string> operator()(ScalarType dtype) const {
    return std::string(spelling(dtype));
  }
  template <typename T>
  std::optional<std::string> operator()(const T &) const {
    return std::nullopt;
  }
};

} // namespace

/// What a node computes, by the identities of its tensors.
std::optional<std::string> MaskIdentity::expression(const Node &node) const {
  std::string text = node.target + "(";
  for (const NamedArgument &input : node.inputs) {
    text += input.name + "=";
    std::vector<std::string> tensors = tensorNames(input.argument);
    for (const std::string &tensor : tensors)
      text += of(tensor) + ",";
    if (!tensors.empty())
      continue;
    std::optional<std::string> literal =
        std::visit(LiteralText(), input.argument.value);
    if (!literal)
      return std::nullopt;
    text += *literal + ";";
  }
  return text + ")";
}

void MaskIdentity::record(const Node &node) {
  if (changesArgument(node)) {
    std::vector<std::string> tensors = inputTensors(node);
    if (!tensors.empty() && isMask(tensors.front())) {
      std::erase_if(known,
                    [&](const auto &entry) { return isMask(entry.first); });
      ++maskWrites;
    } else {
      std::erase_if(known,
                    [&](const auto &entry) { return !isMask(entry.first); });
      ++otherWrites;
    }
    return;
  }
  std::vector<std::string> results = outputTensors(node);
  if (results.size() != 1 || !isFunction(node))
    return;
  const TensorRef *self = tensorInput(node, "self");
  if (keepsOrder(node) && self && isMask(self->name) && isMask(results.front()))
    return set(results.front(), of(self->name));
  if (std::optional<std::string> text = expression(node)) {
    int64_t next = static_cast<int64_t>(numbers.size());
    set(results.front(),
        "#" + std::to_string(numbers.try_emplace(*text, next).first->second));
  }
}

} // namespace shardc::pt2
