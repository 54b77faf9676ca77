//===- ModuleStack.cpp - The module calls that an operation ran under -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads the attribute that holds an operation's module stack.
//===----------------------------------------------------------------------===//

#include "passes/Import/ModuleStack.h"

using namespace mlir;

namespace shardc {

std::string ModuleFrame::describe() const {
  std::string name = path.getValue().str();
  return call ? name + "@" + std::to_string(call) : name;
}

ArrayAttr encodeModuleStack(Builder &builder, ArrayRef<ModuleFrame> frames) {
  SmallVector<Attribute> encoded;
  for (const ModuleFrame &frame : frames) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("path", frame.path),
        builder.getNamedAttr("type", frame.type)};
    if (frame.call != 0)
      entries.push_back(
          builder.getNamedAttr("call", builder.getI64IntegerAttr(frame.call)));
    encoded.push_back(builder.getDictionaryAttr(entries));
  }
  return builder.getArrayAttr(encoded);
}

FailureOr<SmallVector<ModuleFrame>> decodeModuleStack(Operation *op) {
  SmallVector<ModuleFrame> frames;
  auto stack = op->getAttrOfType<ArrayAttr>(moduleStackName);
  if (!stack)
    return frames;
  for (Attribute entry : stack) {
    auto dictionary = dyn_cast<DictionaryAttr>(entry);
    ModuleFrame frame;
    if (dictionary) {
      frame.path = dictionary.getAs<StringAttr>("path");
      frame.type = dictionary.getAs<StringAttr>("type");
      if (auto call = dictionary.getAs<IntegerAttr>("call"))
        frame.call = call.getInt();
    }
    if (!frame.path || !frame.type || frame.path.empty()) {
      op->emitError("expected frames with a path and a type in '")
          << moduleStackName << "', got " << entry;
      return failure();
    }
    frames.push_back(frame);
  }
  return frames;
}

} // namespace shardc
