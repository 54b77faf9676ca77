//===- NodeWriter.cpp - Writes nodes of a static program ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// New names are those of the node in whose place they are, and a number.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/NodeWriter.h"

#include "compiler/Pt2/ReadFailure.h"

namespace shardc::pt2 {

void setInput(Node &node, std::string_view name, ArgumentValue value) {
  for (NamedArgument &input : node.inputs)
    if (input.name == name) {
      input.argument.value = std::move(value);
      return;
    }
  node.inputs.push_back({std::string(name), Argument{std::move(value)}, {}});
}

NamedArgument tensorArgument(std::string name, std::string tensor) {
  return argument(std::move(name), TensorRef{std::move(tensor)});
}

TensorMeta NodeWriter::typeLike(const TensorMeta &like, ScalarType dtype,
                                const std::vector<int64_t> &sizes) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.device = like.device;
  meta.storageOffset = SymInt{0, {}, {}};
  meta.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    meta.strides[i] = SymInt{stride, {}, {}};
    stride *= sizes[i];
  }
  for (int64_t size : sizes)
    meta.sizes.push_back(SymInt{size, {}, {}});
  return meta;
}

const TensorMeta &NodeWriter::typeOf(const std::string &name) const {
  const TensorMeta *meta = graph.findTensor(name);
  if (!meta)
    fail(errors::inconsistentProgram,
         "tensor '" + name + "' has no type in the graph");
  return *meta;
}

std::string NodeWriter::newName() {
  std::string base = place->name + "_rows";
  for (;;) {
    int64_t count = namesMade[base]++;
    std::string name = count ? base + "_" + std::to_string(count) : base;
    if (!graph.tensorValues.contains(name))
      return name;
  }
}

std::string NodeWriter::call(const std::string &name,
                             std::vector<NamedArgument> inputs,
                             const TensorMeta &like, std::vector<int64_t> sizes,
                             std::string result) {
  Node node;
  node.name = result.empty() ? newName() : result;
  node.target = "torch.ops.aten." + name;
  node.inputs = std::move(inputs);
  node.moduleStack = place->moduleStack;
  node.outputs.push_back(Argument{TensorRef{node.name}});
  if (result.empty())
    graph.tensorValues.emplace(node.name, typeLike(like, like.dtype, sizes));
  std::string made = node.name;
  written.push_back(std::move(node));
  return made;
}

} // namespace shardc::pt2
