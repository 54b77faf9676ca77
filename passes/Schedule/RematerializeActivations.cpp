//===- RematerializeActivations.cpp - Activation checkpointing ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each module that is to be computed again (`shardc.recompute`):
//
//   %h = aten.gelu %x                %h = aten.gelu %x
//   use(%h)                          use(%h)
//   fsdp.begin backward        ->    fsdp.begin backward
//   use(%h)                          %again = aten.gelu %x
//                                    use(%again)
//
// Keeps every value's bits: operators are pure, and what they draw belongs to
// the element.
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Fsdp/Recomputed.h"
#include "passes/Schedule/RecomputeChecker.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "shardc-rematerialize-activations"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_REMATERIALIZEACTIVATIONSPASS
#include "passes/Schedule/Passes.h.inc"

namespace {

struct RematerializeActivationsPass
    : impl::RematerializeActivationsPassBase<RematerializeActivationsPass> {
  void runOnOperation() override;
};

/// The regions of one step.
class Regions {
public:
  explicit Regions(DictionaryAttr forms) {
    for (NamedAttribute entry : forms) {
      numbers[entry.getName()] = static_cast<int64_t>(paths.size());
      paths.push_back(entry.getName());
      words.push_back(cast<StringAttr>(entry.getValue()));
    }
  }

  /// The number of the innermost region around `op`.
  int64_t find(Operation *op) const {
    StringRef path = getModulePath(op->getLoc());
    while (!path.empty()) {
      if (auto found = numbers.find(path); found != numbers.end())
        return found->second;
      size_t dot = path.rfind('.');
      path = dot == StringRef::npos ? StringRef() : path.take_front(dot);
    }
    return noRegion;
  }

  StringRef path(int64_t region) const { return paths[region]; }
  StringRef form(int64_t region) const {
    return region == noRegion ? recompute::none : words[region];
  }

private:
  llvm::StringMap<int64_t> numbers;
  SmallVector<StringRef> paths, words;
};

} // namespace

/// What the selective form keeps: it takes longer than all else.
static bool isProduct(Operation *op) {
  return isa<aten::LinearOp, aten::MatmulOp, aten::GroupedMmOp,
             aten::ConvolutionOp, aten::ScaledDotProductAttentionOp>(op);
}

/// What PyTorch computes by aten.mm: a product with one matrix, without bias.
static bool isMatrixProduct(Operation *op) {
  if (auto linear = dyn_cast<aten::LinearOp>(op))
    return !linear.getBias();
  auto product = dyn_cast<aten::MatmulOp>(op);
  return product &&
         cast<RankedTensorType>(product.getOther().getType()).getRank() == 2;
}

/// Whether `op` gives the same again, at no other rank's cost. Views of
/// parameters stay: resharding decides about the bytes that they show.
/// `matrixProducts` counts those of the region so far, `op` included.
static bool mayRepeat(Operation *op, StringRef form, int64_t matrixProducts) {
  if (form == recompute::none ||
      !(isa<aten::AtenDialect>(op->getDialect()) || isa<fsdp::CastOp>(op)) ||
      !isMemoryEffectFree(op))
    return false;
  if (form == recompute::alternate && isMatrixProduct(op))
    return matrixProducts % 2 == 0;
  return form == recompute::full || !isProduct(op);
}

static std::vector<StepNode> readStep(Block &body, const Regions &regions,
                                      SmallVectorImpl<Operation *> &ops) {
  std::vector<StepNode> nodes;
  DenseMap<Operation *, size_t> numbers;
  bool isForward = true;
  DenseMap<int64_t, int64_t> matrixProducts;
  for (Operation &op : body) {
    if (auto begin = dyn_cast<fsdp::BeginOp>(op))
      isForward = begin.getPhase() == fsdp::Phase::forward;
    StepNode node;
    node.isForward = isForward;
    node.region = regions.find(&op);
    const int64_t products = matrixProducts[node.region] +=
        isForward && isMatrixProduct(&op);
    node.mayRepeat = mayRepeat(&op, regions.form(node.region), products);
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp())
        node.operands.push_back(numbers.lookup(source));
    numbers[&op] = nodes.size();
    nodes.push_back(std::move(node));
    ops.push_back(&op);
  }
  return nodes;
}

