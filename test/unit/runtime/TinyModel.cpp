//===- TinyModel.cpp - A hand-made artifact for tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The program, command by command.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardc::testing {

using namespace shardc::format;

static constexpr int64_t inputs = 4, outputs = 3;
static constexpr int64_t parameterElements = outputs * inputs + outputs;
static constexpr int64_t f32 = 4, f64 = 8;

namespace {
enum StateIndex {
  ParameterState,
  GradientState,
  MomentumState,
  MeanState,
  LossState,
  NormState
};
enum ScalarIndex { RateScalar, MicroBatchesScalar };

/// Hands out the arena.
struct Arena {
  BufferReference take(int64_t bytes) {
    const BufferReference range = {Space::Arena, 0, used, bytes, {}};
    used += (bytes + 63) / 64 * 64;
    return range;
  }
  int64_t used = 0;
};
} // namespace

static BufferReference make(Space space, int64_t index, int64_t bytes) {
  BufferReference reference;
  reference.space = space;
  reference.index = index;
  reference.bytes = bytes;
  return reference;
}

static BufferReference part(BufferReference whole, int64_t offset,
                            int64_t bytes) {
  whole.offset += offset;
  whole.bytes = bytes;
  return whole;
}

static TensorReference f32Tensor(BufferReference buffer,
                                 std::vector<int64_t> shape) {
  return {buffer, Dtype::F32, std::move(shape), {}};
}

/// All of a range as f32.
static TensorReference floats(BufferReference buffer) {
  return f32Tensor(buffer, {buffer.bytes / f32});
}

/// The optimizer's kernel is one for each size of a shard and number of ranks.
static std::string sgdKernel(int64_t shard, const Mesh &mesh) {
  return "sgd_" + std::to_string(shard) + "_on_" + std::to_string(mesh.ranks());
}

static Parameters makeParameters(const Mesh &mesh, int64_t shard) {
  const int64_t batch = TinyModel::batch;
  Parameters parameters;
  parameters.inputs = {{"x", Dtype::F32, {batch, inputs}, {}, {}},
                       {"target", Dtype::F32, {batch, outputs}, {}, {}}};
  parameters.states = {
      {"linear#0.parameter", Role::Parameter, "", Dtype::F32, shard, 0, {}},
      {"linear#0.gradient", Role::Gradient, "", Dtype::F32, shard, 0, {}},
      {"linear#0.momentum",
       Role::Optimizer,
       "momentum",
       Dtype::F32,
       shard,
       0,
       {}},
      {"linear.mean", Role::Buffer, "", Dtype::F32, 1, {}, {1}},
      {"loss", Role::Metric, "", Dtype::F32, 1, {}, {}},
      {"gradient_norm_squares", Role::Metric, "", Dtype::F64, 2, {}, {}}};
  parameters.groups = {{"linear", {0}}};
  parameters.segments = {
      {0,
       {static_cast<int64_t>(mesh.axes.size()) - 1},
       Dtype::F32,
       mesh.axes.back().size * shard,
       shard,
       {{"linear.weight", {"tied.weight"}, {outputs, inputs}, 0},
        {"linear.bias", {}, {outputs}, outputs * inputs}}}};
  return parameters;
}

/// The kernels of TinyKernels.cpp that work on shards of `shard` elements.
static std::vector<KernelSignature> makeKernels(int64_t shard,
                                                const Mesh &mesh) {
  const Access read = Access::Read, write = Access::Write;
  const Access both = Access::ReadWrite;
  const int64_t outputBytes = TinyModel::batch * outputs * f32;
  const int64_t inputBytes = TinyModel::batch * inputs * f32;
  auto operand = [](int64_t bytes, Access access) {
    return KernelOperand{bytes, f32, access};
  };
  return {{"squared_error",
           1,
           {operand(outputBytes, read), operand(outputBytes, read),
            operand(outputBytes, write), operand(f32, both)}},
          {"running_mean", 1, {operand(inputBytes, read), operand(f32, both)}},
          {"bias_gradient",
           outputs,
           {operand(outputBytes, read), operand(outputs * f32, write)}},
          {sgdKernel(shard, mesh),
           shard,
           {operand(shard * f32, both), operand(shard * f32, read),
            operand(shard * f32, both), KernelOperand{f64, f64, read},
            KernelOperand{f64, f64, read}}}};
}

