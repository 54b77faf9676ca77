//===- RepeatedLayers.cpp - Equal layers in a row -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares the regions of two modules operation by operation, with a map from
// the values of one to those of the other.
//===----------------------------------------------------------------------===//

#include "compiler/RepeatedLayers.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc {

namespace {

/// Whether two modules are the same layer under two names.
class LayerComparison {
public:
  LayerComparison(SymbolTable &symbols, fsdp::ModuleOp a, fsdp::ModuleOp b)
      : symbols(symbols), a(a), b(b) {}

  bool isEqual() {
    return isEqual(a.getOperation(), b.getOperation(),
                   /*compareOperands=*/false);
  }

private:
  SymbolTable &symbols;
  fsdp::ModuleOp a, b;
  IRMapping values;

  bool isEqual(Operation *x, Operation *y, bool compareOperands);
  bool isEqual(Region &x, Region &y);
  bool isEqual(DictionaryAttr x, DictionaryAttr y);
  bool isEqual(Attribute x, Attribute y);
  bool isEqualSymbol(StringRef x, StringRef y);
  bool isEqualName(StringRef x, StringRef y);
};

} // namespace

/// Equal, or alike behind the layers' paths.
bool LayerComparison::isEqualName(StringRef x, StringRef y) {
  return x == y || (x.consume_front(a.getPath()) &&
                    y.consume_front(b.getPath()) && x == y);
}

/// Shared, or the layer's own one under its name.
bool LayerComparison::isEqualSymbol(StringRef x, StringRef y) {
  if (x == y)
    return true;
  Operation *ofX = symbols.lookup(x), *ofY = symbols.lookup(y);
  return isEqualName(x, y) && ofX && ofY &&
         isEqual(ofX, ofY, /*compareOperands=*/true);
}

bool LayerComparison::isEqual(Attribute x, Attribute y) {
  if (x == y)
    return true;
  if (auto text = dyn_cast<StringAttr>(x))
    return isa<StringAttr>(y) &&
           isEqualName(text.getValue(), cast<StringAttr>(y).getValue());
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(x))
    return isa<FlatSymbolRefAttr>(y) &&
           isEqualSymbol(symbol.getValue(),
                         cast<FlatSymbolRefAttr>(y).getValue());
  return false;
}

bool LayerComparison::isEqual(DictionaryAttr x, DictionaryAttr y) {
  return x.size() == y.size() &&
         llvm::all_of(llvm::zip_equal(x, y), [&](auto pair) {
           auto [ofX, ofY] = pair;
           return ofX.getName() == ofY.getName() &&
                  isEqual(ofX.getValue(), ofY.getValue());
         });
}

bool LayerComparison::isEqual(Operation *x, Operation *y,
                              bool compareOperands) {
  if (x->getName() != y->getName() ||
      x->getNumOperands() != y->getNumOperands() ||
      x->getNumRegions() != y->getNumRegions() ||
      x->getResultTypes() != y->getResultTypes() ||
      x->getOperandTypes() != y->getOperandTypes() ||
      !isEqual(x->getAttrDictionary(), y->getAttrDictionary()))
    return false;
  for (auto [ofX, ofY] : llvm::zip_equal(x->getOperands(), y->getOperands()))
    if (compareOperands && values.lookupOrDefault(ofX) != ofY)
      return false;
  for (auto [ofX, ofY] : llvm::zip_equal(x->getResults(), y->getResults()))
    values.map(ofX, ofY);
  for (auto [ofX, ofY] : llvm::zip_equal(x->getRegions(), y->getRegions()))
    if (!isEqual(ofX, ofY))
      return false;
  return true;
}

bool LayerComparison::isEqual(Region &x, Region &y) {
  if (!x.hasOneBlock() || !y.hasOneBlock())
    return x.empty() && y.empty();
  Block &ofX = x.front(), &ofY = y.front();
  if (ofX.getArgumentTypes() != ofY.getArgumentTypes() ||
      ofX.getOperations().size() != ofY.getOperations().size())
    return false;
  for (auto [argument, other] :
       llvm::zip_equal(ofX.getArguments(), ofY.getArguments()))
    values.map(argument, other);
  return llvm::all_of(llvm::zip_equal(ofX, ofY), [&](auto pair) {
    auto [first, second] = pair;
    return isEqual(&first, &second, /*compareOperands=*/true);
  });
}

/// By operand of `next`, the result of `layer` that it is, or -1 for another
/// value; nothing unless `next` alone uses the results.
static std::optional<SmallVector<int>> linkOf(fsdp::ModuleOp layer,
                                              fsdp::ModuleOp next) {
  for (Operation *user : layer->getUsers())
    if (user != next)
      return std::nullopt;
  SmallVector<int> link;
  for (Value operand : next->getOperands()) {
    auto result = dyn_cast<OpResult>(operand);
    link.push_back(result && result.getOwner() == layer
                       ? static_cast<int>(result.getResultNumber())
                       : -1);
  }
  return llvm::any_of(link, [](int number) { return number >= 0; })
             ? std::optional(link)
             : std::nullopt;
}

/// Whether both are one value, or computed outside of layers from the same
/// ones.
static bool isSameValue(Value a, Value b) {
  if (a == b)
    return true;
  auto ofA = dyn_cast<OpResult>(a), ofB = dyn_cast<OpResult>(b);
  if (!ofA || !ofB || ofA.getResultNumber() != ofB.getResultNumber())
    return false;
  Operation *opA = ofA.getOwner(), *opB = ofB.getOwner();
  return opA->getName() == opB->getName() && opA->getNumRegions() == 0 &&
         opA->getAttrDictionary() == opB->getAttrDictionary() &&
         opA->getNumOperands() == opB->getNumOperands() &&
         llvm::all_of(llvm::zip_equal(opA->getOperands(), opB->getOperands()),
                      [](auto each) {
                        return isSameValue(std::get<0>(each),
                                           std::get<1>(each));
                      });
}

