//===- AssignGroups.cpp - Every parameter gets a group --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lists the modules that forward calls and the parameters that it reads, lets
// Wrapping.h decide, and writes the decision down:
//
//   fsdp.module "h.0" … { fsdp.read @h.0.w }
//   -> fsdp.mesh @mesh <shard = 4>
//      fsdp.group @h.0 on @mesh … { fsdp.member @h.0.w }
//      fsdp.module "h.0" … group @h.0 … { fsdp.read @h.0.w }
//
// Changes no operation but the `group` of modules.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Fsdp/Recomputed.h"
#include "passes/Group/GroupPolicies.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <set>

#define DEBUG_TYPE "shardc-assign-groups"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ASSIGNGROUPSPASS
#include "passes/Group/Passes.h.inc"

namespace {

/// What the decision is made from, and what it is written to.
struct Forward : WrappingProblem {
  SmallVector<fsdp::ParameterOp> parameters;
  llvm::StringMap<SmallVector<fsdp::ModuleOp>> calls;
};

struct AssignGroupsPass : impl::AssignGroupsPassBase<AssignGroupsPass> {
  using AssignGroupsPassBase::AssignGroupsPassBase;
  void runOnOperation() override;

private:
  FailureOr<std::vector<WrappedModules>>
  findModules(const Forward &forward, StringRef entries, bool isForRecompute);
  LogicalResult writeRecompute(const Forward &forward,
                               ArrayRef<ParameterGroup> groups,
                               ArrayRef<GroupPolicy> policies);
  FailureOr<Rule> baseRule();
  FailureOr<fsdp::MeshOp> createMesh(func::FuncOp function,
                                     ArrayRef<GroupPolicy> policies);
  void writeGroups(func::FuncOp function, fsdp::MeshOp mesh, Forward &forward,
                   ArrayRef<ParameterGroup> groups,
                   ArrayRef<GroupPolicy> policies);
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading forward
//===----------------------------------------------------------------------===//

/// Whether the module at `path` has a tensor of that name, in a module inside
/// of it perhaps.
static bool holds(StringRef path, StringRef name) {
  return name.consume_front(path) && name.starts_with(".");
}

/// The modules around `read` that have its parameter. Another one that reaches
/// it, by a reference to its module, does not gather it.
static std::vector<std::string> enclosingPaths(fsdp::ReadOp read,
                                               fsdp::ParameterOp parameter) {
  std::vector<std::string> paths;
  for (auto call = read->getParentOfType<fsdp::ModuleOp>(); call;
       call = call->getParentOfType<fsdp::ModuleOp>()) {
    StringRef path = call.getPath();
    auto aliases = parameter.getAliases().getAsRange<StringAttr>();
    if (holds(path, parameter.getSymName()) ||
        llvm::any_of(aliases, [&](StringAttr alias) {
          return holds(path, alias.getValue());
        }))
      paths.push_back(path.str());
  }
  std::reverse(paths.begin(), paths.end());
  return paths;
}

static Forward readForward(ModuleOp module, func::FuncOp function) {
  Forward forward;
  llvm::StringMap<size_t> indices;
  for (auto parameter : module.getOps<fsdp::ParameterOp>()) {
    indices[parameter.getSymName()] = forward.parameters.size();
    forward.parameters.push_back(parameter);
    forward.elements.push_back(
        cast<RankedTensorType>(parameter.getType()).getNumElements());
  }
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto call = dyn_cast<fsdp::ModuleOp>(op)) {
      auto &calls = forward.calls[call.getPath()];
      if (calls.empty())
        forward.modules.push_back({call.getPath().str(), call.getType().str()});
      calls.push_back(call);
    }
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      if (auto found = indices.find(read.getSymbol()); found != indices.end())
        forward.uses.push_back(
            {found->second,
             enclosingPaths(read, forward.parameters[found->second])});
  });
  return forward;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Whether a parameter or buffer is in a module at `path`, which forward then