/// Streams, communicators and events: the gathers', the reductions', and with a
/// second axis the losses' and the replicas'.
static void addStreams(const Mesh &mesh, Program &program) {
  const auto shardAxis = static_cast<int64_t>(mesh.axes.size()) - 1;
  program.streams = {"compute", "gather", "reduce"};
  program.communicators = {{{shardAxis}, 1}, {{shardAxis}, 2}};
  program.eventCount = 3;
  if (shardAxis == 0)
    return;
  program.streams.push_back("replicate");
  program.communicators.push_back({{0, 1}, 2});
  program.communicators.push_back({{0}, 3});
  program.eventCount = 4;
}

static Program makeProgram(const Mesh &mesh, int64_t shard) {
  const size_t axis = mesh.axes.size() - 1;
  const bool isReplicated = axis > 0;
  const int64_t batch = TinyModel::batch;
  const int64_t whole = mesh.axes[axis].size * shard * f32;
  Arena arena;
  const BufferReference gathered = arena.take(whole);
  const BufferReference y = arena.take(batch * outputs * f32);
  const BufferReference gradY = arena.take(batch * outputs * f32);
  const BufferReference gradients = arena.take(whole);
  const BufferReference x = make(Space::Input, 0, batch * inputs * f32);
  const BufferReference target = make(Space::Input, 1, batch * outputs * f32);
  auto state = [&](StateIndex index) {
    const int64_t bytes = index == MeanState || index == LossState ? f32
                          : index == NormState ? 16
                                               : shard * f32;
    return make(Space::State, index, bytes);
  };
  auto scalar = [](ScalarIndex index) {
    return TensorReference{
        make(Space::Scalar, index, f64), Dtype::F64, {1}, {}};
  };
  BufferReference slot = part(gathered, 0, shard * f32);
  slot.rankStrides[axis] = shard * f32;
  const BufferReference weight = part(gathered, 0, outputs * inputs * f32);
  const BufferReference bias =
      part(gathered, outputs * inputs * f32, outputs * f32);

  Program program;
  addStreams(mesh, program);
  auto communicator = [](int64_t number) {
    return std::pair<const std::string, AttributeValue>{"communicator", number};
  };
  program.scalars = {Scalar::LearningRate, Scalar::MicroBatches};
  program.sections = {{"begin", Repeat::Once, {}},
                      {"micro_batch", Repeat::MicroBatches, {}},
                      {"update", Repeat::Once, {}}};
  auto add = [&](CommandKind kind, int64_t section, int64_t stream,
                 std::vector<int64_t> waits, std::optional<int64_t> records,
                 const char *label, std::string callee, Attributes attributes,
                 std::vector<TensorReference> operands) {
    program.commands.push_back({kind, section, stream, std::move(waits),
                                records, "linear", label, std::move(callee),
                                std::move(operands), std::move(attributes)});
  };
  using Kind = CommandKind;
  const int64_t begin = 0, micro = 1, update = 2;
  auto extent = [](int64_t iterations) {
    return Attributes{{"extent", iterations}};
  };
  const TensorReference norms = {state(NormState), Dtype::F64, {2}, {}};
  program.kernels = makeKernels(shard, mesh);
  add(Kind::Fill, begin, 0, {}, {}, "zero gradient", "", {},
      {floats(state(GradientState))});
  add(Kind::Fill, begin, 0, {}, {}, "zero loss", "", {},
      {floats(state(LossState))});
  add(Kind::Copy, micro, 1, {}, {}, "own slot", "", {},
      {floats(state(ParameterState)), floats(slot)});
  add(Kind::AllGather, micro, 1, {}, 0, "gather", "",
      {{"slot_bytes", shard * f32}, communicator(0)}, {floats(gathered)});
  add(Kind::Call, micro, 0, {0}, {}, "linear", "matmul",
      {{"transpose_b", true}, {"epilogue", std::string("bias")}},
      {f32Tensor(x, {batch, inputs}), f32Tensor(weight, {outputs, inputs}),
       f32Tensor(bias, {outputs}), f32Tensor(y, {batch, outputs})});
  add(Kind::Launch, micro, 0, {}, {}, "loss", "squared_error", extent(1),
      {floats(y), floats(target), floats(gradY), floats(state(LossState))});
  add(Kind::Launch, micro, 0, {}, {}, "mean", "running_mean", extent(1),
      {floats(x), floats(state(MeanState))});
  add(Kind::Fill, micro, 0, {}, {}, "padding", "", {}, {floats(gradients)});
  add(Kind::Call, micro, 0, {}, {}, "weight gradient", "matmul",
      {{"transpose_a", true}},
      {f32Tensor(gradY, {batch, outputs}), f32Tensor(x, {batch, inputs}),
       f32Tensor(part(gradients, 0, outputs * inputs * f32),
                 {outputs, inputs})});
  add(Kind::Launch, micro, 0, {}, 1, "bias gradient", "bias_gradient",
      extent(outputs),
      {floats(gradY),
       floats(part(gradients, outputs * inputs * f32, outputs * f32))});
  add(Kind::ReduceScatter, micro, 2, {1}, {}, "reduce", "", {communicator(1)},
      {floats(gradients), floats(state(GradientState))});
  if (isReplicated)
    add(Kind::AllReduce, update, 3, {}, 3, "replicas", "", {communicator(3)},
        {floats(state(GradientState))});
  add(Kind::Call, update, 0,
      isReplicated ? std::vector<int64_t>{3} : std::vector<int64_t>{}, 2,
      "norm", "sum_of_squares", {}, {floats(state(GradientState)), norms});
  add(Kind::AllReduce, update, 2, {2}, {}, "all norms", "",
      {{"double_double", true}, communicator(1)}, {norms});
  add(Kind::AllReduce, update, 2, {}, {}, "all losses", "",
      {communicator(isReplicated ? 2 : 1)}, {floats(state(LossState))});
  add(Kind::Launch, update, 0, {}, {}, "sgd", sgdKernel(shard, mesh),
      extent(shard),
      {floats(state(ParameterState)), floats(state(GradientState)),
       floats(state(MomentumState)), scalar(RateScalar),
       scalar(MicroBatchesScalar)});
  program.arenaBytes = arena.used;
  return program;
}

