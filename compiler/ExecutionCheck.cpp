//===- ExecutionCheck.cpp - Executing a program around every pass ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass instrumentation that observes and compares.
//===----------------------------------------------------------------------===//

#include "compiler/ExecutionCheck.h"

#include "compiler/TensorComparison.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Reference/RandomTensors.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace shardc {

/// Hands the passes' beginnings and ends on.
class ExecutionInstrumentation : public PassInstrumentation {
public:
  explicit ExecutionInstrumentation(ExecutionCheck &check) : check(check) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty()) // Not the adaptor of nested passes.
      check.runBefore(op);
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty())
      check.runAfter(pass, op);
  }

private:
  ExecutionCheck &check;
};

/// The program of the one function in `op`, or around it; null when it is below
/// what the interpreter knows.
static ModuleOp interpretable(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return nullptr;
  WalkResult walk = (*functions.begin()).getBody().walk([](Operation *inner) {
    return isa<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>(
               inner->getDialect())
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return walk.wasInterrupted() ? ModuleOp() : module;
}

static bool hasUpdate(ModuleOp module) {
  return module.walk([](fsdp::UpdateOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static FailureOr<Observation> observe(ModuleOp module, int64_t ranks) {
  constexpr uint64_t seed = 1;
  reference::Interpreter interpreter(module, ranks);
  reference::ShardedState &state = interpreter.getState();
  reference::setRandomState(state, seed);
  auto function = *module.getOps<func::FuncOp>().begin();
  FailureOr<reference::Execution> execution =
      interpreter.run(reference::randomInputs(function, ranks, seed));
  if (failed(execution))
    return failure();
  Observation observation;
  if (!execution->results.empty())
    observation["loss"] = execution->results.front();
  if (execution->losses)
    observation["loss"] = *execution->losses;
  if (execution->gradientNorm) {
    Builder builder(module.getContext());
    reference::Tensor norm(RankedTensorType::get({}, builder.getF32Type()));
    norm.mutableFloats()[0] = *execution->gradientNorm;
    observation["gradient norm"] = {norm};
  }
  bool isTrained = hasUpdate(module);
  for (const std::string &name : state.getNames()) {
    if (!state.isBuffer(name) && isTrained)
      observation["parameter " + name] = {state.get(name)};
    for (int64_t rank = 0; state.isBuffer(name) && rank < ranks; ++rank)
      observation["buffer " + name].push_back(state.get(name, rank));
  }
  return observation;
}

static SmallVector<Attribute> boundsOf(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  SmallVector<Attribute> bounds;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    bounds.push_back(function.getArgAttr(i, "shardc.upper_bound"));
  return bounds;
}

/// Passes whose task is to change dtypes, and with them the rounding.
static bool changesRounding(StringRef pass) {
  return pass == "shardc-apply-precision" ||
         pass == "shardc-widen-weight-gradients";
}

static bool hasNarrowFloats(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        for (Type type : op->getResultTypes())
          if (auto tensor = dyn_cast<RankedTensorType>(type))
            if (isa<FloatType>(tensor.getElementType()) &&
                tensor.getElementTypeBitWidth() < 32)
              return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

static void reportChange(Pass *pass, ModuleOp module, StringRef name,
                         int64_t rank, const Difference &difference) {
  InFlightDiagnostic diagnostic = module.emitError("E0702: pass ");
  std::string numbers;
  llvm::raw_string_ostream(numbers) << llvm::format(
      "%.9g instead of %.9g", difference.actual, difference.expected);
  diagnostic << pass->getArgument()
             << " changes what the program computes: " << name << " of rank "
             << rank << " is " << numbers << " at element " << difference.index;
  diagnostic.attachNote() << "help: this is a mistake in the pass; please "
                             "report it with the model";
}

void ExecutionCheck::runBefore(Operation *op) {
  if (!before.empty() || failed)
    return;
  if (ModuleOp module = interpretable(op)) {
    FailureOr<Observation> observed = observe(module, ranks);
    failed = mlir::failed(observed);
    if (!failed)
      before = std::move(*observed);
    bounds = boundsOf(module);
  }
}

void ExecutionCheck::runAfter(Pass *pass, Operation *op) {
  ModuleOp module = failed ? ModuleOp() : interpretable(op);
  if (!module)
    return;
  FailureOr<Observation> after = observe(module, ranks);
  if (mlir::failed(after)) {
    failed = true;
    return;
  }
  // One bf16 rounding moves a number by up to 2^-9 of itself, and a network has
  // some tens of them in a row: a tenth tells a wrong cast from rounding, and
  // nothing finer. Everywhere else 1e-5 is what f32 sums in another order need.
  bool isLoose =
      changesRounding(pass->getArgument()) && hasNarrowFloats(module);
  // The pass that bounds inputs changes what is drawn, and nothing else.
  bool isOtherData = bounds != boundsOf(module);
  bounds = boundsOf(module);
  for (const auto &[name, tensors] : *after) {
    auto earlier = before.find(name);
    if (earlier == before.end() || isOtherData)
      continue; // Gradients and updates appear with the passes that add them.
    for (auto [rank, tensor] : llvm::enumerate(tensors)) {
      std::optional<Difference> difference =
          compare(tensor, earlier->second[rank], isLoose ? 0.1 : 1e-5);
      if (!difference || failed)
        continue;
      failed = true;
      reportChange(pass, module, name, rank, *difference);
    }
  }
  before = std::move(*after);
}

void ExecutionCheck::add(PassManager &manager) {
  manager.getContext()->disableMultithreading();
  manager.addInstrumentation(std::make_unique<ExecutionInstrumentation>(*this));
}

} // namespace shardc