/// does not call if nothing else is known of it.
static bool isModuleWithoutCalls(ModuleOp module, StringRef path) {
  return llvm::any_of(module.getOps<SymbolOpInterface>(), [&](auto symbol) {
    return isa<fsdp::ParameterOp, fsdp::BufferOp>(symbol) &&
           holds(path, symbol.getName());
  });
}

/// Whether a malformed entry of --wrap was meant as a regular expression.
static bool isPattern(StringRef entry) {
  return !entry.starts_with(">=") && !entry.starts_with("blocks:") &&
         entry != "auto";
}

/// Takes the module out of the entries and out of the groups A&B among them.
static void removeModule(std::vector<std::string> &entries, StringRef module) {
  for (std::string &entry : entries) {
    SmallVector<StringRef> members;
    StringRef(entry).split(members, '&');
    llvm::erase(members, module);
    entry = llvm::join(members, "&");
  }
  std::erase(entries, "");
}

FailureOr<std::vector<WrappedModules>>
AssignGroupsPass::findModules(const Forward &forward, StringRef entries,
                              bool isForRecompute) {
  using Problem = WrapSelection::Problem;
  std::vector<std::string> patterns = splitPatterns(std::string_view(entries));
  WrapSelection selection = selectWrapped(forward, patterns);
  while (selection.problem == Problem::noMatch &&
         isModuleWithoutCalls(getOperation(), selection.entry)) {
    emitWarning(getOperation().getLoc())
        << (isForRecompute ? "--recompute '" : "wrapping '") << selection.entry
        << "' has no effect: forward never calls it; if it is a container such "
           "as a ModuleList, name its children";
    removeModule(patterns, selection.entry);
    selection = selectWrapped(forward, patterns);
  }
  switch (selection.problem) {
  case Problem::none:
    if (selection.joinsNothing)
      getOperation().emitWarning()
          << "'" << entries
          << "' groups no blocks: it groups modules that forward calls "
             "consecutively and whose paths differ only in a trailing number; "
             "group other modules with A&B";
    if (!selection.wrapsNothing.empty())
      getOperation().emitWarning()
          << "'" << selection.wrapsNothing
          << "' wraps no module: none has that many parameters (those of "
             "wrapped submodules do not count)";
    return selection.groups;
  case Problem::invalidEntry:
    emitNumberedError(getOperation(), "E0203")
        << "'" << selection.entry
        << (isPattern(selection.entry) ? "' is not a regular expression: "
                                       : "' is not a valid entry: ")
        << selection.reason;
    return failure();
  case Problem::wrappedTwice: {
    InFlightDiagnostic error = emitNumberedError(getOperation(), "E0207")
                               << "the module '" << selection.module
                               << "' is wrapped by '" << selection.other
                               << "' and by '" << selection.entry << "'";
    error.attachNote()
        << "help: a module can be in only one group; remove it from "
           "one of the two";
    return failure();
  }
  case Problem::noMatch:
    break;
  }
  InFlightDiagnostic error = emitNumberedError(getOperation(), "E0202")
                             << "no module path matches '" << selection.entry
                             << "'";
  std::vector<std::string> close =
      closestPaths(forward.modules, selection.entry, /*count=*/3);
  if (!close.empty())
    error.attachNote() << "closest module paths (of " << forward.modules.size()
                       << "): '" << llvm::join(close, "', '") << "'";
  const auto ofClass =
      llvm::count_if(forward.modules, [&](const CalledModule &called) {
        return called.type == selection.entry ||
               StringRef(called.type).ends_with("." + selection.entry);
      });
  if (ofClass > 0)
    error.attachNote() << "'" << selection.entry << "' is the class of "
                       << ofClass << (ofClass == 1 ? " module" : " modules")
                       << "; modules are named by path";
  if (isForRecompute)
    error.attachNote() << "help: --recompute is either one of 'none', 'full', "
                          "'selective', 'alternate' and 'auto', or a list of "
                          "module patterns";
  else
    error.attachNote()
        << "help: --wrap takes blocks, module paths, and regular "
           "expressions of whole paths; shardc inspect lists "
           "the modules";
  return failure();
}

