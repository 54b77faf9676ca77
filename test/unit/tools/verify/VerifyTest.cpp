//===- VerifyTest.cpp - Right steps agree, damaged ones differ ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A small model with a BatchNorm, compiled for several ranks and policies; then
// its artifact is damaged in memory, as a mistake of a pass would damage it.
//===----------------------------------------------------------------------===//

#include "tools/verify/Verify.h"

#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "dialects/Exec/Exec.h"
#include "passes/CostModel/Target.h"
#include "passes/Differentiate/Optimizers.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Kernel/Passes.h"
#include "passes/Memory/Passes.h"
#include "runtime/format/CommandKinds.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::verify;
using format::CommandKind;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr const char *program = R"mlir(
module @small {
  fsdp.parameter @first.weight : tensor<12x8xf32>
  fsdp.parameter @first.bias : tensor<12xf32>
  fsdp.parameter @second.weight : tensor<5x12xf32>
  func.func @forward(%x: tensor<4x8xf32> {shardc.name = "x"},
                     %t: tensor<4xi64> {shardc.name = "t"}) -> tensor<f32> {
    %w1 = fsdp.read @first.weight : tensor<12x8xf32>
    %b1 = fsdp.read @first.bias : tensor<12xf32>
    %w2 = fsdp.read @second.weight : tensor<5x12xf32>
    %h = aten.linear %x, %w1, %b1 : (tensor<4x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %g = aten.gelu %h : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %y = aten.linear %g, %w2 : (tensor<4x12xf32>, tensor<5x12xf32>) -> tensor<4x5xf32>
    %loss, %log, %count = aten.cross_entropy_loss %y, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64} : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    return %loss : tensor<f32>
  }
}
)mlir";

class VerifyTest : public testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  VerifyOptions options;

  void SetUp() override {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(program, &context);
    ASSERT_TRUE(module);
    options.compile.worldSize = 2;
  }

  VerifyResult verify() { return verifyProgram(*module, nullptr, options); }

  VerifiedProgram compile() {
    FailureOr<VerifiedProgram> both = compileBoth(*module, options.compile);
    EXPECT_TRUE(succeeded(both));
    return std::move(*both);
  }

  VerifyResult compare(const VerifiedProgram &both) {
    return compareBoth(both, nullptr, options);
  }
};

static std::string describe(const VerifyResult &result) {
  std::string text;
  for (const VerifyDifference &d : result.differences)
    text += d.what + " step " + std::to_string(d.step) + " element " +
            std::to_string(d.element) + ": " + std::to_string(d.actual) +
            " for " + std::to_string(d.expected) + " within " +
            std::to_string(d.allowed) + "\n";
  return text;
}

static std::vector<std::string> kindsOf(const VerifyResult &result) {
  std::vector<std::string> kinds;
  for (const ComparedKind &kind : result.compared)
    kinds.push_back(kind.kind);
  return kinds;
}

std::vector<size_t> commandsOf(format::CommandKind kind,
                               const format::Program &program) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < program.commands.size(); ++i)
    if (program.commands[i].kind == kind)
      numbers.push_back(i);
  return numbers;
}

} // namespace

//===----------------------------------------------------------------------===//
// Right steps
//===----------------------------------------------------------------------===//

TEST_F(VerifyTest, ARightStepAgreesOnAnyNumberOfRanks) {
  for (int64_t ranks : {1, 2, 3, 5}) {
    options.compile.worldSize = ranks;
    VerifyResult result = verify();
    EXPECT_EQ(result.verdict, Verdict::Agrees) << ranks << describe(result);
    EXPECT_EQ(result.steps, 3);
  }
}

TEST_F(VerifyTest, ARightStepAgreesUnderEveryPolicy) {
  for (std::string dtype : {"f32", "bf16"})
    for (std::string optimizer : {"sgd", "adamw"})
      for (bool fuse : {true, false}) {
        options.compile.paramDtype = dtype;
        options.compile.optimizer = optimizer;
        options.compile.momentum = optimizer == "sgd" ? 0.9 : 0;
        options.compile.weightDecay = 0.1;
        options.compile.fuse = fuse;
        options.microBatches = 2;
        VerifyResult result = verify();
        EXPECT_EQ(result.verdict, Verdict::Agrees)
            << dtype << optimizer << fuse << "\n"
            << describe(result);
      }
}

