//===- SymbolBindingsTest.cpp - Symbolic sizes become numbers -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Exports with dynamic shapes at their example's sizes and at others, chosen by
// symbol and by input dimension. What is in the archives:
// test/models/export_reader_cases.py.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SymbolBindings.h"

#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

using Bindings = std::map<std::string, int64_t>;

const std::string symbolicPath = "test/models/symbolic.pt2";
const std::string guardedPath = "test/models/guarded.pt2";

ExportedModel readModel(const std::string &path) {
  StatusOr<ExportedModel> model = readArchive(path);
  if (!model.ok())
    throw std::runtime_error(render(model.status(), path));
  return *model;
}

struct Bound {
  ExportedProgram program;
  SymbolBindings bindings;
};

Bound bind(ExportedModel model, const Bindings &given) {
  StatusOr<SymbolBindings> bindings = bindSymbols(model, given);
  if (!bindings.ok())
    throw std::runtime_error(render(bindings.status(), "bind"));
  return {std::move(model.program), std::move(*bindings)};
}

Status errorOf(ExportedModel model, const Bindings &given) {
  StatusOr<SymbolBindings> bindings = bindSymbols(model, given);
  if (bindings.ok())
    throw std::runtime_error("the sizes were bound");
  return bindings.status();
}

std::vector<int64_t> sizesOf(const Graph &graph, std::string_view tensor) {
  std::vector<int64_t> sizes;
  for (const SymInt &size : graph.findTensor(tensor)->sizes) {
    EXPECT_TRUE(size.isLiteral());
    sizes.push_back(size.value.value());
  }
  return sizes;
}

const Node *findNode(const Graph &graph, std::string_view target) {
  for (const Node &node : graph.nodes)
    if (node.target == target)
      return &node;
  return nullptr;
}

/// Fails when anything symbolic is left in `graph`.
void expectStatic(const Graph &graph) {
  for (const auto &[name, meta] : graph.tensorValues)
    EXPECT_TRUE(meta.isStatic()) << name;
  auto expectNumber = [](const Argument &argument) {
    EXPECT_FALSE(kindName(argument).find("symbolic") != std::string_view::npos);
    if (const auto *body = argument.getIf<GraphRef>())
      expectStatic(*body->graph);
  };
  for (const Argument &input : graph.inputs)
    expectNumber(input);
  for (const Argument &output : graph.outputs)
    expectNumber(output);
  for (const Node &node : graph.nodes) {
    for (const NamedArgument &input : node.inputs)
      expectNumber(input.argument);
    for (const Argument &output : node.outputs)
      expectNumber(output);
  }
}

// A program without symbols stays as it is.
TEST(Pt2SymbolBindings, StaticProgram) {
  Bound bound = bind(readModel("test/models/strided.pt2"), {});
  EXPECT_THAT(bound.bindings.symbols, IsEmpty());
  EXPECT_EQ(bound.program.graph.nodes.size(),
            readModel("test/models/strided.pt2").program.graph.nodes.size());
}

// Without bindings every size is the example's, and the nodes that computed
// sizes are gone.
TEST(Pt2SymbolBindings, ExampleSizes) {
  Bound bound = bind(readModel(symbolicPath), {});
  const Graph &graph = bound.program.graph;
  expectStatic(graph);
  EXPECT_THAT(sizesOf(graph, "x"), ElementsAre(4, 6, 8));
  EXPECT_EQ(findNode(graph, "torch.ops.aten.sym_size.int"), nullptr);
  EXPECT_EQ(findNode(graph, "_operator.mul"), nullptr);
  const Node *reshape = findNode(graph, "torch.ops.aten.reshape.default");
  ASSERT_TRUE(reshape);
  EXPECT_THAT(std::get<IntList>(reshape->findInput("shape")->value),
              ElementsAre(24, -1));
  ASSERT_EQ(bound.bindings.symbols.size(), 2U);
  EXPECT_EQ(bound.bindings.symbols[0].value, 4);
  EXPECT_FALSE(bound.bindings.symbols[0].isGiven);
  EXPECT_THAT(bound.bindings.symbols[0].places, ElementsAre("x.0"));
}

// A symbol bound by its name in the file; the other keeps its hint.
TEST(Pt2SymbolBindings, SymbolByName) {
  Bound bound = bind(readModel(symbolicPath), {{"s77", 10}});
  const Graph &graph = bound.program.graph;
  expectStatic(graph);
  EXPECT_THAT(sizesOf(graph, "x"), ElementsAre(10, 6, 8));
  const Node *reshape = findNode(graph, "torch.ops.aten.reshape.default");
  EXPECT_THAT(std::get<IntList>(reshape->findInput("shape")->value),
              ElementsAre(60, -1));
  const std::string &result =
      std::get<TensorRef>(reshape->outputs[0].value).name;
  EXPECT_THAT(sizesOf(graph, result), ElementsAre(60, 8));
  EXPECT_EQ(graph.findTensor("x")->strides[0].value, 48);
  EXPECT_TRUE(bound.bindings.symbols[0].isGiven);
}