/// Whether `text` says what becomes of wrapped modules, and names none.
static bool isRecomputeWord(StringRef text) {
  return describeInvalidValue("recompute", text.str(), moduleRuleKeys())
      .empty();
}

/// What holds for a group of which no rule says anything. FSDP2's
/// MixedPrecisionPolicy has cast_forward_inputs = True.
FailureOr<Rule> AssignGroupsPass::baseRule() {
  auto dtype = [](const std::string &name) {
    return name.empty() ? "none" : name;
  };
  Rule base = {
      ".*",
      {{"param_dtype", dtype(paramDtype)},
       {"reduce_dtype", dtype(reduceDtype)},
       {"output_dtype", "none"},
       {"cast_forward_inputs", "true"},
       {"reshard_after_forward",
        pipelineStage && reshard == "default" ? "never" : reshard.getValue()},
       {"recompute",
        isRecomputeWord(recompute) ? recompute.getValue() : "none"},
       {"gradient_divide_factor", "none"}}};
  for (const auto &[key, value] : base.settings)
    if (std::string problem =
            describeInvalidValue(key, value, moduleRuleKeys());
        !problem.empty())
      return emitNumberedError(getOperation(), "E0204") << problem, failure();
  return base;
}

//===----------------------------------------------------------------------===//
// Writing groups
//===----------------------------------------------------------------------===//

/// A symbol for each group: its modules' paths, with a suffix when something
/// else has that name. The root is named first, because "@root" is what a
/// reader looks for.
static SmallVector<std::string> nameGroups(ModuleOp module,
                                           ArrayRef<ParameterGroup> groups) {
  llvm::StringSet<> taken;
  for (auto symbol : module.getOps<SymbolOpInterface>())
    taken.insert(symbol.getName());
  auto take = [&](std::string name) {
    while (!taken.insert(name).second)
      name += ".group";
    return name;
  };
  SmallVector<std::string> names(groups.size());
  for (auto [name, group] : llvm::zip_equal(names, groups))
    if (group.modules.empty())
      name = take("root");
  for (auto [name, group] : llvm::zip_equal(names, groups))
    if (!group.modules.empty())
      name = take(llvm::join(group.modules, "&"));
  return names;
}

static int64_t countElements(const ParameterGroup &group,
                             const Forward &forward) {
  int64_t elements = 0;
  for (size_t index : group.parameters)
    elements += forward.elements[index];
  return elements;
}

static void reportGroup(fsdp::GroupOp group, const ParameterGroup &decided,
                        const Forward &forward) {
  remark::analysis(group.getLoc(), remark::RemarkOpts::name("group")
                                       .category(DEBUG_TYPE)
                                       .function(group.getSymName()))
      << remark::metric("group", group.getSymName())
      << remark::metric("parameters",
                        static_cast<int64_t>(decided.parameters.size()))
      << remark::metric("elements", countElements(decided, forward))
      << remark::reason(
             "{0}",
             decided.modules.empty()
                 ? "parameters that are used outside of all wrapped modules"
             : decided.modules.size() > 1 ? "the modules are wrapped together"
                                          : "the module is wrapped");
}

/// Says so where the root's parameters, which stay gathered from the first
/// operator to the last gradient, are a million and more than twice those of
/// any group: some could be wrapped, and gathered while they are used.
static void reportRoot(Location location, ArrayRef<ParameterGroup> groups,
                       const Forward &forward) {
  constexpr int64_t many = 1'000'000;
  int64_t largest = 0;
  const ParameterGroup *root = nullptr;
  for (const ParameterGroup &group : groups)
    if (group.modules.empty())
      root = &group;
    else
      largest = std::max(largest, countElements(group, forward));
  const int64_t elements = root ? countElements(*root, forward) : 0;
  if (largest == 0 || elements < std::max(many, 2 * largest))
    return;
  llvm::SetVector<StringRef> modules;
  for (size_t index : root->parameters) {
    fsdp::ParameterOp parameter = forward.parameters[index];
    // One that is tied would stay the root's.
    if (StringRef name = parameter.getSymName();
        name.contains('.') && parameter.getAliases().empty())
      modules.insert(name.rsplit('.').first);
  }
  if (modules.empty())
    return;
  remark::missed(location, remark::RemarkOpts::name("wrap")
                               .category(DEBUG_TYPE ".root")
                               .function("root"))
      << remark::metric("elements", elements)
      << remark::metric("largest other group", largest)
      << "the root group's parameters stay gathered for the whole step"
      << remark::suggest(
             "consider wrapping also {0}; shardc plan --wrap auto tries it",
             llvm::join(modules.getArrayRef(), ", "));
}