TEST_F(VerifyTest, EverythingThatAStepComputesIsCompared) {
  options.compile.optimizer = "adamw";
  EXPECT_THAT(kindsOf(verify()),
              testing::UnorderedElementsAre(
                  "loss", "gradient", "gradient norm", "exp_avg", "exp_avg_sq",
                  "parameter", "bias_correction1", "bias_correction2"));
  options.compile.optimizer = "sgd";
  options.compile.momentum = 0.5;
  EXPECT_THAT(kindsOf(verify()), testing::Contains("momentum"));
}

TEST_F(VerifyTest, TheSameSeedGivesTheSameNumbers) {
  VerifyResult first = verify(), second = verify();
  ASSERT_EQ(first.compared.size(), second.compared.size());
  for (size_t i = 0; i < first.compared.size(); ++i)
    EXPECT_EQ(first.compared[i].error, second.compared[i].error);
}

//===----------------------------------------------------------------------===//
// Damaged steps
//===----------------------------------------------------------------------===//

// Each launch, library call and collective does something that is observed; a
// fill may clear what is written again, or padding that is zero already.
TEST_F(VerifyTest, ADroppedCommandIsSeen) {
  VerifiedProgram both = compile();
  format::Program &commands = both.compiled.artifact.program;
  for (size_t i = 0; i < commands.commands.size(); ++i) {
    const format::Program whole = commands;
    const format::Command &dropped = whole.commands[i];
    // What records an event that another command waits for cannot go alone.
    if (dropped.records || dropped.kind == format::CommandKind::Fill)
      continue;
    commands.commands.erase(commands.commands.begin() +
                            static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(compare(both).verdict, Verdict::Differs)
        << i << " " << format::kindName(dropped) << " " << dropped.label
        << " of section " << dropped.section;
    commands = whole;
  }
}

TEST_F(VerifyTest, AWrongOffsetIsSeen) {
  VerifiedProgram both = compile();
  format::Program &commands = both.compiled.artifact.program;
  const format::Program whole = commands;
  int changed = 0;
  for (size_t i : commandsOf(CommandKind::Launch, whole)) {
    format::Command &launch = commands.commands[i];
    format::BufferReference &operand = launch.operands.front().buffer;
    // The first operand, read one vector early.
    if (operand.space != format::Space::Arena || operand.offset < 64)
      continue;
    ++changed;
    operand.offset -= 64;
    // The rules of the format refuse some of them before they run.
    EXPECT_NE(compare(both).verdict, Verdict::Agrees) << i << launch.callee;
    commands = whole;
  }
  EXPECT_GT(changed, 0);
}

// The command that reads elsewhere is the first one that computes something
// else than it means; nothing of a right program does.
TEST_F(VerifyTest, TheFirstWrongCommandIsNamed) {
  VerifiedProgram both = compile();
  StatusOr<std::optional<WrongCommand>> none =
      checkEachCommand(both, nullptr, options);
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_FALSE(none->has_value()) << (*none)->difference;
  format::Program &commands = both.compiled.artifact.program;
  const format::Program whole = commands;
  int found = 0;
  for (size_t i : commandsOf(CommandKind::Launch, whole)) {
    format::Command &launch = commands.commands[i];
    format::BufferReference &operand = launch.operands.front().buffer;
    if (operand.space != format::Space::Arena || operand.offset < 64)
      continue;
    operand.offset -= 64;
    VerifyResult result = compare(both);
    if (result.verdict == Verdict::Differs) {
      ++found;
      ASSERT_TRUE(result.wrongCommand) << i << launch.callee;
      // Launches of one kernel are judged together.
      EXPECT_EQ(result.wrongCommand->operators, whole.commands[i].label);
    }
    commands = whole;
  }
  EXPECT_GT(found, 0);
}

TEST_F(VerifyTest, ALaunchThatComesTooEarlyIsSeen) {
  VerifiedProgram both = compile();
  format::Program &commands = both.compiled.artifact.program;
  std::vector<size_t> launches = commandsOf(CommandKind::Call, commands);
  ASSERT_GE(launches.size(), 2u);
  format::Command &first = commands.commands[launches[0]];
  format::Command &second = commands.commands[launches[1]];
  std::swap(first.callee, second.callee);
  std::swap(first.operands, second.operands);
  std::swap(first.attributes, second.attributes);
  EXPECT_EQ(compare(both).verdict, Verdict::Differs);
}

// Too few iterations leave elements that nobody wrote, which are poisoned.
TEST_F(VerifyTest, ElementsThatNobodyWroteAreSeen) {
  VerifiedProgram both = compile();
  format::Program &commands = both.compiled.artifact.program;
  const format::Program whole = commands;
  for (size_t i : commandsOf(CommandKind::Launch, whole)) {
    format::Command &launch = commands.commands[i];
    auto &extent = std::get<int64_t>(launch.attributes.at("extent"));
    if (extent < 2)
      continue;
    --extent;
    EXPECT_EQ(compare(both).verdict, Verdict::Differs) << launch.callee;
    commands = whole;
  }
}

TEST_F(VerifyTest, AWrongOptimizerIsSeenInTheUpdateAlone) {
  options.compile.optimizer = "adamw";
  VerifiedProgram both = compile();
  // The second moment is divided by the first's correction.
  for (format::Command &command : both.compiled.artifact.program.commands)
    if (command.label == "adamw")
      command.operands.back() = command.operands[command.operands.size() - 2];
  VerifyResult result = compare(both);
  ASSERT_EQ(result.verdict, Verdict::Differs);
  for (const VerifyDifference &difference : result.differences)
    EXPECT_THAT(difference.what, StartsWith("parameter"));
}

namespace {
/// Steps along the average of all gradients so far, by a rate that falls.
class Averaging : public Optimizer {
public:
  StringRef getName() const override { return "averaging"; }
  SmallVector<StringRef> getStates() const override { return {"sum"}; }
  SmallVector<StringRef> getNumbers() const override { return {"count"}; }
  Expression next(unsigned, Expression last) const override {
    return last + 1.0;
  }
  SmallVector<Expression> share(const StepNumbers &step) const override {
    return {step.learningRate / sqrt(step.numbers[0]), step.numbers[0]};
  }
  SmallVector<Expression> update(Expression parameter, Expression gradient,
                                 ArrayRef<Expression> states,
                                 ArrayRef<Expression> shared,
                                 bool) const override {
    Expression sum = states[0] + gradient;
    return {parameter - shared[0] * (sum / shared[1]), sum};
  }
};
} // namespace

/// Runs the phases up to `last` with another optimizer.
static LogicalResult runWith(const Optimizers &optimizers, ModuleOp module,
                             const Options &options, StringRef last) {
  for (const Phase &phase : getPhases()) {
    PassManager manager(module.getContext());
    if (phase.name == "differentiate")
      manager.addPass(createDifferentiatePass());
    else
      phase.addPasses(manager, options);
    if (failed(manager.run(module)))
      return failure();
    if (phase.name == "differentiate" &&
        failed(insertOptimizer(module, optimizers)))
      return failure();
    if (phase.name == last)
      break;
  }
  return success();
}

TEST_F(VerifyTest, AnotherOptimizerIsOneClass) {
  Optimizers averaging;
  averaging.push_back(std::make_unique<Averaging>());
  for (int64_t ranks : {1, 3}) {
    options.compile.worldSize = ranks;
    options.compile.keepKernels = true;
    VerifiedProgram both;
    both.commands = module->clone();
    ASSERT_TRUE(succeeded(
        runWith(averaging, both.commands.get(), options.compile, "memory")));
    FailureOr<CompiledProgram> code =
        buildProgramWithCode(both.commands.get(), options.compile);
    ASSERT_TRUE(succeeded(code));
    both.compiled = std::move(*code);
    both.reference = module->clone();
    ASSERT_TRUE(
        succeeded(runWith(averaging, both.reference.get(),
                          onOneRank(options.compile), "differentiate")));
    VerifyResult result = compare(both);
    EXPECT_EQ(result.verdict, Verdict::Agrees) << describe(result);
    EXPECT_THAT(kindsOf(result), testing::IsSupersetOf({"sum", "count"}));
  }
}

/// The section of that name.
static exec::SectionOp sectionOf(exec::ProgramOp program, StringRef name) {
  for (exec::SectionOp section : exec::getSections(program))
    if (section.getName() == name)
      return section;
  return nullptr;
}

/// Gradients and metrics are cleared by the micro-batch that comes first
/// instead of a section before it: four sections, of which a step runs the ones
/// that it has micro-batches for.
static void clearInFirstMicroBatch(exec::ProgramOp program) {
  exec::SectionOp begin = sectionOf(program, "begin");
  exec::SectionOp microBatch = sectionOf(program, "micro_batch");
  if (!microBatch) { // One rank: the first one is another already.
    sectionOf(program, "initial_micro_batch").erase();
    microBatch = sectionOf(program, "later_micro_batches");
  }
  OpBuilder builder(microBatch);
  for (exec::Repeat repeat :
       {exec::Repeat::only_micro_batch, exec::Repeat::first_micro_batch,
        exec::Repeat::middle_micro_batches, exec::Repeat::last_micro_batch}) {
    auto section = cast<exec::SectionOp>(builder.clone(*microBatch));
    section.setName(exec::stringifyRepeat(repeat));
    section.setRepeat(repeat);
    if (repeat == exec::Repeat::only_micro_batch ||
        repeat == exec::Repeat::first_micro_batch)
      for (Operation &op : llvm::reverse(begin.getBody().front()))
        OpBuilder::atBlockBegin(&section.getBody().front()).clone(op);
  }
  begin.erase();
  microBatch.erase();
}

/// Compiles with other sections than the memory phase makes.
static FailureOr<VerifiedProgram> compileWithSections(ModuleOp module,
                                                      const Options &options) {
  VerifiedProgram both;
  both.commands = module.clone();
  ModuleOp commands = both.commands.get();
  PassManager lower(module.getContext()), rest(module.getContext());
  lower.addPass(createLowerToCommandsPass());
  OutlineKernelsPassOptions outlining;
  outlining.keepKernels = true;
  rest.addPass(createOutlineKernelsPass(outlining));
  rest.addPass(createPlaceBuffersPass());
  rest.addPass(createInsertEventsPass());
  rest.addPass(createVerifyProgramPass());
  if (failed(runPhases(commands, options, "kernel")) ||
      failed(lower.run(commands)))
    return failure();
  auto program = *commands.getOps<exec::ProgramOp>().begin();
  clearInFirstMicroBatch(program);
  if (failed(rest.run(commands)))
    return failure();
  FailureOr<CompiledProgram> code = buildProgramWithCode(commands, options);
  both.reference = module.clone();
  if (failed(code) || failed(runPhases(both.reference.get(), onOneRank(options),
                                       "differentiate")))
    return failure();
  both.compiled = std::move(*code);
  return both;
}

TEST_F(VerifyTest, SectionsAreWhatTheProgramSays) {
  options.compile.skipNonFinite = true;
  for (int64_t ranks : {1, 2}) {
    options.compile.worldSize = ranks;
    FailureOr<VerifiedProgram> both =
        compileWithSections(*module, options.compile);
    ASSERT_TRUE(succeeded(both));
    for (int64_t microBatches : {1, 2, 3, 5}) {
      options.microBatches = microBatches;
      VerifyResult result = compare(*both);
      EXPECT_EQ(result.verdict, Verdict::Agrees)
          << ranks << " " << microBatches << describe(result);
      StatusOr<std::optional<WrongCommand>> wrong =
          checkEachCommand(*both, nullptr, options);
      ASSERT_TRUE(wrong.ok()) << wrong.status().message();
      EXPECT_FALSE(wrong->has_value()) << (*wrong)->difference;
    }
  }
}

/// The commands of the section of that name.
static std::vector<size_t> commandsIn(StringRef name,
                                      const format::Program &program) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < program.commands.size(); ++i)
    if (program.sections[program.commands[i].section].name == name)
      numbers.push_back(i);
  return numbers;
}

