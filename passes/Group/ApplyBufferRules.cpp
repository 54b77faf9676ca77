//===- ApplyBufferRules.cpp - What ranks make of buffers ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.buffer @codebook : …   ->   fsdp.buffer @codebook sync mean : …
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/RuleProblems.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-apply-buffer-rules"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_APPLYBUFFERRULESPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct ApplyBufferRulesPass
    : impl::ApplyBufferRulesPassBase<ApplyBufferRulesPass> {
  using ApplyBufferRulesPassBase::ApplyBufferRulesPassBase;
  void runOnOperation() override;
};
} // namespace

/// The names of buffers that forward writes.
static llvm::StringSet<> writtenIn(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](fsdp::WriteOp write) { names.insert(write.getSymbol()); });
  return names;
}

static LogicalResult fail(ModuleOp module, const std::vector<Rule> &rules,
                          const RuleSelection &selection,
                          const llvm::StringSet<> &written) {
  if (selection.problem != RuleSelection::Problem::noMatch)
    return failWithRules(module, rules, selection, "buffer");
  InFlightDiagnostic error = emitNumberedError(module, "E0206")
                             << "'" << rules[selection.rule].pattern
                             << "' matches no buffer";
  SmallVector<StringRef> names(written.keys());
  llvm::sort(names);
  if (names.empty())
    error.attachNote() << "forward writes no buffer";
  else
    error.attachNote() << "buffers that forward writes: '"
                       << llvm::join(names, "', '") << "'";
  return error;
}

static LogicalResult apply(fsdp::BufferOp buffer, fsdp::BufferSync sync,
                           const llvm::StringSet<> &written) {
  if (!written.contains(buffer.getSymName()))
    return emitNumberedError(buffer, "E0212")
           << "buffer '" << buffer.getSymName()
           << "' needs no synchronization: forward does not write it";
  Type element = cast<RankedTensorType>(buffer.getType()).getElementType();
  if (sync == fsdp::BufferSync::mean && !isa<FloatType>(element)) {
    InFlightDiagnostic error = emitNumberedError(buffer, "E0212")
                               << "buffer '" << buffer.getSymName() << "' of "
                               << element << " has no mean over ranks";
    error.attachNote() << "help: sync=sum, or sync=broadcast";
    return error;
  }
  buffer.setSync(sync);
  return success();
}

void ApplyBufferRulesPass::runOnOperation() {
  ModuleOp module = getOperation();
  ParsedRules parsed = parseRules(rules, bufferRuleKeys());
  if (!parsed.problem.empty()) {
    emitNumberedError(module, "E0205") << parsed.problem;
    return signalPassFailure();
  }
  SmallVector<fsdp::BufferOp> buffers(module.getOps<fsdp::BufferOp>());
  std::vector<std::vector<std::string>> names;
  for (fsdp::BufferOp buffer : buffers) {
    names.push_back({buffer.getSymName().str()});
    for (auto alias : buffer.getAliases().getAsRange<StringAttr>())
      names.back().push_back(alias.str());
  }
  llvm::StringSet<> written = writtenIn(module);
  RuleSelection selection = selectRules(names, parsed.rules);
  if (selection.problem != RuleSelection::Problem::none) {
    (void)fail(module, parsed.rules, selection, written);
    return signalPassFailure();
  }
  for (auto [buffer, chosen] : llvm::zip_equal(buffers, selection.chosen))
    for (const auto &[key, rule] : chosen)
      if (failed(apply(
              buffer,
              *fsdp::symbolizeBufferSync(parsed.rules[rule].settings.at(key)),
              written)))
        return signalPassFailure();
}

} // namespace shardc