/// Whether a group without parameters does anything: the boundary of its
/// modules may have casts.
static bool castsAnything(const GroupPolicy &policy) {
  return policy.precision.getCastInputs() || policy.precision.getOutput();
}

/// Ranks that groups are resharded to are the last axes': each number of them
/// has to divide the next one.
FailureOr<fsdp::MeshOp>
AssignGroupsPass::createMesh(func::FuncOp function,
                             ArrayRef<GroupPolicy> policies) {
  constexpr size_t maxAxes = 4; // Of an artifact: runtime/format/Mesh.h.
  std::set<int64_t, std::greater<>> parts;
  for (const GroupPolicy &policy : policies)
    if (policy.reshardTo)
      parts.insert(*policy.reshardTo);
  std::vector<std::string> axes;
  SmallVector<int64_t> sizes;
  auto add = [&](std::string axis, int64_t size) {
    axes.push_back(std::move(axis));
    sizes.push_back(size);
  };
  if (replicate > 1)
    add(fsdp::MeshOp::replicateAxis.str(), replicate);
  add(fsdp::MeshOp::shardAxis.str(), worldSize / replicate);
  for (int64_t ranks : parts) {
    if (sizes.back() % ranks != 0 || axes.size() == maxAxes)
      return emitNumberedError(getOperation(), "E0204")
                 << "expected at most " << maxAxes - (replicate > 1 ? 2 : 1)
                 << " different values of reshard_after_forward, each dividing "
                    "the next larger one, got "
                 << llvm::join(
                        llvm::map_range(
                            parts, [](int64_t n) { return std::to_string(n); }),
                        " and "),
             failure();
    sizes.back() /= ranks;
    add("within_" + std::to_string(ranks), ranks);
  }
  OpBuilder builder(function);
  auto mesh = fsdp::MeshOp::create(
      builder, getOperation().getLoc(), "mesh",
      builder.getStrArrayAttr(SmallVector<StringRef>(axes.begin(), axes.end())),
      builder.getDenseI64ArrayAttr(sizes));
  SymbolTable(getOperation()).insert(mesh); // Renames it when "mesh" is taken.
  return mesh;
}

/// The root's own operators are always kept.
LogicalResult AssignGroupsPass::writeRecompute(const Forward &forward,
                                               ArrayRef<ParameterGroup> groups,
                                               ArrayRef<GroupPolicy> policies) {
  Builder builder(&getContext());
  NamedAttrList forms;
  bool isAny = false;
  auto add = [&](StringRef path, StringRef form) {
    forms.set(path, builder.getStringAttr(form));
    isAny |= form != recompute::none;
  };
  for (auto [group, policy] : llvm::zip_equal(groups, policies))
    if (!group.modules.empty()) // The root has a word, too.
      for (auto [path, word] : llvm::zip_equal(group.modules, policy.recompute))
        add(path, word);
  if (!isRecomputeWord(recompute)) {
    FailureOr<std::vector<WrappedModules>> chosen =
        findModules(forward, recompute, /*isForRecompute=*/true);
    if (failed(chosen))
      return failure();
    for (const WrappedModules &modules : *chosen)
      for (StringRef path : modules)
        add(path, recompute::full);
  }
  if (isAny)
    getOperation()->setAttr(recompute::formsAttribute,
                            forms.getDictionary(&getContext()));
  else if (recompute != recompute::none && forms.empty())
    getOperation().emitWarning()
        << "no module is wrapped, so nothing is recomputed: wrap modules, or "
           "name those to recompute";
  return success();
}