// Users know their inputs better than PyTorch's symbols.
TEST(Pt2SymbolBindings, SymbolByInputDimension) {
  Bound bound = bind(readModel(symbolicPath), {{"x.0", 3}, {"x.1", 5}});
  EXPECT_THAT(sizesOf(bound.program.graph, "x"), ElementsAre(3, 5, 8));
  EXPECT_EQ(bound.bindings.symbols[1].value, 5);
}

// Floored quotients, maxima, an integer input, and a no_grad region whose
// inputs are sizes.
TEST(Pt2SymbolBindings, SizesOfEveryKind) {
  Bound bound = bind(readModel(guardedPath),
                     {{"image.2", 41}, {"scale", 3}, {"pairs.1", 20}});
  const Graph &graph = bound.program.graph;
  expectStatic(graph);
  EXPECT_THAT(sizesOf(graph, "image"), ElementsAre(2, 3, 41, 16));
  EXPECT_THAT(sizesOf(graph, "conv2d"), ElementsAre(2, 4, 21, 8));
  EXPECT_THAT(sizesOf(graph, "adaptive_avg_pool2d"), ElementsAre(2, 4, 10, 3));
  EXPECT_THAT(sizesOf(graph, "pairs"), ElementsAre(5, 20));
  const Node *region =
      findNode(graph, "torch.ops.higher_order.wrap_with_set_grad_enabled");
  ASSERT_TRUE(region);
  const Graph &body =
      *std::get<GraphRef>(region->inputs[1].argument.value).graph;
  const Node *ones = findNode(body, "torch.ops.aten.ones.default");
  ASSERT_TRUE(ones);
  EXPECT_THAT(std::get<IntList>(ones->findInput("size")->value),
              ElementsAre(5, 20));
  const InputSpec &scale = bound.program.signature.inputs.back();
  EXPECT_EQ(scale.kind, InputKind::ConstantInput);
  EXPECT_EQ(std::get<int64_t>(scale.argument.value), 3);
  EXPECT_EQ(std::get<int64_t>(graph.inputs.back().value), 3);
  EXPECT_EQ(std::get<int64_t>(graph.outputs.back().value), 15);
  EXPECT_THAT(bound.bindings.uncheckedGuards, IsEmpty());
}

// The size of a dimension may be twice the symbol; the hint is solved.
TEST(Pt2SymbolBindings, SolvesDerivedDimensions) {
  Bound bound = bind(readModel(guardedPath), {});
  for (const BoundSymbol &symbol : bound.bindings.symbols)
    if (symbol.places == std::vector<std::string>{"pairs.1"}) {
      EXPECT_EQ(symbol.value, 4);
      EXPECT_EQ(describe(symbol), symbol.name + " (pairs.1; 2 to 50)");
      return;
    }
  FAIL() << "no symbol for pairs.1";
}

TEST(Pt2SymbolBindings, UnsolvableDimension) {
  Status error = errorOf(readModel(guardedPath), {{"pairs.1", 9}});
  EXPECT_EQ(error.code(), ErrorCode::E0003);
  EXPECT_THAT(error.message(), HasSubstr("makes 'pairs.1' 9"));
}

// Unknown names get the list of those that exist.
TEST(Pt2SymbolBindings, UnknownName) {
  Status error = errorOf(readModel(symbolicPath), {{"batch", 8}});
  EXPECT_EQ(error.code(), ErrorCode::E0001);
  EXPECT_EQ(error.message(), "cannot bind 'batch': the model has no symbolic "
                             "size of that name");
  EXPECT_THAT(error.notes(), ElementsAre("it has s77 (x.0; 0 to 64)",
                                         "it has s27 (x.1; 3 to 128)"));
  EXPECT_EQ(error.help(),
            "bind a symbol or one of its inputs' dimensions, such as x.0=4");
}

TEST(Pt2SymbolBindings, NothingToBind) {
  Status error = errorOf(readModel("test/models/strided.pt2"), {{"x.0", 8}});
  EXPECT_EQ(error.code(), ErrorCode::E0001);
  EXPECT_EQ(error.message(),
            "cannot bind 'x.0': the model has no symbolic sizes");
}

TEST(Pt2SymbolBindings, OutOfRange) {
  Status error = errorOf(readModel(symbolicPath), {{"s27", 2}});
  EXPECT_EQ(error.code(), ErrorCode::E0003);
  EXPECT_EQ(error.message(), "expected 3 to 128 for s27, got 2");
  EXPECT_EQ(errorOf(readModel(symbolicPath), {{"x.0", 65}}).code(),
            ErrorCode::E0003);
}

TEST(Pt2SymbolBindings, ContradictingBindings) {
  Status error = errorOf(readModel(symbolicPath), {{"s27", 7}, {"x.1", 8}});
  EXPECT_EQ(error.code(), ErrorCode::E0001);
  EXPECT_THAT(error.message(), HasSubstr("but another binding makes it 7"));
}

