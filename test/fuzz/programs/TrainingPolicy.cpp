//===- TrainingPolicy.cpp - How a random program is trained ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table of options says how each is written and read.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/TrainingPolicy.h"

#include "dialects/Fsdp/Fsdp.h"
#include "passes/CostModel/Target.h"
#include "passes/Import/ModuleStack.h"
#include "runtime/cpu/InstructionSet.h"
#include "runtime/format/LibraryCalls.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <charconv>
#include <variant>

using namespace mlir;

namespace shardc::fuzz {

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

/// The paths of the modules that operations of `program` ran under.
static std::vector<std::string> modulePaths(ModuleOp program) {
  llvm::SetVector<StringRef> paths;
  program.walk([&](Operation *op) {
    FailureOr<SmallVector<ModuleFrame>> frames = decodeModuleStack(op);
    if (succeeded(frames))
      for (const ModuleFrame &frame : *frames)
        paths.insert(frame.path.getValue());
  });
  std::vector<std::string> list;
  for (StringRef path : paths)
    list.push_back(path.str());
  return list;
}

/// A pattern of this name alone.
static std::string escaped(StringRef name) {
  std::string pattern;
  for (char c : name)
    pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  return pattern;
}

/// Patterns of some modules' paths.
static std::string randomWrap(ModuleOp program, RandomSource &random) {
  std::vector<std::string> paths = modulePaths(program);
  if (paths.empty() || random.chance(0.5))
    return "blocks";
  random.shuffle(paths);
  paths.resize(random.between(1, std::min<int64_t>(paths.size(), 3)));
  std::string patterns;
  for (StringRef path : paths) {
    patterns += patterns.empty() ? "" : ",";
    patterns += escaped(path);
  }
  return patterns;
}

/// A policy of its own for one wrapped module, which casts at both ends.
static std::string randomRules(StringRef wrap, RandomSource &random) {
  if (wrap == "blocks" || random.chance(0.7))
    return "";
  std::string path = wrap.split(',').first.str();
  llvm::erase(path, '\\');
  return path + random.pick({":param_dtype=bf16,output_dtype=f32",
                             ":param_dtype=f32,output_dtype=bf16",
                             ":param_dtype=bf16,reduce_dtype=bf16,"
                             "output_dtype=f32,reshard_after_forward=always"});
}

static std::string randomProcessor(RandomSource &random) {
  // Each has what the ones before it have.
  static constexpr StringLiteral levels[] = {"x86-64-v3", "x86-64-v2", "x86-64",
                                             "x86-64-v4"};
  int64_t count =
      runtime::instructionSet() == runtime::InstructionSet::Avx512 ? 4 : 3;
  return random.chance(0.4) ? levels[0].str()
                            : levels[random.below(count)].str();
}

static void drawOptimizer(Options &options, ModuleOp program,
                          RandomSource &random) {
  std::vector<std::string> trained;
  for (auto parameter : program.getOps<fsdp::ParameterOp>())
    if (!parameter.getFrozen())
      trained.push_back(parameter.getSymName().str());
  options.optimizer =
      random.pick({"sgd", "sgd", "adamw", "adamw", "adam", "lion", "muon"});
  if (random.chance(0.5))
    options.weightDecay = 0.1;
  if (options.optimizer == "sgd" && random.chance(0.5)) {
    options.momentum = 0.9;
    options.nesterov = random.chance(0.3);
    if (!options.nesterov && random.chance(0.3))
      options.dampening = random.pick({0.25, 1.0});
  }
  if (options.optimizer == "muon") {
    if (random.chance(0.3))
      options.momentum = 0.5;
    options.adjustLearningRate = random.pick(
        {"original", "original", "match_rms_adamw", "spectral_unclamped"});
  }
  if (StringRef(options.optimizer).starts_with("adam") ||
      options.optimizer == "muon")
    options.amsgrad = random.chance(0.2);
  options.maximize = random.chance(0.1);
  if (random.chance(0.2))
    options.clipGradNorm = random.pick({0.01, 0.3, 10.0});
  if (random.chance(0.15))
    options.clipGradValue = random.pick({0.001, 0.1, 10.0});
  if (random.chance(0.15))
    options.stateDtype = "bf16";
  if (!trained.empty() && random.chance(0.2)) {
    options.paramGroups = escaped(trained[random.below(trained.size())]) +
                          random.pick({":weight_decay=0", ":lr_scale=0.5",
                                       ":weight_decay=0.2,lr_scale=2"});
    if (options.optimizer == "muon" && random.chance(0.5))
      options.paramGroups += ",optimizer=adamw";
  }
}

/// A GPU whose limits are so low that small programs reach them: blocks of a
/// loop, tiles, parts of sums and of rows, sorted scatters, padded classes.
static const Target &smallGpu() {
  static const Target &added = []() -> const Target & {
    Target target = *findTarget("cuda");
    target.name = "cuda-small";
    target.threads = maxThreadsOfMultiprocessor;
    target.threadWork = 32;
    target.blockThreads = 64;
    target.memories.front().lineBytes = 16;
    target.nearRowBytes = 32;
    target.fewestSortedRows = 3;
    target.fewestPaddedClasses = 3;
    addTarget(target);
    return *findTarget("cuda-small");
  }();
  return added;
}

bool runsOnGpus(ModuleOp program) {
  return !program
              .walk([](Operation *op) {
                const format::LibraryCallKind *call =
                    format::findLibraryCall(op->getName().stripDialect());
                return call && isForProcessors(call->id)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

TrainingPolicy randomPolicy(ModuleOp program, RandomSource &random) {
  TrainingPolicy policy;
  Options &options = policy.options;
  options.worldSize = random.pick<int64_t>({1, 2, 2, 3, 4, 5});
  if (options.worldSize % 2 == 0 && random.chance(0.4))
    options.replicate = random.pick({int64_t(2), options.worldSize});
  options.wrap = randomWrap(program, random);
  options.moduleRules = randomRules(options.wrap, random);
  if (random.chance(0.4)) {
    options.paramDtype = random.pick({"bf16", "bf16", "bf16", "f16"});
    options.reduceDtype = random.pick({"", "f32", "bf16", "f16"});
    if (random.chance(0.3)) {
      options.masterDtype = "bf16";
      options.rounding = random.pick({"nearest", "stochastic", "stochastic"});
    }
  }
  options.reshard = random.pick({"default", "always", "never"});
  if (int64_t shards = options.worldSize / options.replicate;
      shards == 4 && random.chance(0.5))
    options.reshard = "2";
  if (random.chance(0.3))
    options.batchNormStats =
        random.pick({"local", "sync", "sync", "broadcast"});
  if (random.chance(0.3))
    options.recompute = random.pick({"full", "full", "selective"});
  options.prefetch = std::to_string(random.between(0, 3));
  options.fuse = !random.chance(0.2);
  options.cpu = randomProcessor(random);
  drawOptimizer(options, program, random);
  policy.microBatches = random.chance(0.6) ? 1 : random.between(2, 3);
  policy.steps = random.between(1, 3);
  policy.threads = static_cast<int>(random.pick({1, 1, 2, 3, 4}));
  // Large steps diverge, and infinities tell little.
  policy.learningRate = random.pick({0.001, 0.01});
  policy.dataSeed = static_cast<uint64_t>(random.between(1, 1000));
  policy.further = random.pick({FurtherCheck::none, FurtherCheck::none,
                                FurtherCheck::fusion, FurtherCheck::ranks});
  options.evaluation = random.chance(0.25);
  if (random.chance(0.2))
    options.lossScale = random.pick({"dynamic", "128", "3"});
  if (options.lossScale == "1" &&
      (options.paramDtype == "f16" || options.reduceDtype == "f16"))
    options.lossScale = random.pick({"dynamic", "16"});
  options.skipNonFinite = random.chance(0.1);
  options.gradientSync =
      policy.microBatches > 1 && random.chance(0.4) ? "last" : "each";
  options.gradientDtype = random.chance(0.25) ? "reduce" : "f32";
  const bool isForGpu = random.chance(0.25);
  setTarget(policy, isForGpu && runsOnGpus(program) ? "cuda" : "cpu");
  if (random.chance(0.6))
    options.gpu = smallGpu().name;
  return policy;
}

void setTarget(TrainingPolicy &policy, StringRef target) {
  policy.options.target = target.str();
  policy.options.chips.clear();
  if (target == "cuda")
    policy.options.chips.push_back("emulated");
}

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

namespace {

/// An option's flag and where it is kept.
struct Flag {
  StringLiteral name;
  std::variant<std::string *, int64_t *, unsigned *, int *, uint64_t *,
               double *, bool *, FurtherCheck *>
      value;
};

} // namespace

static SmallVector<Flag> flagsOf(TrainingPolicy &policy) {
  Options &options = policy.options;
  return {{"--world-size", &options.worldSize},
          {"--replicate", &options.replicate},
          {"--wrap", &options.wrap},
          {"--module-rules", &options.moduleRules},
          {"--param-dtype", &options.paramDtype},
          {"--reduce-dtype", &options.reduceDtype},
          {"--reshard", &options.reshard},
          {"--recompute", &options.recompute},
          {"--batch-norm-stats", &options.batchNormStats},
          {"--prefetch", &options.prefetch},
          {"--fuse", &options.fuse},
          {"--target", &options.target},
          {"--gpu", &options.gpu},
          {"--cpu", &options.cpu},
          {"--optimizer", &options.optimizer},
          {"--momentum", &options.momentum},
          {"--dampening", &options.dampening},
          {"--nesterov", &options.nesterov},
          {"--adjust-lr-fn", &options.adjustLearningRate},
          {"--amsgrad", &options.amsgrad},
          {"--maximize", &options.maximize},
          {"--state-dtype", &options.stateDtype},
          {"--master-dtype", &options.masterDtype},
          {"--rounding", &options.rounding},
          {"--clip-grad-value", &options.clipGradValue},
          {"--weight-decay", &options.weightDecay},
          {"--param-groups", &options.paramGroups},
          {"--clip-grad-norm", &options.clipGradNorm},
          {"--loss-scale", &options.lossScale},
          {"--gradient-sync", &options.gradientSync},
          {"--gradient-dtype", &options.gradientDtype},
          {"--skip-non-finite", &options.skipNonFinite},
          {"--evaluation", &options.evaluation},
          {"--micro-batches", &policy.microBatches},
          {"--steps", &policy.steps},
          {"--threads", &policy.threads},
          {"--lr", &policy.learningRate},
          {"--seed", &policy.dataSeed},
          {"--check", &policy.further}};
}

static constexpr StringLiteral checkNames[] = {"none", "fusion", "ranks"};

static std::string textOf(std::string *value) { return *value; }
static std::string textOf(bool *value) { return *value ? "true" : "false"; }
static std::string textOf(FurtherCheck *value) {
  return checkNames[static_cast<int>(*value)].str();
}
/// As many digits as it takes to read the number back.
static std::string textOf(double *value) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), *value).ptr;
  return {text.data(), end};
}
template <typename T>
static std::string textOf(T *value) {
  return llvm::formatv("{0}", *value).str();
}

static std::string textOf(const Flag &flag) {
  return std::visit([](auto *value) { return textOf(value); }, flag.value);
}

std::string describe(const TrainingPolicy &policy) {
  TrainingPolicy given = policy, defaults;
  std::string text;
  for (auto [flag, other] : llvm::zip_equal(flagsOf(given), flagsOf(defaults)))
    if (textOf(flag) != textOf(other))
      text += (text.empty() ? "" : " ") + flag.name.str() + " " + textOf(flag);
  return text;
}

static bool parseInto(StringRef text, std::string *value) {
  *value = text.str();
  return true;
}
static bool parseInto(StringRef text, bool *value) {
  *value = text == "true";
  return *value || text == "false";
}
static bool parseInto(StringRef text, double *value) {
  return !text.getAsDouble(*value);
}
static bool parseInto(StringRef text, FurtherCheck *value) {
  const auto *found = llvm::find(checkNames, text);
  *value = static_cast<FurtherCheck>(found - std::begin(checkNames));
  return found != std::end(checkNames);
}
template <typename T>
static bool parseInto(StringRef text, T *value) {
  return !text.getAsInteger(10, *value);
}

FailureOr<TrainingPolicy> parsePolicy(StringRef text) {
  TrainingPolicy policy;
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  SmallVector<Flag> flags = flagsOf(policy);
  for (size_t i = 0; i < words.size(); i += 2) {
    auto *flag = llvm::find_if(
        flags, [&](const Flag &known) { return known.name == words[i]; });
    if (flag == flags.end() || i + 1 == words.size() ||
        !std::visit([&](auto *value) { return parseInto(words[i + 1], value); },
                    flag->value))
      return failure();
  }
  setTarget(policy, policy.options.target);
  (void)smallGpu();
  return policy;
}

} // namespace shardc::fuzz
