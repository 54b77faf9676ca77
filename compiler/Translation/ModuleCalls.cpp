//===- ModuleCalls.cpp - The module calls that a node is inside of --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keeps, for every call that is entered, the operation that it comes after.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ModuleCalls.h"

#include "dialects/Fsdp/ModulePath.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

size_t ModuleCalls::depthCommonWith(ArrayRef<ModuleFrame> others) const {
  size_t depth = 0;
  while (depth < current.size() && depth < others.size() &&
         current[depth] == others[depth])
    ++depth;
  return depth;
}

void ModuleCalls::enter(ArrayRef<ModuleFrame> frames) {
  size_t common = depthCommonWith(frames);
  Block &block = *builder.getInsertionBlock();
  before.resize(common);
  before.resize(frames.size(), block.empty() ? nullptr : &block.back());
  current.assign(frames.begin(), frames.end());
}

/// Whether the module `path` is `owner` or holds it.
static bool holds(StringRef path, StringRef owner) {
  return owner.consume_front(path) && (owner.empty() || owner.front() == '.');
}

size_t ModuleCalls::depthHolding(ArrayRef<std::string> owners) const {
  size_t depth = current.size();
  while (depth > 0 && llvm::none_of(owners, [&](StringRef owner) {
           return holds(current[depth - 1].path.getValue(), owner);
         }))
    --depth;
  return depth;
}

Location ModuleCalls::moveTo(size_t depth, Value operand,
                             Location location) const {
  if (depth == current.size())
    return location;
  Operation *last = before[depth];
  Operation *source = operand ? operand.getDefiningOp() : nullptr;
  if (source && (!last || last->isBeforeInBlock(source)))
    last = source;
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(builder.getInsertionBlock());
  StringRef path = depth ? current[depth - 1].path.getValue() : StringRef();
  return withModulePath(builder.getUnknownLoc(), path);
}

void ModuleCalls::place(Operation *op, size_t depth) {
  placed.insert(op);
  if (depth > 0)
    op->setAttr(moduleStackName, stackOf(depth));
}
