//===- OperatorTableTest.cpp - The table against the dialect --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operator with a derivative has an entry, entries that say so train, and
// the others are refused by the error that they name.
//===----------------------------------------------------------------------===//

#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "test/fuzz/programs/ErrorCollector.h"
#include "test/fuzz/programs/ProgramGenerator.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace shardc;
using namespace shardc::fuzz;

namespace {

class OperatorTable : public testing::Test {
protected:
  OperatorTable() { loadDialects(context); }

  /// The first program of `entry` that has the operator; seeds differ in
  /// shapes.
  OwningOpRef<ModuleOp> programOf(const OperatorEntry &entry);

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

} // namespace

static bool hasOperator(ModuleOp module, StringRef name) {
  return module
      .walk([&](Operation *op) {
        return op->getName().getStringRef() == name ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

OwningOpRef<ModuleOp> OperatorTable::programOf(const OperatorEntry &entry) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    OwningOpRef<ModuleOp> module = generateProgramOf(entry, context, seed);
    if (module && hasOperator(*module, entry.name))
      return module;
  }
  return nullptr;
}

TEST_F(OperatorTable, HasEveryOperatorWithADerivative) {
  std::set<std::string> expected, actual;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<aten::DifferentiableOpInterface>())
      expected.insert(name.getStringRef().str());
  for (const OperatorEntry &entry : operatorEntries())
    EXPECT_TRUE(actual.insert(entry.name.str()).second)
        << entry.name.str() << " has two entries";
  for (const std::string &name : expected)
    EXPECT_TRUE(actual.count(name)) << name << " has no entry";
}

TEST_F(OperatorTable, EntriesTrainOrAreRefused) {
  for (const OperatorEntry &entry : operatorEntries()) {
    SCOPED_TRACE(entry.name.str());
    OwningOpRef<ModuleOp> program = programOf(entry);
    ASSERT_TRUE(program) << "the entry builds nothing";
    ErrorCollector errors(context);
    LogicalResult compiled = runPhases(*program, Options());
    if (entry.refusal.empty())
      EXPECT_TRUE(succeeded(compiled)) << errors.getText();
    else
      EXPECT_EQ(errors.getNumber().str(), entry.refusal.str())
          << "the operator trains now: let its entry say so\n"
          << errors.getText();
  }
}

TEST_F(OperatorTable, TheSameSeedIsTheSameProgram) {
  auto print = [&](uint64_t seed) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    generateProgram(context, seed)->print(stream);
    return text;
  };
  EXPECT_EQ(print(7), print(7));
  EXPECT_NE(print(7), print(8));
}
