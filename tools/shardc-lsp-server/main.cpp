//===- main.cpp - shardc-lsp-server: shardc's dialects in an editor -------===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's language server with shardc's dialects: verifier messages, hovers and
// go-to-definition in `.mlir` files.
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  shardc::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