// Without what writes the flag it stays false.
TEST_F(VerifyTest, AnUpdateThatDoesNotRunIsSeen) {
  options.compile.skipNonFinite = true;
  VerifiedProgram both = compile();
  format::Program &changed = both.compiled.artifact.program;
  const std::vector<size_t> check = commandsIn("check", changed);
  changed.commands.erase(changed.commands.begin() + check.back());
  VerifyResult result = compare(both);
  ASSERT_EQ(result.verdict, Verdict::Differs);
  EXPECT_THAT(result.differences.front().what, StartsWith("parameter"));
}

TEST_F(VerifyTest, ScaledStepsAndEvaluationsAgree) {
  options.compile.evaluation = true;
  options.microBatches = 2;
  for (std::string scale : {"1", "12", "dynamic"})
    for (int64_t ranks : {1, 3}) {
      options.compile.lossScale = scale;
      options.compile.worldSize = ranks;
      VerifyResult result = verify();
      EXPECT_EQ(result.verdict, Verdict::Agrees) << scale << describe(result);
      EXPECT_THAT(kindsOf(result), testing::Contains("evaluation"));
    }
}

TEST_F(VerifyTest, ADroppedCommandOfAnEvaluationIsSeen) {
  options.compile.evaluation = true;
  VerifiedProgram both = compile();
  std::vector<format::Command> &commands =
      both.compiled.artifact.program.commands;
  const std::vector<format::Command> whole = commands;
  for (StringRef name : {"evaluate_begin", "evaluate", "evaluate_end"})
    for (size_t number : commandsIn(name, both.compiled.artifact.program)) {
      commands.erase(commands.begin() + number);
      VerifyResult result = compare(both);
      // Streams' waits for it are then broken.
      EXPECT_NE(result.verdict, Verdict::Agrees) << name.str() << number;
      if (result.verdict == Verdict::Differs)
        EXPECT_THAT(result.differences.front().what, StartsWith("evaluation"));
      commands = whole;
    }
}