static bool isBackward(Operation *op, Operation *backward) {
  return backward->isBeforeInBlock(op);
}

/// The first operation of backward that uses a result of `ops`.
static Operation *findFirstUse(ArrayRef<Operation *> ops, Operation *backward) {
  Operation *first = nullptr;
  for (Operation *op : ops)
    for (Operation *user : op->getUsers())
      if (isBackward(user, backward) &&
          (!first || user->isBeforeInBlock(first)))
        first = user;
  return first;
}

/// Computes `ops` of one region again before backward first needs one of them.
static recompute::Cost repeat(ArrayRef<Operation *> ops, Operation *backward) {
  recompute::Cost cost;
  OpBuilder builder(findFirstUse(ops, backward));
  IRMapping mapping;
  SmallVector<Operation *> clones;
  for (Operation *op : ops) {
    clones.push_back(builder.clone(*op, mapping));
    ++cost.operators;
    auto costs = dyn_cast<aten::CostOpInterface>(op);
    if (!costs)
      continue;
    cost.operations += costs.getFlops();
    cost.callOperations += isProduct(op) ? costs.getFlops() : 0;
  }
  for (auto [op, clone] : llvm::zip_equal(ops, clones))
    for (auto [old, again] :
         llvm::zip_equal(op->getResults(), clone->getResults())) {
      auto replaces = [&](OpOperand &use) {
        return isBackward(use.getOwner(), backward);
      };
      if (!op->hasTrait<aten::IsView>() &&
          llvm::any_of(old.getUses(),
                       [&](OpOperand &use) { return replaces(use); }))
        cost.bytes += aten::tensorBytes(old.getType());
      old.replaceUsesWithIf(again, replaces);
    }
  return cost;
}

static void report(Operation *function, StringRef path, StringRef form,
                   const recompute::Cost &cost) {
  remark::passed(
      function->getLoc(),
      remark::RemarkOpts::name("recompute").category(DEBUG_TYPE).function(path))
      << remark::metric("module", path)
      << remark::metric("operators", cost.operators)
      << remark::metric("operations", cost.operations)
      << remark::metric("freed_bytes", cost.bytes)
      << remark::reason("recompute is {0}", form);
}

void RematerializeActivationsPass::runOnOperation() {
  auto forms =
      getOperation()->getAttrOfType<DictionaryAttr>(recompute::formsAttribute);
  auto step = functions::find(getOperation(), functions::step);
  if (!forms || !step)
    return;
  Regions regions(forms);
  SmallVector<Operation *> ops;
  Block &body = step.getBody().front();
  std::vector<StepNode> nodes = readStep(body, regions, ops);
  std::vector<size_t> chosen = chooseRecompute(nodes);
  assert(isCorrect(checkRecompute(nodes, chosen)));
  if (chosen.empty()) {
    getOperation().emitWarning()
        << "nothing is recomputed: all values that backward needs from the "
           "selected modules are used by other modules or saved anyway";
    return;
  }
  Operation *backward = nullptr;
  for (auto begin : body.getOps<fsdp::BeginOp>())
    if (begin.getPhase() == fsdp::Phase::backward)
      backward = begin;
  llvm::MapVector<int64_t, SmallVector<Operation *>> repeated;
  for (size_t node : chosen)
    repeated[nodes[node].region].push_back(ops[node]);
  recompute::Cost all;
  for (auto &[region, members] : repeated) {
    recompute::Cost cost = repeat(members, backward);
    report(step, regions.path(region), regions.form(region), cost);
    all += cost;
  }
  recompute::setCost(getOperation(), all);
}

} // namespace shardc
