//===- DtypeReport.cpp - Dtypes at every module's boundary ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the module tree.
//===----------------------------------------------------------------------===//

#include "compiler/DtypeReport.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Group/GroupPolicies.h"
#include "passes/Group/RootGroup.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <array>

using namespace mlir;

namespace shardc {

namespace {

/// One line of the table: a call of a module, or the model.
struct Line {
  std::string path, type;
  /// The path without the parent's, and how many parents there are.
  std::string name;
  unsigned depth = 0;
  bool isGroup = false;
  std::string inputs, parameters, outputs, reasons;

  std::string module() const {
    return std::string(2 * depth, ' ') + name +
           (type.empty() ? "" : "  " + type) + (isGroup ? "  *" : "");
  }
};

class DtypeReport {
public:
  explicit DtypeReport(ModuleOp module) : symbols(module) {
    for (fsdp::GroupOp root : findRootGroups(module))
      rootGroup = root;
  }

  std::string print() const;
  std::string printJson() const;

  void visitForward(func::FuncOp forward);

private:
  void visitBlock(Block &block, StringRef parent, unsigned depth);
  void visitModule(fsdp::ModuleOp call, StringRef parent, unsigned depth);
  std::string describeParameters(Block &block);
  bool isParameter(Value value);
  std::string describeReasons(fsdp::GroupOp group, bool castsInputs,
                              bool castsOutputs);

  SymbolTable symbols;
  fsdp::GroupOp rootGroup;
  std::vector<Line> lines;
};

} // namespace

/// Distinct texts in order, each once: "bf16, i64".
static std::string listOf(ArrayRef<std::string> texts) {
  llvm::SmallSetVector<StringRef, 4> distinct(texts.begin(), texts.end());
  return llvm::join(distinct, ", ");
}

static std::string dtypeOf(Value value) {
  return debugString(getElementTypeOrSelf(value.getType()));
}

/// Whether `cast` is `module`'s own: a value may go through several boundaries,
/// and a cast has the location of what it is at the boundary of.
static bool isAt(fsdp::CastOp cast, fsdp::Boundary boundary, Location module) {
  return cast && cast.getBoundary() == boundary && cast.getLoc() == module;
}

/// The cast that makes `value` at the module's input; null for none.
static fsdp::CastOp inputCast(Value value, Location module) {
  auto cast = value.getDefiningOp<fsdp::CastOp>();
  return isAt(cast, fsdp::Boundary::input, module) ? cast : fsdp::CastOp();
}

/// The first user of `value` that casts it at the module's boundary; null for
/// none.
static fsdp::CastOp castOf(Value value, fsdp::Boundary boundary,
                           Location module) {
  for (Operation *user : value.getUsers())
    if (auto cast = dyn_cast<fsdp::CastOp>(user); isAt(cast, boundary, module))
      return cast;
  return {};
}

static std::string arrow(Value from, Value to) {
  return dtypeOf(from) + " -> " + dtypeOf(to);
}

/// Whether a module gets a parameter as an input, because others use it, too.
bool DtypeReport::isParameter(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto module = dyn_cast<fsdp::ModuleOp>(argument.getOwner()->getParentOp());
    if (!module)
      return false;
    value = module.getInputs()[argument.getArgNumber()];
  }
  auto read = value.getDefiningOp<fsdp::ReadOp>();
  return read && symbols.lookup<fsdp::ParameterOp>(read.getSymbol());
}

/// Of what a module reads by itself, and of conversions that its author wrote.
std::string DtypeReport::describeParameters(Block &block) {
  SmallVector<std::string> dtypes;
  for (auto read : block.getOps<fsdp::ReadOp>())
    if (symbols.lookup<fsdp::ParameterOp>(read.getSymbol()))
      dtypes.push_back(dtypeOf(read.getResult()));
  std::string text = listOf(dtypes);
  size_t written = llvm::range_size(block.getOps<aten::ToOp>());
  if (written)
    text += llvm::formatv("{0}({1} x .to())", text.empty() ? "" : " ", written);
  return text;
}

std::string DtypeReport::describeReasons(fsdp::GroupOp group, bool castsInputs,
                                         bool castsOutputs) {
  auto reasons = group ? group->getAttrOfType<DictionaryAttr>(reasonsAttribute)
                       : DictionaryAttr();
  if (!reasons)
    return "";
  SmallVector<std::string> parts;
  auto add = [&](StringRef key) {
    parts.push_back(
        (key + ": " + reasons.getAs<StringAttr>(key).getValue()).str());
  };
  if (castsInputs)
    add("param_dtype");
  if (castsOutputs)
    add("output_dtype");
  return llvm::join(parts, "; ");
}