/// Two vector widths, three memories, the nearest of which holds 32 elements,
/// sums in f32 and a library of these calls.
static Target toyTarget(std::string name, std::vector<std::string> calls) {
  Target toy;
  toy.name = std::move(name);
  toy.processor = "x86-64-v2"; // Its code runs on this machine.
  toy.vectorBytes = {16, 8};
  toy.threads = 2;
  toy.threadWork = 64;
  toy.memories = {
      {"registers", 256, 8}, {"scratchpad", 4096, 32}, {"memory", 0, 128}};
  toy.accumulator = "f32";
  toy.libraryCalls = std::move(calls);
  return toy;
}

TEST_F(VerifyTest, AnotherTargetIsOneEntry) {
  addTarget(toyTarget("toy", {"matmul"}));
  options.compile.cpu = "toy";
  for (int64_t ranks : {1, 3}) {
    options.compile.worldSize = ranks;
    VerifiedProgram both = compile();
    const format::Artifact &artifact = both.compiled.artifact;
    EXPECT_EQ(artifact.manifest.target.cpu, "x86-64-v2");
    EXPECT_EQ(artifact.program.arenaBytes % 128, 0);
    VerifyResult result = compare(both);
    EXPECT_EQ(result.verdict, Verdict::Agrees) << describe(result);
  }
}

