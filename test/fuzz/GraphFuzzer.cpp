//===- GraphFuzzer.cpp - Any text as an exported program ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input as the JSON of an exported program, and binds its sizes: to
// the example's, and each symbol to 3.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ProgramReader.h"
#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/SymbolBindings.h"

using namespace shardc;
using namespace shardc::pt2;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  StatusOr<ExportedProgram> program = catchFailure<ExportedProgram>(
      [&] { return readProgram(parseJson(text, "model.json")); });
  if (!program.ok())
    return 0;
  ExportedModel example{*program, {}};
  StatusOr<SymbolBindings> bindings = bindSymbols(example, {});
  if (!bindings.ok())
    return 0;
  std::map<std::string, int64_t> values;
  for (const BoundSymbol &symbol : bindings->symbols)
    values.emplace(symbol.name, 3);
  ExportedModel other{*program, {}};
  (void)bindSymbols(other, values).ok();
  return 0;
}
