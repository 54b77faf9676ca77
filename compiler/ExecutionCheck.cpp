//===- ExecutionCheck.cpp - Executing a program around every pass ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass instrumentation that observes and compares.
//===----------------------------------------------------------------------===//

#include "compiler/ExecutionCheck.h"

#include "compiler/TensorComparison.h"
#include "dialects/Aten/Aten.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace shardc {

/// Hands the passes' beginnings and ends on.
class ExecutionInstrumentation : public PassInstrumentation {
public:
  explicit ExecutionInstrumentation(ExecutionCheck &check) : check(check) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty()) // Not the adaptor of nested passes.
      check.runBefore(pass, op);
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (!pass->getArgument().empty())
      check.runAfter(pass, op);
  }

private:
  ExecutionCheck &check;
};

static SmallVector<Attribute> boundsOf(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  SmallVector<Attribute> bounds;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    bounds.push_back(function.getArgAttr(i, "shardc.upper_bound"));
  return bounds;
}

/// Passes whose task is to change dtypes, and with them the rounding.
static bool changesRounding(StringRef pass) {
  return pass == "shardc-apply-precision" || pass == "shardc-narrow-masters" ||
         pass == "shardc-widen-weight-gradients";
}

/// Passes that do what the user asked for in place of what the model says.
static bool changesModel(StringRef pass) {
  return pass == "shardc-choose-batch-norm-statistics" ||
         pass == "shardc-broadcast-statistics";
}

