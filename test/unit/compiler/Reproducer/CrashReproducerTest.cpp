//===- CrashReproducerTest.cpp - What a crash leaves behind ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Passes that crash in several ways, in a folder of their own: the file that
// they leave repeats the failure.
//===----------------------------------------------------------------------===//

#include "compiler/CrashReproducer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"

#include <csignal>

using namespace mlir;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Renames every function.
struct RenamePass : PassWrapper<RenamePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RenamePass)
  StringRef getArgument() const override { return "test-rename"; }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.setSymName((function.getSymName() + "_renamed").str());
  }
};

/// Fails in the way that its option says, on functions.
struct BreakPass : PassWrapper<BreakPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakPass)
  BreakPass() = default;
  BreakPass(const BreakPass &other) : PassWrapper(other) {}
  explicit BreakPass(StringRef way) { how = way.str(); }
  StringRef getArgument() const override { return "test-break"; }

  void runOnOperation() override {
    if (how == "abort")
      std::abort();
    if (how == "segfault")
      ::raise(SIGSEGV);
    if (how == "overflow")
      recurse(0);
    if (how == "fail")
      signalPassFailure();
  }

  /// Uses up the stack.
  static int recurse(int depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
  }

  Option<std::string> how{*this, "how", llvm::cl::desc("The way to fail")};
};

class CrashReproducer : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("reproducer", folder));
    ASSERT_FALSE(llvm::sys::fs::current_path(previous));
    ASSERT_FALSE(llvm::sys::fs::set_current_path(folder));
  }
  void TearDown() override {
    ASSERT_FALSE(llvm::sys::fs::set_current_path(previous));
    ASSERT_FALSE(llvm::sys::fs::remove_directories(folder));
  }

  static constexpr StringLiteral file = "shardc-reproducer-.._small.mlir";
  SmallString<128> folder;
  SmallString<128> previous;
};

} // namespace

/// Renames the function, then fails as `how` says.
static LogicalResult compile(StringRef how, bool hasNumberedError = false) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "module @\"../small\" { func.func private @first() loc(\"layers.0\") }",
      &context);
  PassManager manager(&context);
  manager.addPass(std::make_unique<RenamePass>());
  manager.addNestedPass<func::FuncOp>(std::make_unique<BreakPass>(how));
  shardc::CrashReproducer reproducer(manager, *module);
  LogicalResult result = manager.run(*module);
  if (failed(result) && !hasNumberedError)
    reproducer.write();
  return result;
}

static std::string read(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Runs the pipeline in a file as `shardc-opt --run-reproducer` does.
static LogicalResult rerun(StringRef path) {
  PassRegistration<RenamePass>();
  PassRegistration<BreakPass>();
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  FallbackAsmResourceMap resources;
  ParserConfig config(&context, /*verifyAfterParse=*/true, &resources);
  PassReproducerOptions options;
  options.attachResourceParser(config);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, config);
  PassManager manager(&context);
  EXPECT_TRUE(module);
  EXPECT_TRUE(succeeded(options.apply(manager)));
  return manager.run(*module);
}

TEST_F(CrashReproducer, NothingIsLeftByASuccess) {
  EXPECT_TRUE(succeeded(compile("never")));
  EXPECT_FALSE(llvm::sys::fs::exists(file));
}

// The error that the user made has a number; there is nothing to report.
TEST_F(CrashReproducer, NothingIsLeftByAnErrorOfTheUser) {
  EXPECT_TRUE(failed(compile("fail", /*hasNumberedError=*/true)));
  EXPECT_FALSE(llvm::sys::fs::exists(file));
}

// The IR is that before the failing pass, and the file has that pass alone.
TEST_F(CrashReproducer, AFailedPassCanBeRepeated) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(failed(compile("fail")));
  std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_THAT(errors, HasSubstr("shardc-opt --run-reproducer " + file.str()));
  EXPECT_THAT(errors, HasSubstr("func.func(test-break{how=fail})"));
  std::string text = read(file);
  EXPECT_THAT(text, HasSubstr("@first_renamed"));
  EXPECT_THAT(text, HasSubstr("layers.0"));
  EXPECT_THAT(text, Not(HasSubstr("test-rename")));
  EXPECT_TRUE(failed(rerun(file)));
}

// A crash ends the process by its signal, and leaves the file before.
TEST_F(CrashReproducer, ACrashCanBeRepeated) {
  EXPECT_EXIT((void)compile("abort"), testing::KilledBySignal(SIGABRT),
              "internal error: crash");
  EXPECT_THAT(read(file), HasSubstr("test-break{how=abort}"));
  EXPECT_THAT(read(file), HasSubstr("@first_renamed"));
  EXPECT_EXIT((void)rerun(file), testing::KilledBySignal(SIGABRT), "");
}

TEST_F(CrashReproducer, ASegmentationFaultCanBeRepeated) {
  EXPECT_EXIT((void)compile("segfault"), testing::KilledBySignal(SIGSEGV),
              "shardc-opt --run-reproducer");
  EXPECT_THAT(read(file), HasSubstr("test-break{how=segfault}"));
}

// The file is written although there is no stack left.
TEST_F(CrashReproducer, AnExhaustedStackCanBeRepeated) {
  EXPECT_EXIT((void)compile("overflow"), testing::KilledBySignal(SIGSEGV),
              "shardc-opt --run-reproducer");
  EXPECT_THAT(read(file), HasSubstr("test-break{how=overflow}"));
}
