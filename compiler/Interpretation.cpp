//===- Interpretation.cpp - Running a program in the interpreter ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Fills the state and the inputs, executes, prints, writes and compares.
//===----------------------------------------------------------------------===//

#include "compiler/Interpretation.h"

#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "compiler/TensorComparison.h"
#include "compiler/TensorFile.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Reference/RandomTensors.h"
#include "dialects/Reference/TensorBytes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace shardc {

namespace {

using reference::RankTensors;
using reference::Tensor;

/// An output of the program with its name.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// One `shardc interpret`.
class Interpretation {
public:
  Interpretation(const std::string &path, const InterpretOptions &options)
      : path(path), options(options), diagnostics(context) {}

  int run();

private:
  bool read();
  bool fillState();
  bool fillStateFromExport();
  bool fillStateFromFile();
  bool readInputs(SmallVectorImpl<RankTensors> &inputs);
  bool splitInput(const std::string &name, RankedTensorType type,
                  const Tensor &tensor, RankTensors &ranksTensors);
  NamedTensors collect(const reference::Execution &execution);
  bool compareWithExpected(const NamedTensors &outputs);
  bool compareOutput(const std::string &name, const Tensor &actual,
                     const Tensor &expected);
  bool fail(const Status &status) {
    if (!status.ok())
      diagnostics.report(status);
    return false;
  }

  const std::string &path;
  const InterpretOptions &options;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  ModelInput input;
  func::FuncOp function;
  int64_t ranks = 1;
  std::unique_ptr<reference::Interpreter> interpreter;
};

} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

