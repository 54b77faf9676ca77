//===- ModelReport.cpp - What an export holds -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names, parameters and operators come from the file; costs from the operators
// that the model is translated to, each at its module path.
//===----------------------------------------------------------------------===//

#include "compiler/ModelReport.h"

#include "compiler/ModelInput.h"
#include "compiler/Translation/GraphTranslator.h"
#include "compiler/Translation/TranslateExportedProgram.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/StringSet.h"

#include <tuple>

using namespace mlir;

namespace shardc {

namespace {

/// Fills in one report.
class Reporter {
public:
  Reporter(const pt2::ExportedModel &model, ModelReport &report)
      : model(model), graph(model.program.graph), report(report) {}

  void addProgram();
  void addModules();
  void addOperators(const std::vector<translation::OperatorUse> &uses);
  void addCosts(ModuleOp module);

private:
  const pt2::ExportedModel &model;
  const pt2::Graph &graph;
  ModelReport &report;
  llvm::StringMap<size_t> moduleIndex;

  void addTensor(const std::string &name, std::vector<ReportedTensor> &list);
  void addModule(StringRef path, StringRef type);
  void nameModules(const pt2::Graph &nodes);
  void addState(const pt2::InputSpec &spec, llvm::StringSet<> &counted);
  /// Calls `visit` with the module at `path` and all around it.
  void forEnclosing(StringRef path,
                    llvm::function_ref<void(ReportedModule &)> visit);
};

} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Reporter::addTensor(const std::string &name,
                         std::vector<ReportedTensor> &list) {
  const pt2::TensorMeta *meta = graph.findTensor(name);
  if (!meta)
    return;
  ReportedTensor tensor{name, std::string(pt2::spelling(meta->dtype)), {}};
  for (const pt2::SymInt &size : meta->sizes)
    tensor.shape.push_back(size.value.value_or(-1));
  list.push_back(std::move(tensor));
}

void Reporter::addProgram() {
  const pt2::ExportedProgram &program = model.program;
  report.torchVersion = program.torchVersion;
  report.schemaVersion = std::to_string(program.schemaVersion.major) + "." +
                         std::to_string(program.schemaVersion.minor);
  report.isTrainingIr = program.isTrainingIr();
  report.hasWeights = !model.weights.isWeightFree();
  for (const pt2::InputSpec &spec : program.signature.inputs)
    if (spec.kind == pt2::InputKind::UserInput)
      addTensor(spec.name, report.inputs);
  for (const pt2::OutputSpec &spec : program.signature.outputs)
    if (const auto *tensor = spec.argument.getIf<pt2::TensorRef>())
      addTensor(tensor->name, report.outputs);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The path of the module around `path`; empty for the whole model.
static StringRef parentPath(StringRef path) {
  return path.contains('.') ? path.rsplit('.').first : StringRef();
}

void Reporter::forEnclosing(StringRef path,
                            llvm::function_ref<void(ReportedModule &)> visit) {
  for (StringRef at = path;; at = parentPath(at)) {
    if (auto found = moduleIndex.find(at); found != moduleIndex.end())
      visit(report.modules[found->second]);
    if (at.empty())
      return;
  }
}

void Reporter::addModule(StringRef path, StringRef type) {
  auto [place, isNew] = moduleIndex.try_emplace(path, report.modules.size());
  if (!isNew) {
    if (!type.empty())
      report.modules[place->second].type = type.str();
    return;
  }
  ReportedModule module;
  module.path = path.str();
  module.type = type.str();
  report.modules.push_back(std::move(module));
}

static StringRef className(StringRef type) {
  return type.rsplit('.').second.empty() ? type : type.rsplit('.').second;
}

/// Modules that nodes were traced under, with their classes.
void Reporter::nameModules(const pt2::Graph &nodes) {
  for (const pt2::Node &node : nodes.nodes) {
    for (const pt2::ModuleFrame &frame : node.moduleStack)
      addModule(frame.path, className(frame.typeName));
    if (const pt2::Graph *inner = translation::regionOf(node))
      nameModules(*inner);
  }
}

void Reporter::addState(const pt2::InputSpec &spec,
                        llvm::StringSet<> &counted) {
  const pt2::TensorMeta *meta = graph.findTensor(spec.name);
  bool isParameter = spec.kind == pt2::InputKind::Parameter;
  if (!meta || (!isParameter && spec.kind != pt2::InputKind::Buffer))
    return;
  if (!counted.insert(spec.target).second)
    return;
  int64_t elements = 1;
  for (const pt2::SymInt &size : meta->sizes)
    elements *= size.value.value_or(0);
  int64_t bytes = elements * pt2::byteSize(meta->dtype);
  forEnclosing(parentPath(spec.target), [&](ReportedModule &module) {
    (isParameter ? module.parameterBytes : module.bufferBytes) += bytes;
    if (!isParameter)
      return;
    module.parameters += elements;
    module.dtypes.insert(std::string(pt2::spelling(meta->dtype)));
  });
}

void Reporter::addModules() {
  addModule("", "");
  for (const pt2::ModuleCallEntry &entry : model.program.moduleCallGraph)
    addModule(entry.fqn, "");
  nameModules(graph);
  llvm::StringSet<> counted;
  // A tied parameter is one tensor: its further names count as seen.
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    if (counted.contains(spec.target))
      continue;
    addState(spec, counted);
    for (const pt2::NameGroup &names : model.weights.tiedNames())
      if (llvm::is_contained(names, spec.target))
        for (const std::string &name : names)
          counted.insert(name);
  }
  for (ReportedModule &module : report.modules)
    if (!module.path.empty()) {
      module.depth = 1;
      for (StringRef at = parentPath(module.path); !at.empty();
           at = parentPath(at))
        module.depth += moduleIndex.contains(at);
    }
}

//===----------------------------------------------------------------------===//
// Operators and costs
//===----------------------------------------------------------------------===//

void Reporter::addOperators(const std::vector<translation::OperatorUse> &uses) {
  for (const translation::OperatorUse &use : uses) {
    StringRef name = use.target;
    name.consume_front("torch.ops.");
    report.operators.push_back({name.str(), use.count, use.isSupported,
                                use.first->name,
                                std::string(use.first->modulePath())});
  }
  llvm::sort(report.operators,
             [](const ReportedOperator &a, const ReportedOperator &b) {
               return std::tie(b.count, a.name) < std::tie(a.count, b.name);
             });
}

void Reporter::addCosts(ModuleOp module) {
  report.isTranslated = true;
  for (ReportedModule &reported : report.modules)
    reported.cost = ReportedCost();
  module.walk([&](aten::CostOpInterface op) {
    ReportedCost cost;
    cost.flops = op.getFlops();
    // A constant is written once, before the first step.
    if (!op->hasTrait<aten::IsView>() && !isa<aten::ConstantOp>(op))
      for (Type type : op->getResultTypes())
        cost.activationBytes += aten::tensorBytes(type);
    forEnclosing(getModulePath(op->getLoc()), [&](ReportedModule &around) {
      around.cost->flops += cost.flops;
      around.cost->activationBytes += cost.activationBytes;
    });
  });
}

int reportModel(const std::string &path, const InputOptions &options,
                ModelReport &report) {
  MLIRContext context;
  DiagnosticPrinter diagnostics(context);
  loadDialects(context);
  std::optional<pt2::ExportedModel> model =
      readExport(path, options, context, diagnostics);
  if (!model)
    return diagnostics.getExitCode();
  Reporter reporter(*model, report);
  reporter.addProgram();
  reporter.addModules();
  std::vector<translation::OperatorUse> uses =
      translation::operatorUses(model->program.graph);
  reporter.addOperators(uses);
  if (!llvm::all_of(uses, [](const auto &use) { return use.isSupported; }))
    return 0; // The report lists them.
  auto translated =
      translateExportedProgram(*model, "model", context, {options.loss, true});
  if (succeeded(translated))
    reporter.addCosts(**translated);
  return 0;
}

} // namespace shardc
