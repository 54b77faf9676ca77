//===- ModulePath.cpp - Where in the model an operation comes from --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds and writes the NameLoc that holds a module path.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

StringRef getModulePath(Location location) {
  return llvm::TypeSwitch<LocationAttr, StringRef>(location)
      .Case([](NameLoc name) { return name.getName().getValue(); })
      .Case([](CallSiteLoc call) { return getModulePath(call.getCallee()); })
      .Case([](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (StringRef path = getModulePath(part); !path.empty())
            return path;
        return StringRef();
      })
      .Default([](LocationAttr) { return StringRef(); });
}

Location withModulePath(Location location, StringRef path) {
  return NameLoc::get(StringAttr::get(location.getContext(), path), location);
}

void attachModulePath(InFlightDiagnostic &diagnostic, Operation *op) {
  StringRef path = getModulePath(op->getLoc());
  if (!path.empty())
    diagnostic.attachNote() << "in module '" << path << "'";
}

InFlightDiagnostic emitNumberedError(Operation *op, StringRef number) {
  InFlightDiagnostic diagnostic = op->emitError();
  diagnostic << number << ": ";
  attachModulePath(diagnostic, op);
  return diagnostic;
}

} // namespace shardc