void AssignGroupsPass::writeGroups(func::FuncOp function, fsdp::MeshOp mesh,
                                   Forward &forward,
                                   ArrayRef<ParameterGroup> groups,
                                   ArrayRef<GroupPolicy> policies) {
  OpBuilder builder(function);
  SmallVector<std::string> names = nameGroups(getOperation(), groups);
  const std::vector<std::string> entries =
      splitPatterns(std::string_view(wrap.getValue()));
  for (auto [decided, policy, name] :
       llvm::zip_equal(groups, policies, names)) {
    if (decided.parameters.empty() && !decided.modules.empty() &&
        !castsAnything(policy)) {
      if (llvm::is_contained(entries, llvm::join(decided.modules, "&")))
        getOperation().emitWarning()
            << "wrapping '" << name
            << "' has no effect: it has no parameters, or other modules use "
               "them, too; a tied parameter is in the innermost group that "
               "contains all modules that use it";
      continue;
    }
    SmallVector<fsdp::ModuleOp> calls;
    for (StringRef path : decided.modules)
      llvm::append_range(calls, forward.calls[path]);
    Location location =
        calls.empty() ? function.getLoc() : calls.front().getLoc();
    auto group = fsdp::GroupOp::create(
        builder, location, name, mesh.getSymName(), policy.precision,
        policy.reshard,
        policy.reshardTo ? builder.getI64IntegerAttr(*policy.reshardTo)
                         : IntegerAttr(),
        policy.gradientDivideFactor
            ? builder.getF64FloatAttr(*policy.gradientDivideFactor)
            : FloatAttr());
    if (explain)
      group->setDiscardableAttr(reasonsAttribute, policy.reasons);
    for (fsdp::ModuleOp call : calls)
      call.setGroup(group.getSymName());
    OpBuilder members = OpBuilder::atBlockEnd(&group.getBody().emplaceBlock());
    for (size_t index : decided.parameters) {
      fsdp::ParameterOp parameter = forward.parameters[index];
      fsdp::MemberOp::create(members, parameter.getLoc(),
                             parameter.getSymName(), /*keep=*/TypeAttr(),
                             /*hyperparameters=*/DictionaryAttr(),
                             /*offset=*/IntegerAttr());
    }
    reportGroup(group, decided, forward);
  }
}

void AssignGroupsPass::runOnOperation() {
  auto function = functions::find(getOperation(), functions::forward);
  if (!function) {
    getOperation().emitError("expected a function @forward");
    return signalPassFailure();
  }
  if (worldSize < 1) {
    emitNumberedError(getOperation(), "E0201")
        << "expected at least 1 rank, got " << worldSize.getValue();
    return signalPassFailure();
  }
  if (replicate < 1 || worldSize % replicate != 0) {
    emitNumberedError(getOperation(), "E0201")
        << "the number of replicas must divide the number of ranks, got "
        << replicate.getValue() << " replicas and " << worldSize.getValue()
        << " ranks; did you mean --replicate "
        << nearestDivisor(worldSize, replicate) << "?";
    return signalPassFailure();
  }
  Forward forward = readForward(getOperation(), function);
  FailureOr<std::vector<WrappedModules>> wrapped =
      findModules(forward, wrap, /*isForRecompute=*/false);
  FailureOr<Rule> base = baseRule();
  if (failed(wrapped) || failed(base))
    return signalPassFailure();
  std::vector<ParameterGroup> groups = assignGroups(forward, *wrapped);
  FailureOr<SmallVector<GroupPolicy>> policies = resolvePolicies(
      getOperation(), forward, groups, *base, rules, worldSize / replicate);
  if (failed(policies))
    return signalPassFailure();
  FailureOr<fsdp::MeshOp> mesh = createMesh(function, *policies);
  if (failed(mesh))
    return signalPassFailure();
  if (failed(writeRecompute(forward, groups, *policies)))
    return signalPassFailure();
  writeGroups(function, *mesh, forward, groups, *policies);
  reportRoot(function.getLoc(), groups, forward);
}

} // namespace shardc