/// Whether what a layer takes from elsewhere is what the next one takes.
static bool takeTheSame(fsdp::ModuleOp layer, fsdp::ModuleOp next,
                        ArrayRef<int> link) {
  return llvm::all_of(
      llvm::zip_equal(layer->getOperands(), next->getOperands(), link),
      [](auto each) {
        auto [operand, other, number] = each;
        return number >= 0 || isSameValue(operand, other);
      });
}

/// The rows of equal layers in a block, longest possible, in order.
static SmallVector<SmallVector<fsdp::ModuleOp>> findRows(Block &block,
                                                         SymbolTable &symbols) {
  SmallVector<SmallVector<fsdp::ModuleOp>> rows;
  SmallVector<fsdp::ModuleOp> row;
  std::optional<SmallVector<int>> rowLink;
  auto end = [&] {
    if (row.size() > 3)
      rows.push_back(row);
    row.clear();
    rowLink.reset();
  };
  for (auto layer : block.getOps<fsdp::ModuleOp>()) {
    std::optional<SmallVector<int>> link;
    if (!row.empty())
      link = linkOf(row.back(), layer);
    const bool continues =
        link && (!rowLink || *rowLink == *link) &&
        layer->getNumOperands() == row.back()->getNumOperands() &&
        takeTheSame(row.back(), layer, *link) &&
        LayerComparison(symbols, row.back(), layer).isEqual();
    if (!continues)
      end();
    else
      rowLink = link;
    row.push_back(layer);
  }
  end();
  return rows;
}

/// The groups that modules in `layer`, and it itself, name, in their order.
static SmallVector<StringRef> groupsOf(fsdp::ModuleOp layer) {
  llvm::SetVector<StringRef> groups;
  layer->walk<WalkOrder::PreOrder>([&](fsdp::ModuleOp module) {
    if (std::optional<StringRef> group = module.getGroup())
      groups.insert(*group);
  });
  return groups.takeVector();
}

/// Erases a layer with what only it names; its results are `others`.
static void takeOut(fsdp::ModuleOp layer, ValueRange others,
                    SymbolTable &symbols) {
  llvm::SetVector<Operation *> own;
  layer->walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue()))
        if (StringRef name = symbol.getValue();
            name.consume_front(layer.getPath()) &&
            (name.empty() || name.starts_with(".")))
          if (Operation *named = symbols.lookup(symbol.getValue()))
            own.insert(named);
  });
  SmallVector<Value> taken(layer->getOperands());
  layer->replaceAllUsesWith(others);
  layer->erase();
  // What was computed for it alone.
  while (!taken.empty()) {
    Operation *op = taken.pop_back_val().getDefiningOp();
    if (!op || !op->use_empty() || op->getNumRegions() != 0)
      continue;
    llvm::append_range(taken, op->getOperands());
    op->erase();
  }
  for (Operation *named : own)
    symbols.erase(named);
}

/// Whether all parameters that the layer reads under its own path are in
/// `groups`, so that no other group lists them.
static bool holdAll(ArrayRef<StringRef> groups, fsdp::ModuleOp layer,
                    SymbolTable &symbols) {
  llvm::StringSet<> members;
  for (StringRef name : groups)
    if (auto group = symbols.lookup<fsdp::GroupOp>(name))
      for (auto member : group.getBody().front().getOps<fsdp::MemberOp>())
        members.insert(member.getParameter());
  bool all = true;
  layer->walk([&](fsdp::ReadOp read) {
    StringRef name = read.getSymbol();
    if (symbols.lookup<fsdp::ParameterOp>(name) &&
        name.starts_with(layer.getPath()))
      all &= members.contains(name);
  });
  return all;
}

/// Whether no two layers are in one group.
static bool haveGroupsOfTheirOwn(ArrayRef<fsdp::ModuleOp> row) {
  llvm::StringSet<> taken;
  return llvm::all_of(row, [&](fsdp::ModuleOp layer) {
    return llvm::all_of(groupsOf(layer), [&](StringRef group) {
      return taken.insert(group).second;
    });
  });
}

static void shorten(ArrayRef<fsdp::ModuleOp> row, SymbolTable &symbols,
                    RepeatedGroups &repeated) {
  fsdp::ModuleOp stays = row[1];
  const SmallVector<StringRef> groups = groupsOf(stays);
  if (groups.empty() || !holdAll(groups, stays, symbols) ||
      !haveGroupsOfTheirOwn(row))
    return;
  for (fsdp::ModuleOp layer : row.drop_front(2).drop_back()) {
    for (auto [group, other] : llvm::zip_equal(groups, groupsOf(layer)))
      repeated[group.str()].push_back(other.str());
    takeOut(layer, stays->getResults(), symbols);
  }
}

RepeatedGroups takeOutLayers(ModuleOp module) {
  RepeatedGroups repeated;
  SymbolTable symbols(module);
  auto forward = functions::find(module, functions::forward);
  if (!forward)
    return repeated;
  // Rows within a layer of a row stay.
  SmallVector<Block *> blocks = {&forward.getBody().front()};
  while (!blocks.empty()) {
    Block *block = blocks.pop_back_val();
    SmallPtrSet<Operation *, 16> inRows;
    for (const SmallVector<fsdp::ModuleOp> &row : findRows(*block, symbols)) {
      inRows.insert(row.begin(), row.end());
      shorten(row, symbols, repeated);
    }
    for (auto inner : block->getOps<fsdp::ModuleOp>())
      if (!inRows.contains(inner))
        blocks.push_back(&inner.getBody().front());
  }
  return repeated;
}

} // namespace shardc