TEST_F(VerifyTest, ATargetHasTheCallsThatItNames) {
  addTarget(toyTarget("toy without products", {"convolution"}));
  options.compile.cpu = "toy without products";
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_EQ(verify().verdict, Verdict::NotCompiled);
  EXPECT_THAT(message,
              HasSubstr("E0240: operator 'aten.linear' has no kernel"));
}

TEST_F(VerifyTest, ADifferenceNamesTensorStepRankAndElement) {
  VerifiedProgram both = compile();
  format::Artifact &artifact = both.compiled.artifact;
  // The first micro-batch adds to poison in place of overwriting it.
  for (size_t i : commandsOf(CommandKind::ReduceScatter, artifact.program))
    artifact.program.commands[i].operands.resize(2);
  VerifyResult result = compare(both);
  ASSERT_EQ(result.verdict, Verdict::Differs) << describe(result);
  const VerifyDifference &difference = result.differences.front();
  EXPECT_EQ(difference.step, 1);
  EXPECT_THAT(difference.what, StartsWith("gradient "));
  EXPECT_FALSE(std::abs(difference.actual - difference.expected) <=
               difference.allowed);
}

//===----------------------------------------------------------------------===//
// What cannot be compared
//===----------------------------------------------------------------------===//

TEST_F(VerifyTest, AnInvalidArtifactIsNotRun) {
  VerifiedProgram both = compile();
  both.compiled.artifact.program.commands.front().stream = 99;
  VerifyResult result = compare(both);
  EXPECT_EQ(result.verdict, Verdict::NotRun);
  EXPECT_EQ(result.status.code(), ErrorCode::E0309);
}

TEST_F(VerifyTest, MissingDataIsNamed) {
  options.data = "nowhere.safetensors";
  VerifyResult result = verify();
  EXPECT_EQ(result.verdict, Verdict::NotRun);
  EXPECT_EQ(result.status.code(), ErrorCode::E0403);
}

TEST_F(VerifyTest, AProgramThatIsRefusedIsNotCompared) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  options.compile.worldSize = 0;
  EXPECT_EQ(verify().verdict, Verdict::NotCompiled);
  EXPECT_THAT(message, HasSubstr("E0201"));
}
