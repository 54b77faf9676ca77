//===- ArchiveReaderTest.cpp - Programs of real archives ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the reader makes of the archives in test/models, all written by PyTorch
// (test/models/export_reader_cases.py says what is in them).
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ArchiveReader.h"

#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;

namespace {

const std::string stridedPath = "test/models/strided.pt2";
const std::string symbolicPath = "test/models/symbolic.pt2";
const std::string oldNanogptPath = "test/models/nanogpt-torch-2.6.pt2";

ExportedModel readModel(const std::string &path) {
  StatusOr<ExportedModel> model = readArchive(path);
  if (!model.ok())
    throw std::runtime_error(render(model.status(), path));
  return *model;
}

const Node &findNode(const Graph &graph, std::string_view target) {
  for (const Node &node : graph.nodes)
    if (node.target == target)
      return node;
  throw std::runtime_error("no node " + std::string(target));
}

template <typename T>
const T &valueOf(const Node &node, std::string_view input) {
  return std::get<T>(node.findInput(input)->value);
}

// Every archive that the repository ships can be read.
TEST(Pt2ArchiveReader, ReadsEveryCommittedModel) {
  for (const auto &file : std::filesystem::directory_iterator("test/models"))
    if (file.path().extension() == ".pt2") {
      StatusOr<ExportedModel> model = readArchive(file.path());
      EXPECT_TRUE(model.ok()) << render(model.status(), file.path());
    }
}

// Versions and the name of the dialect that the graph is written in.
TEST(Pt2ArchiveReader, ReportsVersions) {
  ExportedProgram program = readModel(stridedPath).program;
  EXPECT_EQ(program.schemaVersion.major, 8);
  EXPECT_GE(program.schemaVersion.minor, 20);
  EXPECT_THAT(program.torchVersion, testing::StartsWith("2."));
  EXPECT_TRUE(program.isTrainingIr());
}

// Parameters, buffers, constants and user inputs keep the graph's order and
// the model's names.
TEST(Pt2ArchiveReader, ReadsTheSignature) {
  ExportedProgram program = readModel(stridedPath).program;
  const GraphSignature &signature = program.signature;
  ASSERT_EQ(signature.inputs.size(), 13U);
  EXPECT_EQ(signature.inputs[3].kind, InputKind::Parameter);
  EXPECT_EQ(signature.inputs[3].name, "p_scale_factors");
  EXPECT_EQ(signature.inputs[3].target, "scale.factors");
  EXPECT_EQ(signature.inputs[4].kind, InputKind::Buffer);
  EXPECT_TRUE(signature.inputs[4].persistent);
  EXPECT_EQ(signature.inputs[8].target, "expanded");
  EXPECT_FALSE(signature.inputs[8].persistent);
  EXPECT_EQ(signature.inputs[10].kind, InputKind::TensorConstant);
  EXPECT_EQ(signature.inputs[11].kind, InputKind::UserInput);
  EXPECT_EQ(signature.inputs[11].name, "x");
  ASSERT_EQ(signature.outputs.size(), 1U);
  EXPECT_EQ(signature.outputs[0].kind, OutputKind::UserOutput);
  EXPECT_THAT(program.forwardArgumentNames, testing::ElementsAre("x", "index"));
}

// Arguments have the types of the operator's schema; the words that JSON lacks
// for infinity become floats.
TEST(Pt2ArchiveReader, ReadsTypedArguments) {
  Graph graph = readModel(stridedPath).program.graph;
  const Node &to = findNode(graph, "torch.ops.aten.to.dtype");
  EXPECT_EQ(valueOf<ScalarType>(to, "dtype"), ScalarType::Float32);
  EXPECT_EQ(to.inputs[1].kind, ArgumentKind::Positional);
  EXPECT_EQ(to.findInput("copy"), nullptr);
  const Node &fill = findNode(graph, "torch.ops.aten.masked_fill.Scalar");
  EXPECT_EQ(valueOf<double>(fill, "value"), -INFINITY);
  const Node &index = findNode(graph, "torch.ops.aten.index.Tensor");
  const auto &indices = valueOf<OptionalTensorList>(index, "indices");
  ASSERT_EQ(indices.size(), 2U);
  EXPECT_FALSE(indices[0]);
  EXPECT_EQ(indices[1]->name, "index");
}

// Tensor values have dtype, sizes and strides.
TEST(Pt2ArchiveReader, ReadsTensorTypes) {
  Graph graph = readModel(stridedPath).program.graph;
  const TensorMeta *meta = graph.findTensor("p_transposed");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->dtype, ScalarType::BFloat16);
  EXPECT_TRUE(meta->requiresGrad);
  EXPECT_FALSE(meta->hasSymbolicSizes());
  EXPECT_EQ(meta->sizes[0].value, 3);
  EXPECT_EQ(meta->strides[0].value, 1);
  EXPECT_EQ(meta->device.type, "cpu");
  EXPECT_EQ(graph.findTensor("absent"), nullptr);
}

// A region under torch.no_grad is an operator with a subgraph, whose inputs
// bind to the arguments after it.
TEST(Pt2ArchiveReader, ReadsSubgraphs) {
  Graph graph = readModel(stridedPath).program.graph;
  const Node &region =
      findNode(graph, "torch.ops.higher_order.wrap_with_set_grad_enabled");
  ASSERT_EQ(region.inputs.size(), 4U);
  EXPECT_EQ(std::get<bool>(region.inputs[0].argument.value), false);
  const auto *body = region.inputs[1].argument.getIf<GraphRef>();
  ASSERT_TRUE(body);
  EXPECT_EQ(body->graph->inputs.size(), 2U);
  EXPECT_FALSE(body->graph->nodes.empty());
  EXPECT_EQ(kindName(region.inputs[1].argument), "graph");
}