/// Whether the loss does not show the slope of some value, as of the row of an
/// embedding that has no gradient.
static bool saysSlopes(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        auto embedding = dyn_cast<aten::EmbeddingOp>(op);
        const bool isPadded =
            embedding && static_cast<int64_t>(embedding.getPaddingIdx()) >= 0;
        return isPadded || isa<aten::DetachOp, aten::WithSlopeOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
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

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static InFlightDiagnostic report(Pass *pass, ModuleOp module) {
  InFlightDiagnostic diagnostic = module.emitError("E0702: pass ");
  diagnostic << pass->getArgument() << " changes what the program computes: ";
  diagnostic.attachNote() << "help: this is a bug in the pass; please "
                             "report it with the model";
  return diagnostic;
}

namespace {
/// How two observations are compared.
struct Comparison {
  Pass *pass;
  ModuleOp module;
  /// Of an element's magnitude; a tenth of it of the tensor's largest.
  double tolerance;
};
} // namespace

/// What a name says of its tensor: "gradient" of "gradient a of step 1".
static StringRef kindOf(StringRef name) { return name.split(' ').first; }

/// The largest magnitude of each kind of tensor. Where a sum is 0 but for
/// rounding, such as the gradient of a bias before a normalization, rounding is
/// all there is: it is as large as the terms, which are as large as the other
/// tensors of its kind.
static llvm::StringMap<double> magnitudesOf(const Observation &observation) {
  llvm::StringMap<double> magnitudes;
  for (const auto &[name, tensors] : observation) {
    double &largest = magnitudes[kindOf(name)];
    for (const reference::Tensor &tensor : tensors)
      if (tensor.isFloat())
        for (double value : tensor.floats())
          if (std::isfinite(value))
            largest = std::max(largest, std::abs(value));
  }
  return magnitudes;
}

/// Whether all tensors under one name agree; reports the worst element of the
/// first that does not.
static bool agree(const Comparison &comparison, StringRef name,
                  const reference::RankTensors &actual,
                  const reference::RankTensors &expected, double floor) {
  for (auto [rank, tensor] : llvm::enumerate(actual)) {
    std::optional<Difference> difference =
        compare(tensor, expected[rank], comparison.tolerance, floor);
    if (!difference)
      continue;
    std::string numbers;
    llvm::raw_string_ostream(numbers) << llvm::format(
        "%.9g instead of %.9g", difference->actual, difference->expected);
    report(comparison.pass, comparison.module)
        << name << " of rank " << rank << " is " << numbers << " at element "
        << difference->index;
    return false;
  }
  return true;
}

/// Gradients and updates appear with the passes that add them; nothing that was
/// observed may go.
static bool agree(const Comparison &comparison, const Observation &actual,
                  const Observation &expected) {
  llvm::StringMap<double> magnitudes = magnitudesOf(expected);
  for (const auto &[name, tensors] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) {
      report(comparison.pass, comparison.module)
          << name << " is not computed any more";
      return false;
    }
    if (!agree(comparison, name, found->second, tensors,
               comparison.tolerance * 1e-3 * magnitudes[kindOf(name)]))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

bool ExecutionCheck::observe(ModuleOp module, Observation &observation) {
  FailureOr<Observation> observed = observeTensors(module, ranks);
  if (mlir::failed(observed))
    return false;
  observation = std::move(*observed);
  return true;
}

bool ExecutionCheck::observeExactly(ModuleOp module, Observation &observation) {
  reference::ExactArithmetic arithmetic;
  return observe(module, observation);
}

void ExecutionCheck::runBefore(Pass *pass, Operation *op) {
  ModuleOp module = failed ? ModuleOp() : findTensorProgram(op);
  if (!module)
    return;
  if (exact.empty()) {
    failed = !observeExactly(module, exact);
    bounds = boundsOf(module);
    print.emplace(module);
  }
  StringRef name = pass->getArgument();
  if (name == "shardc-differentiate")
    hasOwnSlopes = saysSlopes(module);
  if (!failed && (changesRounding(name) || name == "shardc-lower-to-commands"))
    failed = !observe(module, rounded);
}

/// Whether `pass` makes or changes commands.
static bool changesCommands(StringRef pass) {
  return llvm::is_contained({"shardc-lower-to-commands",
                             "shardc-outline-kernels", "shardc-place-buffers",
                             "shardc-insert-events"},
                            pass);
}

/// The same bits as the tensors: in the order of the list, and once there are
/// events in another order that they leave open.
bool ExecutionCheck::checkCommands(Pass *pass, ModuleOp module) {
  Comparison comparison{pass, module, 0};
  std::optional<uint64_t> order;
  if (pass->getArgument() == "shardc-insert-events")
    order = 1;
  FailureOr<Observation> observed = observeCommands(module, order);
  return succeeded(observed) && agree(comparison, *observed, rounded);
}

/// Gradients against difference quotients, along a direction that all
/// parameters take part in.
bool ExecutionCheck::checkGradients(Pass *pass, ModuleOp module) {
  for (const ObservedRun &run : observedRuns()) {
    FailureOr<DirectionalDerivative> derivative =
        differentiateNumerically(module, ranks, run.seed);
    if (mlir::failed(derivative))
      return false;
    // The quotient divides by 2e-8 what has 16 digits. A derivative's constants
    // have its operator's dtype: one over a count is off by a rounding.
    double relative = hasNarrowFloats(module) ? 0x1p-8 : 1e-5;
    double allowed =
        relative * derivative->magnitude + 1e-7 * derivative->loss * lossScale;
    double slope = derivative->fromLosses * lossScale;
    if (std::abs(derivative->fromGradients - slope) <= allowed)
      continue;
    std::string numbers;
    llvm::raw_string_ostream(numbers) << llvm::format(
        "%.9g, and the loss changes by %.9g", derivative->fromGradients, slope);
    report(pass, module) << "along a direction with seed " << run.seed
                         << " the gradients add up to " << numbers;
    return false;
  }
  return true;
}

void ExecutionCheck::runAfter(Pass *pass, Operation *op) {
  if (failed)
    return;
  ModuleOp module = findTensorProgram(op);
  if (!module) {
    if (changesCommands(pass->getArgument()))
      failed = !checkCommands(pass, cast<ModuleOp>(op));
    return;
  }
  OperationFingerPrint after(module);
  if (print && *print == after)
    return;
  print = after;
  Observation exactly;
  failed = !observeExactly(module, exactly);
  if (failed)
    return;
  // The pass that bounds inputs changes what is drawn, and nothing else.
  bool isOtherData = bounds != boundsOf(module);
  bounds = boundsOf(module);
  if (!isOtherData && !changesModel(pass->getArgument())) {
    // Kernels have their constants in f32: on real numbers that is what
    // differs.
    bool changesConstants = pass->getArgument() == "shardc-form-kernels";
    failed =
        !agree({pass, module, changesConstants ? 1e-5 : 1e-8}, exactly, exact);
    // One bf16 rounding moves a number by up to 2^-9 of itself, and a network
    // has some tens of them in a row: a tenth tells a wrong cast from rounding,
    // and nothing finer.
    Observation asRounded;
    if (!failed && changesRounding(pass->getArgument()))
      failed = !observe(module, asRounded) ||
               !agree({pass, module, 0.1}, asRounded, rounded);
  }
  if (!failed && pass->getArgument() == "shardc-differentiate" && !hasOwnSlopes)
    failed = !checkGradients(pass, module);
  exact = std::move(exactly);
}

void ExecutionCheck::add(PassManager &manager) {
  manager.getContext()->disableMultithreading();
  manager.addInstrumentation(std::make_unique<ExecutionInstrumentation>(*this));
}

} // namespace shardc
