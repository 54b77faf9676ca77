//===- VerifyGrouped.cpp - The contract of the group phase ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules G1 to G6 of docs/Spec.md. Changes nothing. That no group has a
// parameter's name needs no rule: symbols of one module are distinct.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "passes/Group/RootGroup.h"

#define DEBUG_TYPE "shardc-verify-grouped"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYGROUPEDPASS
#include "passes/Group/Passes.h.inc"

namespace {

class GroupedVerifier {
public:
  explicit GroupedVerifier(ModuleOp module)
      : module(module), symbols(module), groups(module) {}

  LogicalResult verify();

private:
  ModuleOp module;
  SymbolTable symbols;
  Groups groups;
  /// The member that has each parameter.
  llvm::StringMap<fsdp::MemberOp> members;

  LogicalResult verifyGroup(fsdp::GroupOp group);
  LogicalResult verifyMember(fsdp::MemberOp member);
  LogicalResult verifyParameters();
  LogicalResult verifyRoot(ArrayRef<fsdp::GroupOp> roots);
  LogicalResult verifyModule(fsdp::ModuleOp call);
  LogicalResult verifyRead(fsdp::ReadOp read, fsdp::GroupOp root);
};

struct VerifyGroupedPass : impl::VerifyGroupedPassBase<VerifyGroupedPass> {
  void runOnOperation() override {
    if (failed(GroupedVerifier(getOperation()).verify()))
      signalPassFailure();
  }
};

} // namespace

LogicalResult GroupedVerifier::verifyMember(fsdp::MemberOp member) {
  if (!symbols.lookup<fsdp::ParameterOp>(member.getParameter()))
    return member.emitError("G2: expected a declared parameter, got ")
           << member.getParameterAttr();
  if (member.getKeep() && !isa<FloatType>(*member.getKeep()))
    return member.emitError("G2: expected a floating-point type to keep, got ")
           << *member.getKeep();
  auto [first, isNew] = members.try_emplace(member.getParameter(), member);
  if (isNew)
    return success();
  InFlightDiagnostic error = member.emitError("G1: expected parameter ")
                             << member.getParameterAttr()
                             << " in one group, found it again";
  error.attachNote(first->second.getLoc()) << "first found here";
  return error;
}

LogicalResult GroupedVerifier::verifyGroup(fsdp::GroupOp group) {
  auto mesh = symbols.lookup<fsdp::MeshOp>(group.getMesh());
  if (!mesh)
    return group.emitError("G3: expected a declared mesh, got ")
           << group.getMeshAttr();
  if (mesh.findAxis(fsdp::MeshOp::replicateAxis).value_or(0) != 0)
    return group.emitError("G3: expected 'replicate' as the mesh's first axis");
  if (std::optional<uint64_t> ranks = group.getReshardTo())
    if (mesh.getLastAxes(static_cast<int64_t>(*ranks)).empty() ||
        group.getReshard() != fsdp::Reshard::always)
      return group.emitError("G3: expected last axes of the mesh that have ")
             << *ranks << " ranks to reshard always to";
  for (Operation &op : group.getBody().front()) {
    auto member = dyn_cast<fsdp::MemberOp>(op);
    if (!member)
      return op.emitError("G2: expected members alone, got ") << op.getName();
    if (failed(verifyMember(member)))
      return failure();
  }
  return success();
}

LogicalResult GroupedVerifier::verifyParameters() {
  for (auto parameter : module.getOps<fsdp::ParameterOp>())
    if (!members.contains(parameter.getSymName()))
      return parameter.emitError("G1: expected parameter @")
             << parameter.getSymName() << " in one group, found it in none";
  return success();
}

LogicalResult GroupedVerifier::verifyRoot(ArrayRef<fsdp::GroupOp> roots) {
  if (roots.size() == 1)
    return success();
  InFlightDiagnostic error =
      module.emitError(
          "G6: expected one group that no module names, the root, got ")
      << roots.size();
  for (fsdp::GroupOp root : roots)
    error.attachNote(root.getLoc()) << "no module names this group";
  return error;
}

LogicalResult GroupedVerifier::verifyModule(fsdp::ModuleOp call) {
  if (call.getGroup() && !symbols.lookup<fsdp::GroupOp>(*call.getGroup()))
    return call.emitError("G4: expected a declared group, got ")
           << call.getGroupAttr();
  return success();
}

LogicalResult GroupedVerifier::verifyRead(fsdp::ReadOp read,
                                          fsdp::GroupOp root) {
  fsdp::GroupOp group = groups.lookup(read.getSymbol()).group;
  if (!group || group == root)
    return success(); // A buffer, or whole during all of forward.
  auto call = read->getParentOfType<fsdp::ModuleOp>();
  while (call && call.getGroup() != group.getSymName())
    call = call->getParentOfType<fsdp::ModuleOp>();
  if (call)
    return success();
  return read.emitError("G5: expected a read of ")
         << read.getSymbolAttr() << " inside of a module of group @"
         << group.getSymName();
}

LogicalResult GroupedVerifier::verify() {
  for (auto group : module.getOps<fsdp::GroupOp>())
    if (failed(verifyGroup(group)))
      return failure();
  SmallVector<fsdp::GroupOp> roots = findRootGroups(module);
  if (failed(verifyParameters()) || failed(verifyRoot(roots)))
    return failure();
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    if (auto call = dyn_cast<fsdp::ModuleOp>(op))
      return verifyModule(call);
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      return verifyRead(read, roots.front());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace shardc
