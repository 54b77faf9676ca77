//===- LayoutGroups.cpp - Flat segments of each group ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects the members of each group by their dtypes and their update's
// options, lets layoutFlat() choose their offsets, and rewrites the group's
// body into segments:
//
//   fsdp.group @g … { fsdp.member @w }
//   -> fsdp.group @g … { fsdp.segment bf16 … { fsdp.member @w at 0 } }
//
// Keeps the order of members within a segment.
//===----------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"

#include "dialects/Aten/ElementBytes.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/OptimizerKinds.h"
#include "passes/Shard/FlatLayoutChecker.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "shardc-layout-groups"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_LAYOUTGROUPSPASS
#include "passes/Shard/Passes.h.inc"

namespace {

/// What members of one segment have in common.
struct SegmentKey {
  Type master;
  Type dtype;
  Type reduce;
  bool frozen;
  DictionaryAttr hyperparameters; // Null: none of its own.
  bool operator==(const SegmentKey &) const = default;
};

struct SegmentMembers {
  SegmentKey key;
  SmallVector<fsdp::MemberOp> members;
  std::vector<int64_t> sizes;
};

struct LayoutGroupsPass : impl::LayoutGroupsPassBase<LayoutGroupsPass> {
  using LayoutGroupsPassBase::LayoutGroupsPassBase;
  void runOnOperation() override;
};

} // namespace

/// The dtype that `parameter` is gathered and reduced in as a member of
/// `group`.
static SegmentKey segmentKey(fsdp::GroupOp group, fsdp::MemberOp member,
                             fsdp::ParameterOp parameter) {
  Type master = cast<RankedTensorType>(parameter.getType()).getElementType();
  fsdp::PolicyAttr policy = group.getPolicy();
  if (member.getKeep())
    return {master, *member.getKeep(), *member.getKeep(), parameter.getFrozen(),
            member.getHyperparametersAttr()};
  Type dtype =
      policy.getParam() && isa<FloatType>(master) ? policy.getParam() : master;
  Type reduce = policy.getReduce() ? policy.getReduce() : master;
  return {master, dtype, reduce, parameter.getFrozen(),
          member.getHyperparametersAttr()};
}

static SmallVector<SegmentMembers> collectSegments(fsdp::GroupOp group,
                                                   SymbolTable &symbols) {
  SmallVector<SegmentMembers> segments;
  for (auto member : group.getBody().front().getOps<fsdp::MemberOp>()) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    assert(parameter && "verify-grouped checked that members exist");
    SegmentKey key = segmentKey(group, member, parameter);
    auto *found = llvm::find_if(
        segments, [&](SegmentMembers &s) { return s.key == key; });
    if (found == segments.end()) {
      segments.push_back({key, {}, {}});
      found = &segments.back();
    }
    found->members.push_back(member);
    found->sizes.push_back(
        cast<RankedTensorType>(parameter.getType()).getNumElements());
  }
  return segments;
}

/// Elements between aligned starts: 64 bytes of the narrowest dtype that the
/// segment exists in, so that every form of it is aligned. Steps of whole
/// matrices are bf16.
static int64_t alignmentOf(const SegmentKey &key) {
  unsigned bits = std::min(key.dtype.getIntOrFloatBitWidth(),
                           key.reduce.getIntOrFloatBitWidth());
  auto optimizer = key.hyperparameters
                       ? key.hyperparameters.getAs<StringAttr>(optimizerKey)
                       : StringAttr();
  const fsdp::OptimizerKind *kind =
      optimizer ? fsdp::findOptimizerKind(optimizer.getValue()) : nullptr;
  if (kind && kind->isOfMatrices())
    bits = std::min(bits, 16u);
  return 64 * 8 / bits;
}

static void reportSegment(fsdp::GroupOp group, const SegmentMembers &segment,
                          const FlatLayout &layout) {
  int64_t used = 0;
  for (int64_t size : segment.sizes)
    used += size;
  int64_t bytes = layout.elements * getElementBytes(segment.key.dtype);
  remark::analysis(group.getLoc(), remark::RemarkOpts::name("segment")
                                       .category(DEBUG_TYPE)
                                       .function(group.getSymName()))
      << remark::metric("group", group.getSymName())
      << remark::metric("dtype", segment.key.dtype)
      << remark::metric("elements", layout.elements)
      << remark::metric("padding", layout.elements - used)
      << remark::metric("bytes", bytes);
}

/// The dtype that sums of gradients are kept in; null for the one that they are
/// made in.
static TypeAttr gradientOf(const SegmentKey &key, bool keepsReduced) {
  const unsigned summed = key.master.isF64() ? 64 : 32;
  if (!keepsReduced || key.frozen ||
      key.reduce.getIntOrFloatBitWidth() >= summed)
    return {};
  return TypeAttr::get(key.reduce);
}

static void layoutGroup(fsdp::GroupOp group, SymbolTable &symbols,
                        int64_t shards, bool keepsReduced) {
  SmallVector<SegmentMembers> segments = collectSegments(group, symbols);
  OpBuilder builder = OpBuilder::atBlockEnd(&group.getBody().front());
  for (SegmentMembers &segment : segments) {
    int64_t alignment = alignmentOf(segment.key);
    FlatLayout layout = layoutFlat(segment.sizes, shards, alignment);
    assert(isCorrect(checkLayout(segment.sizes, shards, alignment, layout)));
    auto op = fsdp::SegmentOp::create(
        builder, group.getLoc(), TypeAttr::get(segment.key.dtype),
        TypeAttr::get(segment.key.reduce),
        gradientOf(segment.key, keepsReduced),
        builder.getI64IntegerAttr(layout.elements),
        builder.getI64IntegerAttr(layout.shard),
        segment.key.frozen ? builder.getUnitAttr() : UnitAttr(),
        segment.key.hyperparameters);
    Block *body = &op.getBody().emplaceBlock();
    for (auto [member, offset] :
         llvm::zip_equal(segment.members, layout.offsets)) {
      member->moveBefore(body, body->end());
      member.setOffset(offset);
      member.removeHyperparametersAttr(); // The segment says it.
    }
    reportSegment(group, segment, layout);
  }
}

void LayoutGroupsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto group : getOperation().getOps<fsdp::GroupOp>()) {
    auto mesh = symbols.lookup<fsdp::MeshOp>(group.getMesh());
    assert(mesh && "verify-grouped checked that the mesh exists");
    layoutGroup(group, symbols, mesh.getShards(), gradientDtype == "reduce");
  }
}

} // namespace shardc