// The two calls of a shared module differ in their call index alone.
TEST(Pt2ArchiveReader, TellsCallsOfAModuleApart) {
  Graph graph = readModel(stridedPath).program.graph;
  std::vector<int64_t> calls;
  for (const Node &node : graph.nodes)
    if (node.modulePath() == "scale" && node.target.ends_with("sum.default"))
      calls.push_back(node.moduleStack.back().callIndex);
  EXPECT_THAT(calls, testing::ElementsAre(0, 1));
}

// A symbolic size keeps its expression, its hint and the range of its symbol.
TEST(Pt2ArchiveReader, KeepsSymbolicSizesAndHints) {
  ExportedProgram program = readModel(symbolicPath).program;
  const TensorMeta *x = program.graph.findTensor("x");
  ASSERT_TRUE(x);
  EXPECT_TRUE(x->hasSymbolicSizes());
  EXPECT_EQ(x->sizes[0].value, 4);
  EXPECT_EQ(x->sizes[1].value, 6);
  EXPECT_TRUE(x->sizes[2].isLiteral());
  EXPECT_THAT(x->sizes[0].expression, testing::StartsWith("Symbol('s"));
  ASSERT_EQ(program.rangeConstraints.size(), 2U);
  for (const auto &[symbol, range] : program.rangeConstraints)
    EXPECT_THAT(*range.maximum, testing::AnyOf(64, 128)) << symbol;
}

// An argument that is computed in the graph names the value and has its hint.
TEST(Pt2ArchiveReader, GivesSymbolicArgumentsTheirHints) {
  Graph graph = readModel(symbolicPath).program.graph;
  const Node &size = findNode(graph, "torch.ops.aten.sym_size.int");
  EXPECT_EQ(std::get<SymInt>(size.outputs[0].value).value, 4);
  const Node &product = findNode(graph, "_operator.mul");
  std::string name = std::get<SymInt>(product.outputs[0].value).name;
  const Node &reshape = findNode(graph, "torch.ops.aten.reshape.default");
  const auto &shape = valueOf<SymIntList>(reshape, "shape");
  ASSERT_EQ(shape.size(), 2U);
  EXPECT_EQ(shape[0].name, name);
  EXPECT_EQ(shape[0].value, 24);
  EXPECT_EQ(shape[1].value, -1);
}

// Files of torch 2.6 name no nodes; their first outputs do.
TEST(Pt2ArchiveReader, NamesNodesOfOldFilesAfterTheirOutputs) {
  ExportedProgram program = readModel(oldNanogptPath).program;
  EXPECT_EQ(program.schemaVersion.minor, 2);
  const Node &embedding =
      findNode(program.graph, "torch.ops.aten.embedding.default");
  EXPECT_EQ(embedding.name, "embedding");
  EXPECT_EQ(embedding.inputs[0].kind, ArgumentKind::Unspecified);
}

// torch 2.6 writes infinities as bare words, which are not JSON. Words in
// strings are left alone.
TEST(Pt2ArchiveReader, ReadsBareNonFiniteFloats) {
  auto archive = ArchiveEditor::fromFile(oldNanogptPath);
  archive.replace("program.json", "{\"as_bool\": true}",
                  "{\"as_floats\": [-Infinity, Infinity, NaN]}");
  archive.replace("program.json", "\"torch_version\": \"",
                  "\"torch_version\": \"NaN -Infinity \\\" Infinity ");
  StatusOr<ExportedModel> model = archive.read();
  ASSERT_TRUE(model.ok()) << render(model.status(), "");
  EXPECT_THAT(model->program.torchVersion,
              testing::StartsWith("NaN -Infinity \" Infinity 2.6"));
  for (const Node &node : model->program.graph.nodes)
    for (const NamedArgument &input : node.inputs)
      if (const auto *floats = input.argument.getIf<FloatList>()) {
        EXPECT_EQ((*floats)[0], -INFINITY);
        EXPECT_EQ((*floats)[1], INFINITY);
        EXPECT_TRUE(std::isnan((*floats)[2]));
        return;
      }
  FAIL() << "no list of floats";
}

// The name of the archive's root folder does not matter, nor whether there is
// one: renamed files keep the folder they were saved under.
TEST(Pt2ArchiveReader, FindsTheProgramWithoutARootFolder) {
  auto archive = ArchiveEditor::fromFile("test/models/weight-free.pt2");
  ArchiveEditor flat;
  for (const char *name :
       {"models/model.json", "data/weights/model_weights_config.json",
        "data/weights/weight_0"})
    flat.add(name, archive.entry(std::string("/") + name));
  StatusOr<ExportedModel> model = flat.read();
  ASSERT_TRUE(model.ok()) << render(model.status(), "");
  EXPECT_EQ(model->weights.entries().size(), 2U);
}

// Unknown members of objects are ignored, as minor versions may add some.
TEST(Pt2ArchiveReader, IgnoresUnknownMembers) {
  auto archive = ArchiveEditor::fromFile(symbolicPath);
  archive.replace("model.json", "\"nodes\":", "\"news\": [{}], \"nodes\":");
  EXPECT_TRUE(archive.read().ok());
}

} // namespace
