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
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/Wrapping.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#define DEBUG_TYPE "shardc-assign-groups"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ASSIGNGROUPSPASS
#include "passes/Group/Passes.h.inc"

namespace {

/// What the decision is made from.
struct Forward {
  SmallVector<fsdp::ParameterOp> parameters;
  std::vector<CalledModule> modules;
  std::vector<ParameterUse> uses;
  llvm::StringMap<SmallVector<fsdp::ModuleOp>> calls;
};

struct AssignGroupsPass : impl::AssignGroupsPassBase<AssignGroupsPass> {
  using AssignGroupsPassBase::AssignGroupsPassBase;
  void runOnOperation() override;

private:
  FailureOr<std::vector<std::string>> selectWrapped(const Forward &forward);
  FailureOr<Type> parseDtype(StringRef option, StringRef name);
  FailureOr<fsdp::PolicyAttr> buildPolicy(const Forward &forward);
  void writeGroups(func::FuncOp function, Forward &forward,
                   ArrayRef<ParameterGroup> groups, fsdp::PolicyAttr policy,
                   fsdp::Reshard reshard);
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading forward
//===----------------------------------------------------------------------===//

static std::vector<std::string> enclosingPaths(Operation *op) {
  std::vector<std::string> paths;
  while ((op = op->getParentOp()))
    if (auto call = dyn_cast<fsdp::ModuleOp>(op))
      paths.push_back(call.getPath().str());
  std::reverse(paths.begin(), paths.end());
  return paths;
}

static Forward readForward(ModuleOp module, func::FuncOp function) {
  Forward forward;
  llvm::StringMap<size_t> indices;
  for (auto parameter : module.getOps<fsdp::ParameterOp>()) {
    indices[parameter.getSymName()] = forward.parameters.size();
    forward.parameters.push_back(parameter);
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
        forward.uses.push_back({found->second, enclosingPaths(read)});
  });
  return forward;
}

/// Masters and optimizer states are as wide as the parameter, and steps smaller
/// than a 16-bit float can tell would be lost.
static LogicalResult checkMasters(const Forward &forward) {
  for (fsdp::ParameterOp parameter : forward.parameters) {
    Type element = getElementTypeOrSelf(parameter.getType());
    if (parameter.getFrozen() || element.isF32() || element.isF64())
      continue;
    InFlightDiagnostic diagnostic = emitNumberedError(parameter, "E0136");
    diagnostic << "'" << parameter.getSymName()
               << "' is a trainable parameter of " << element
               << ", expected f32 or f64";
    diagnostic.attachNote() << "help: export the model in float32 and compile "
                               "it with --param-dtype bf16";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

FailureOr<std::vector<std::string>>
AssignGroupsPass::selectWrapped(const Forward &forward) {
  if (wrap == "blocks")
    return findRepeatedBlocks(forward.modules);
  PatternSelection selection =
      selectByPatterns(forward.modules, splitPatterns(wrap));
  if (selection.problem == PatternSelection::Problem::none)
    return selection.paths;
  if (selection.problem == PatternSelection::Problem::invalidPattern) {
    emitNumberedError(getOperation(), "E0203")
        << "'" << selection.pattern
        << "' is not a regular expression: " << selection.reason;
    return failure();
  }
  InFlightDiagnostic error = emitNumberedError(getOperation(), "E0202")
                             << "no module path matches '" << selection.pattern
                             << "'";
  std::vector<std::string> close =
      closestPaths(forward.modules, selection.pattern, /*count=*/3);
  if (!close.empty())
    error.attachNote() << "the closest of " << forward.modules.size()
                       << " modules that forward calls: '"
                       << llvm::join(close, "', '") << "'";
  return failure();
}

/// The type called `name`, null for an empty name.
FailureOr<Type> AssignGroupsPass::parseDtype(StringRef option, StringRef name) {
  Builder builder(&getContext());
  if (name.empty())
    return Type();
  Type type = llvm::StringSwitch<Type>(name)
                  .Case("f32", builder.getF32Type())
                  .Case("bf16", builder.getBF16Type())
                  .Case("f16", builder.getF16Type())
                  .Case("f64", builder.getF64Type())
                  .Default(Type());
  if (type)
    return type;
  emitNumberedError(getOperation(), "E0204")
      << "expected " << option << " f32, bf16, f16 or f64, got '" << name
      << "'";
  return failure();
}

/// The dtype of all floating-point parameters, null when they differ.
static Type masterDtype(const Forward &forward) {
  Type master;
  for (fsdp::ParameterOp parameter : forward.parameters) {
    Type element = cast<RankedTensorType>(parameter.getType()).getElementType();
    if (!isa<FloatType>(element))
      continue;
    if (master && master != element)
      return {};
    master = element;
  }
  return master;
}

FailureOr<fsdp::PolicyAttr>
AssignGroupsPass::buildPolicy(const Forward &forward) {
  FailureOr<Type> param = parseDtype("param-dtype", paramDtype);
  FailureOr<Type> reduce = parseDtype("reduce-dtype", reduceDtype);
  if (failed(param) || failed(reduce))
    return failure();
  Type master = masterDtype(forward);
  if (*param == master)
    *param = Type();
  if (*reduce == (*param ? *param : master))
    *reduce = Type();
  // FSDP2's MixedPrecisionPolicy has cast_forward_inputs = True.
  return fsdp::PolicyAttr::get(&getContext(), *param, *reduce,
                               /*output=*/Type(),
                               /*cast_inputs=*/static_cast<bool>(*param));
}

//===----------------------------------------------------------------------===//
// Writing groups
//===----------------------------------------------------------------------===//

/// A symbol for each group: its module's path, with a suffix when something
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
    if (group.module.empty())
      name = take("root");
  for (auto [name, group] : llvm::zip_equal(names, groups))
    if (!group.module.empty())
      name = take(group.module);
  return names;
}

static void reportGroup(fsdp::GroupOp group, const ParameterGroup &decided,
                        const Forward &forward) {
  int64_t elements = 0;
  for (size_t index : decided.parameters) {
    fsdp::ParameterOp parameter = forward.parameters[index];
    elements += cast<RankedTensorType>(parameter.getType()).getNumElements();
  }
  remark::analysis(group.getLoc(), remark::RemarkOpts::name("group")
                                       .category(DEBUG_TYPE)
                                       .function(group.getSymName()))
      << remark::metric("group", group.getSymName())
      << remark::metric("parameters",
                        static_cast<int64_t>(decided.parameters.size()))
      << remark::metric("elements", elements)
      << remark::reason("{0}", decided.module.empty()
                                   ? "no wrapped module encloses their uses"
                                   : "the module is wrapped");
}

void AssignGroupsPass::writeGroups(func::FuncOp function, Forward &forward,
                                   ArrayRef<ParameterGroup> groups,
                                   fsdp::PolicyAttr policy,
                                   fsdp::Reshard reshard) {
  OpBuilder builder(function);
  auto mesh =
      fsdp::MeshOp::create(builder, getOperation().getLoc(), "mesh",
                           builder.getStrArrayAttr({fsdp::MeshOp::shardAxis}),
                           builder.getDenseI64ArrayAttr({worldSize}));
  SymbolTable(getOperation()).insert(mesh); // Renames it when "mesh" is taken.
  SmallVector<std::string> names = nameGroups(getOperation(), groups);
  for (auto [decided, name] : llvm::zip_equal(groups, names)) {
    SmallVector<fsdp::ModuleOp> &calls = forward.calls[decided.module];
    Location location =
        calls.empty() ? function.getLoc() : calls.front().getLoc();
    auto group = fsdp::GroupOp::create(builder, location, name,
                                       mesh.getSymName(), policy, reshard);
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
  auto function = getOperation().lookupSymbol<func::FuncOp>("forward");
  if (!function) {
    getOperation().emitError("expected a function @forward");
    return signalPassFailure();
  }
  if (worldSize < 1) {
    emitNumberedError(getOperation(), "E0201")
        << "expected at least 1 rank, got " << worldSize.getValue();
    return signalPassFailure();
  }
  std::optional<fsdp::Reshard> reshardPolicy = fsdp::symbolizeReshard(reshard);
  if (!reshardPolicy) {
    emitNumberedError(getOperation(), "E0204")
        << "expected reshard always, never or default, got '"
        << reshard.getValue() << "'";
    return signalPassFailure();
  }
  Forward forward = readForward(getOperation(), function);
  if (failed(checkMasters(forward)))
    return signalPassFailure();
  FailureOr<std::vector<std::string>> wrapped = selectWrapped(forward);
  FailureOr<fsdp::PolicyAttr> policy = buildPolicy(forward);
  if (failed(wrapped) || failed(policy))
    return signalPassFailure();
  writeGroups(function, forward,
              assignGroups(forward.parameters.size(), forward.uses, *wrapped),
              *policy, *reshardPolicy);
}

} // namespace shardc