TinyModel::TinyModel(const Mesh &mesh) {
  const int64_t shards = mesh.axes.back().size;
  const int64_t shard = (parameterElements + shards - 1) / shards;
  for (int64_t i = 0; i < outputs * inputs; ++i)
    weight.push_back(0.1f * static_cast<float>(i % 5) - 0.2f);
  bias = {0.1f, 0.2f, 0.3f};
  mean = {0.5f};
  kernels = *MappedFile::open(SHARDC_TINY_KERNELS, ErrorCode::E0301);

  artifact.manifest.producer = "shardc test";
  artifact.manifest.model = "tiny";
  artifact.manifest.mesh = mesh;
  artifact.manifest.target = {"cpu", "x86_64-unknown-linux-gnu", "x86-64"};
  artifact.parameters = makeParameters(mesh, shard);
  artifact.program = makeProgram(mesh, shard);
  artifact.summary.arenaBytes = artifact.program.arenaBytes;
  artifact.summary.optimizer = {"sgd", {{"momentum", 0.9}}};
  artifact.code["kernels.so"] = kernels->bytes();
  artifact.weights = std::vector<NamedTensor>{
      {"linear.bias", Dtype::F32, {outputs}, std::as_bytes(std::span(bias))},
      {"linear.mean", Dtype::F32, {1}, std::as_bytes(std::span(mean))},
      {"linear.weight",
       Dtype::F32,
       {outputs, inputs},
       std::as_bytes(std::span(weight))}};
}