bool Interpretation::read() {
  std::optional<ModelInput> program = readModel(
      path, options.input, /*keepOutputs=*/true, context, diagnostics);
  if (!program)
    return false;
  input = std::move(*program);
  if (input.model) {
    PassManager manager(&context);
    addImportPasses(manager);
    if (failed(manager.run(*input.module)))
      return false;
  }
  auto functions = input.module->getOps<func::FuncOp>();
  if (functions.empty() || (*functions.begin()).isExternal())
    return fail(
        Status(ErrorCode::E0108, "'" + path + "' has no function to execute"));
  function = *functions.begin();
  ranks = options.ranks.value_or(getRanks(*input.module));
  return true;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

bool Interpretation::fillStateFromFile() {
  StatusOr<TensorFile> file = TensorFile::open(options.weights, context);
  if (!file.ok())
    return fail(file.status());
  reference::ShardedState &state = interpreter->getState();
  for (const std::string &name : state.getNames()) {
    StatusOr<Tensor> tensor = file->read(name);
    if (!tensor.ok())
      return fail(tensor.status());
    if (tensor->getType() != state.getType(name))
      return fail(Status(ErrorCode::E0402,
                         "'" + name + "' in '" + options.weights + "' is " +
                             debugString(tensor->getType()) +
                             ", the model has " +
                             debugString(state.getType(name))));
    state.set(name, *tensor);
  }
  return true;
}

bool Interpretation::fillStateFromExport() {
  reference::ShardedState &state = interpreter->getState();
  for (const std::string &name : state.getNames()) {
    StatusOr<std::vector<std::byte>> bytes =
        input.model->weights.readTensor(name);
    if (!bytes.ok())
      return fail(bytes.status());
    state.set(name, reference::fromBytes(state.getType(name), *bytes));
  }
  return true;
}

bool Interpretation::fillState() {
  if (!options.weights.empty())
    return fillStateFromFile();
  if (input.model && !input.model->weights.isWeightFree())
    return fillStateFromExport();
  reference::setRandomState(interpreter->getState(), options.seed);
  return true;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Gives each rank its part of the first dimension.
/// "[8, 32] i64".
static std::string describe(RankedTensorType type) {
  std::string sizes;
  for (const int64_t size : type.getShape())
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return "[" + sizes + "] " + debugString(type.getElementType());
}

bool Interpretation::splitInput(const std::string &name, RankedTensorType type,
                                const Tensor &tensor, RankTensors &parts) {
  SmallVector<int64_t> whole(type.getShape());
  if (!whole.empty())
    whole[0] *= ranks;
  if (tensor.getType() != type.clone(whole))
    return fail(
        Status(ErrorCode::E0405,
               "input '" + name + "' is " + describe(tensor.getType()) +
                   ", but on " + printRanks(ranks) + " the model expects " +
                   describe(cast<RankedTensorType>(type.clone(whole)))));
  if (whole.empty()) {
    parts.assign(ranks, tensor);
    return true;
  }
  std::vector<std::byte> bytes = reference::toBytes(tensor);
  size_t size = bytes.size() / ranks;
  for (int64_t rank = 0; rank < ranks; ++rank)
    parts.push_back(reference::fromBytes(
        type, std::span(bytes).subspan(rank * size, size)));
  return true;
}

bool Interpretation::readInputs(SmallVectorImpl<RankTensors> &inputs) {
  if (options.inputs.empty()) {
    inputs = reference::randomInputs(function, ranks, options.seed);
    return true;
  }
  StatusOr<TensorFile> file = TensorFile::open(options.inputs, context);
  if (!file.ok())
    return fail(file.status());
  for (BlockArgument argument : function.getArguments()) {
    const std::string numbered =
        "input" + std::to_string(argument.getArgNumber());
    auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       "shardc.name");
    const std::string name = given ? given.str() : numbered;
    StatusOr<Tensor> tensor = file->read(name, numbered);
    if (!tensor.ok())
      return fail(tensor.status());
    if (!splitInput(name, cast<RankedTensorType>(argument.getType()), *tensor,
                    inputs.emplace_back()))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// "loss: 4.06015873", "logits: tensor<2x4xf32> [0.5, -1, …]".
static void print(StringRef name, const Tensor &tensor) {
  llvm::outs() << name << ": ";
  auto printElement = [&](int64_t i) {
    if (tensor.isInteger())
      llvm::outs() << tensor.integers()[i];
    else if (tensor.isComplex())
      llvm::outs() << llvm::format("%.9g%+.9gi", tensor.complexes()[i].real(),
                                   tensor.complexes()[i].imag());
    else
      llvm::outs() << llvm::format("%.9g", tensor.floats()[i]);
  };
  if (tensor.getRank() == 0) {
    printElement(0);
    llvm::outs() << "\n";
    return;
  }
  constexpr int64_t shown = 4;
  llvm::outs() << debugString(tensor.getType()) << " [";
  for (int64_t i = 0; i < std::min(shown, tensor.getNumElements()); ++i) {
    llvm::outs() << (i ? ", " : "");
    printElement(i);
  }
  llvm::outs() << (tensor.getNumElements() > shown ? ", ...]\n" : "]\n");
}

/// The outputs of all ranks: results by their names, or what a training step
/// recorded.
NamedTensors Interpretation::collect(const reference::Execution &execution) {
  NamedTensors outputs;
  auto add = [&](const std::string &name, const RankTensors &tensors) {
    for (auto [rank, tensor] : llvm::enumerate(tensors))
      outputs.emplace_back(
          ranks == 1 ? name : name + ".rank" + std::to_string(rank), tensor);
  };
  for (auto [i, tensors] : llvm::enumerate(execution.results)) {
    auto name = function.getResultAttrOfType<StringAttr>(i, "shardc.name");
    bool isLoss = execution.results.size() == 1 && tensors[0].getRank() == 0;
    add(isLoss ? "loss"
        : name ? name.str()
               : "output" + std::to_string(i),
        tensors);
  }
  if (execution.losses)
    add("loss", *execution.losses);
  return outputs;
}

bool Interpretation::compareOutput(const std::string &name,
                                   const Tensor &actual,
                                   const Tensor &expected) {
  if (actual.getType() != expected.getType())
    return fail(Status(ErrorCode::E0701, "output '" + name + "' is " +
                                             debugString(actual.getType()) +
                                             ", expected " +
                                             debugString(expected.getType())));
  double tolerance =
      options.tolerance.value_or(defaultTolerance(actual.getElementType()));
  std::optional<Difference> difference = compare(actual, expected, tolerance);
  if (!difference)
    return true;
  std::string text;
  llvm::raw_string_ostream(text)
      << "output '" << name << "' differs at element " << difference->index
      << ": got " << llvm::format("%.9g", difference->actual) << ", expected "
      << llvm::format("%.9g", difference->expected) << " (relative tolerance "
      << llvm::format("%.3g", tolerance) << ")";
  return fail(Status(ErrorCode::E0701, text));
}

bool Interpretation::compareWithExpected(const NamedTensors &outputs) {
  StatusOr<TensorFile> file = TensorFile::open(options.expected, context);
  if (!file.ok())
    return fail(file.status());
  bool agree = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &name = outputs[i].first;
    StatusOr<Tensor> expected =
        file->read(name, "expected" + std::to_string(i));
    if (!expected.ok())
      return fail(expected.status());
    // Every output that differs is reported.
    agree &= compareOutput(name, outputs[i].second, *expected);
  }
  if (agree)
    llvm::outs() << outputs.size()
                 << (outputs.size() == 1
                         ? " output equals the expected one\n"
                         : " outputs equal the expected ones\n");
  return agree;
}

int Interpretation::run() {
  if (!read())
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0108));
  interpreter = std::make_unique<reference::Interpreter>(*input.module, ranks);
  interpreter->getState().learningRate = options.learningRate;
  interpreter->getState().seed = options.seed;
  SmallVector<RankTensors> inputs;
  if (!fillState() || !readInputs(inputs))
    return diagnostics.getExitCode();
  NamedTensors outputs;
  for (int64_t step = 0; step < options.steps; ++step) {
    FailureOr<reference::Execution> execution = interpreter->run(inputs);
    if (failed(execution))
      return exitCodeOr(diagnostics, exitCode(ErrorCode::E0405));
    outputs = collect(*execution);
    if (options.expected.empty())
      for (const auto &[name, tensor] : outputs)
        print(name, tensor);
    if (execution->gradientNorm)
      llvm::outs() << "gradient_norm: "
                   << llvm::format("%.9g", *execution->gradientNorm) << "\n";
  }
  if (!options.outputs.empty())
    if (Status status = writeTensorFile(options.outputs, outputs);
        !status.ok()) {
      diagnostics.report(status);
      return diagnostics.getExitCode();
    }
  if (!options.expected.empty() && !compareWithExpected(outputs))
    return diagnostics.getExitCode();
  return 0;
}

int interpret(const std::string &path, const InterpretOptions &options) {
  return Interpretation(path, options).run();
}

} // namespace shardc