void DtypeReport::visitModule(fsdp::ModuleOp call, StringRef parent,
                              unsigned depth) {
  SmallVector<std::string> inputs, outputs;
  bool castsInputs = false, castsOutputs = false;
  SmallVector<std::string> shared;
  for (Value input : call.getInputs()) {
    if (isParameter(input)) {
      shared.push_back(dtypeOf(input) + " (shared)");
      continue;
    }
    fsdp::CastOp cast = inputCast(input, call.getLoc());
    castsInputs |= static_cast<bool>(cast);
    inputs.push_back(cast ? arrow(cast.getValue(), input) : dtypeOf(input));
  }
  for (Value output : call.getResults()) {
    fsdp::CastOp cast = castOf(output, fsdp::Boundary::output, call.getLoc());
    castsOutputs |= static_cast<bool>(cast);
    outputs.push_back(cast ? arrow(output, cast.getResult()) : dtypeOf(output));
  }
  auto group = call.getGroup() ? symbols.lookup<fsdp::GroupOp>(*call.getGroup())
                               : fsdp::GroupOp();
  StringRef name = call.getPath();
  if (!parent.empty() && name.starts_with(parent))
    name = name.drop_front(parent.size()).ltrim('.');
  Block &body = call.getBody().front();
  if (std::string own = describeParameters(body); !own.empty())
    shared.insert(shared.begin(), own);
  lines.push_back({call.getPath().str(), call.getType().str(), name.str(),
                   depth, static_cast<bool>(group), listOf(inputs),
                   listOf(shared), listOf(outputs),
                   describeReasons(group, castsInputs, castsOutputs)});
  visitBlock(body, call.getPath(), depth + 1);
}

void DtypeReport::visitBlock(Block &block, StringRef parent, unsigned depth) {
  for (auto call : block.getOps<fsdp::ModuleOp>())
    visitModule(call, parent, depth);
}

void DtypeReport::visitForward(func::FuncOp forward) {
  Block &body = forward.getBody().front();
  SmallVector<std::string> inputs, outputs;
  bool castsInputs = false, castsOutputs = false;
  for (BlockArgument input : body.getArguments()) {
    fsdp::CastOp cast = castOf(input, fsdp::Boundary::input, input.getLoc());
    castsInputs |= static_cast<bool>(cast);
    inputs.push_back(cast ? arrow(input, cast.getResult()) : dtypeOf(input));
  }
  for (Value output : body.getTerminator()->getOperands()) {
    auto cast = output.getDefiningOp<fsdp::CastOp>();
    if (!isAt(cast, fsdp::Boundary::output, body.getTerminator()->getLoc()))
      cast = nullptr;
    castsOutputs |= static_cast<bool>(cast);
    outputs.push_back(cast ? arrow(cast.getValue(), output) : dtypeOf(output));
  }
  lines.push_back({"", "", "model", 0, /*isGroup=*/true, listOf(inputs),
                   describeParameters(body), listOf(outputs),
                   describeReasons(rootGroup, castsInputs, castsOutputs)});
  visitBlock(body, "", 1);
}

std::string DtypeReport::print() const {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"module (* = FSDP group)", "inputs", "parameters",
                            "outputs", "cast because of"}};
  for (const Line &line : lines)
    rows.push_back({line.module(), line.inputs, line.parameters, line.outputs,
                    line.reasons});
  std::array<size_t, 5> widths = {};
  for (const Row &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  std::string text;
  for (const Row &row : rows) {
    std::string line;
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      line += cell + std::string(width + 2 - cell.size(), ' ');
    text += StringRef(line).rtrim().str() + "\n";
  }
  return text;
}

std::string DtypeReport::printJson() const {
  llvm::json::Array calls;
  for (const Line &line : lines)
    calls.push_back(llvm::json::Object{{"module", line.path},
                                       {"type", line.type},
                                       {"is_group", line.isGroup},
                                       {"inputs", line.inputs},
                                       {"parameters", line.parameters},
                                       {"outputs", line.outputs},
                                       {"casts_from", line.reasons}});
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(calls)));
}

static DtypeReport reportOf(ModuleOp module) {
  DtypeReport report(module);
  report.visitForward(functions::find(module, functions::forward));
  return report;
}

std::string reportDtypes(ModuleOp module) { return reportOf(module).print(); }

std::string reportDtypesAsJson(ModuleOp module) {
  return reportOf(module).printJson();
}

} // namespace shardc