void reduceOncePerStep(Artifact &artifact) {
  Program &program = artifact.program;
  const auto sums = static_cast<int64_t>(artifact.parameters.states.size());
  const int64_t whole = artifact.parameters.segments[0].elements;
  artifact.parameters.states.push_back(
      {"sums", Role::Optimizer, "sums", Dtype::F32, whole, {}, {}});
  const TensorReference sum = floats(make(Space::State, sums, whole * f32));
  program.kernels.push_back({"accumulate",
                             whole,
                             {{whole * f32, f32, Access::Read},
                              {whole * f32, f32, Access::ReadWrite}}});
  program.sections = {{"begin", Repeat::Once, {}},
                      {"only", Repeat::OnlyMicroBatch, {}},
                      {"first", Repeat::FirstMicroBatch, {}},
                      {"middle", Repeat::MiddleMicroBatches, {}},
                      {"last", Repeat::LastMicroBatch, {}},
                      {"update", Repeat::Once, {}}};
  std::vector<Command> commands;
  auto add = [&](Command command, int64_t section) {
    command.section = section;
    commands.push_back(std::move(command));
  };
  for (int64_t section = 0; section < 6; ++section)
    for (Command command : program.commands) {
      const int64_t from = section == 0 ? 0 : section == 5 ? 2 : 1;
      if (command.section != from)
        continue;
      if (command.label == "zero gradient") {
        Command zero = command;
        zero.operands = {sum};
        add(zero, section);
      }
      if (command.kind != CommandKind::ReduceScatter) {
        add(command, section);
        continue;
      }
      Command accumulate = command;
      accumulate.kind = CommandKind::Launch;
      accumulate.callee = "accumulate";
      accumulate.attributes = {{"extent", whole}};
      accumulate.operands[1] = sum;
      add(accumulate, section);
      command.operands[0] = sum;
      command.waits.clear();
      if (section == 1 || section == 4)
        add(command, section);
    }
  program.commands = std::move(commands);
}

void updateInLastMicroBatch(Artifact &artifact) {
  reduceOncePerStep(artifact);
  Program &program = artifact.program;
  const int64_t reduced = program.eventCount++, only = 1, last = 4, update = 5;
  std::vector<Command> commands;
  for (int64_t section = 0; section < update; ++section)
    for (Command command : program.commands) {
      const bool isUpdate = command.section == update;
      if (command.section != section &&
          !(isUpdate && (section == only || section == last)))
        continue;
      if (command.kind == CommandKind::ReduceScatter)
        command.records = reduced;
      if (command.label == "norm")
        command.waits.push_back(reduced);
      command.section = section;
      commands.push_back(std::move(command));
    }
  program.commands = std::move(commands);
  program.sections.pop_back();
}

void addEvaluation(Artifact &artifact) {
  Program &program = artifact.program;
  const std::pair<const char *, int64_t> parts[] = {
      {"zero loss", 0}, {"own slot", 1}, {"gather", 1},
      {"linear", 1},    {"loss", 1},     {"all losses", 2}};
  const auto first = static_cast<int64_t>(program.sections.size());
  program.sections.push_back(
      {"evaluate_begin", Repeat::Once, {}, Run::Evaluation});
  program.sections.push_back(
      {"evaluate", Repeat::MicroBatches, {}, Run::Evaluation});
  program.sections.push_back(
      {"evaluate_end", Repeat::Once, {}, Run::Evaluation});
  std::vector<Command> added;
  for (const auto &[label, part] : parts)
    for (Command command : program.commands)
      if (command.label == label && command.section < first) {
        command.section = first + part;
        added.push_back(std::move(command));
      }
  program.commands.insert(program.commands.end(), added.begin(), added.end());
}

int64_t updateOnCondition(Artifact &artifact) {
  const auto go = static_cast<int64_t>(artifact.parameters.states.size());
  artifact.parameters.states.push_back(
      {"go", Role::Optimizer, "go", Dtype::Bool, 1, {}, {}});
  artifact.program.sections.back().condition = go;
  return go;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "shardc-XXXXXX").string();
  if (mkdtemp(pattern.data()))
    path = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string readFile(const std::string &path) {
  const std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

} // namespace shardc::testing