// A height of 4 would make the pooled image one row, for which the export was
// not made.
TEST(Pt2SymbolBindings, BrokenGuard) {
  Status error = errorOf(readModel(guardedPath), {{"image.2", 4}});
  EXPECT_EQ(error.code(), ErrorCode::E0003);
  EXPECT_THAT(error.message(),
              HasSubstr("it requires (L['image'].size()[2] // 4) != 1"));
}

TEST(Pt2SymbolBindings, UncheckedGuard) {
  ArchiveEditor archive = ArchiveEditor::fromFile(guardedPath);
  archive.replace("model.json", "\"guards_code\": [",
                  "\"guards_code\": [\"f(L['image'])\", ");
  StatusOr<ExportedModel> model = archive.read();
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(bind(*model, {}).bindings.uncheckedGuards, IsEmpty());
  EXPECT_THAT(bind(*model, {{"scale", 9}}).bindings.uncheckedGuards,
              ElementsAre("f(L['image'])"));
}

// No number of those that are not chosen leaves a deviation as it is: the node
// is named.
TEST(Pt2SymbolBindings, DataDependentSize) {
  ArchiveEditor archive =
      ArchiveEditor::fromFile("test/models/data-dependent.pt2");
  archive.replace("model.json", "aten.sum.default", "aten.std.default");
  StatusOr<ExportedModel> model = archive.read();
  ASSERT_TRUE(model.ok());
  Status error = errorOf(*model, {});
  EXPECT_EQ(error.code(), ErrorCode::E0140);
  EXPECT_THAT(error.message(),
              HasSubstr("does not compute each of the u0 rows that mask 'gt' "
                        "chooses by itself"));
  EXPECT_THAT(error.notes(),
              ElementsAre("at node 'sum_1' (torch.ops.aten.std.default)"));
}

// What nothing checks is told, once.
TEST(Pt2SymbolBindings, AssertionOfValues) {
  ArchiveEditor archive =
      ArchiveEditor::fromFile("test/models/data-dependent.pt2");
  // "u0 <= 32" is sure to hold, "u0 <= 31" is not.
  archive.replace("model.json", "Integer(32)", "Integer(31)");
  StatusOr<ExportedModel> model = archive.read();
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(bind(*model, {}).bindings.uncheckedAssertions,
              ElementsAre(HasSubstr("u0 <= 32")));
  EXPECT_THAT(bind(readModel("test/models/data-dependent.pt2"), {})
                  .bindings.uncheckedAssertions,
              IsEmpty());
}

/// symbolic.pt2 after `from` became `to` in its program.
ExportedModel edited(std::string_view from, std::string_view to) {
  ArchiveEditor archive = ArchiveEditor::fromFile(symbolicPath);
  archive.replace("model.json", from, to);
  StatusOr<ExportedModel> model = archive.read();
  if (!model.ok())
    throw std::runtime_error(render(model.status(), "edited"));
  return *model;
}

const std::string product =
    "Mul(Symbol('s27', positive=True, integer=True), Symbol('s77', "
    "positive=True, integer=True))";

// A hint that its expression does not give is a damaged file.
TEST(Pt2SymbolBindings, ContradictingHint) {
  Status error =
      errorOf(edited(product, "Add(Symbol('s27'), Symbol('s77'))"), {});
  EXPECT_EQ(error.code(), ErrorCode::E0119);
}

// At the example's sizes the hint suffices for what cannot be computed.
TEST(Pt2SymbolBindings, UnknownFunction) {
  EXPECT_NO_THROW(bind(edited(product, "Gamma(Symbol('s27'))"), {}));
  Status error = errorOf(edited(product, "Gamma(Symbol('s27'))"), {{"s77", 8}});
  EXPECT_EQ(error.code(), ErrorCode::E0141);
  EXPECT_THAT(error.message(), HasSubstr("'Gamma'"));
  EXPECT_THAT(error.notes()[0], "with s27 = 6, s77 = 8");
}

TEST(Pt2SymbolBindings, NegativeAndFractionalSizes) {
  for (const char *expression : {"Add(Symbol('s77'), Integer(-30))",
                                 "Mul(Rational(1, 3), Symbol('s77'))"}) {
    ArchiveEditor archive = ArchiveEditor::fromFile(symbolicPath);
    std::string &json = archive.entry("model.json");
    size_t tensors = json.find("\"tensor_values\"");
    size_t place = json.find(product, tensors);
    ASSERT_NE(place, std::string::npos);
    json.replace(place, product.size(), expression);
    Status error = errorOf(*archive.read(), {{"s77", 8}});
    EXPECT_EQ(error.code(), ErrorCode::E0141) << expression;
  }
}

// A product of sizes that are each in range.
TEST(Pt2SymbolBindings, OverflowingTensor) {
  ExportedModel model = edited("\"max_val\": 64", "\"max_val\": null");
  EXPECT_EQ(errorOf(std::move(model), {{"s77", int64_t(1) << 60}}).code(),
            ErrorCode::E0141);
}

} // namespace
