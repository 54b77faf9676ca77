//===- Functions.cpp - The functions of a program -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Symbols are looked at one by one: a program has few functions.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Functions.h"

using namespace mlir;

namespace shardc::functions {

static constexpr llvm::StringLiteral suffix = ".function";

func::FuncOp find(ModuleOp module, StringRef name) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef symbol = function.getSymName();
    while (symbol != name && symbol.consume_back(suffix))
      ;
    if (symbol == name)
      return function;
  }
  return {};
}

std::string freeSymbol(ModuleOp module, StringRef name) {
  std::string symbol = name.str();
  while (module.lookupSymbol(symbol))
    symbol += suffix;
  return symbol;
}

} // namespace shardc::functions
