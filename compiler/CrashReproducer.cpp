//===- CrashReproducer.cpp - What a crash leaves behind -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An instrumentation copies the module before each of its passes; a handler of
// fatal signals prints the last copy. Printing in a signal handler may not
// work, since the crash may have left anything locked or overwritten. The
// process is about to die, so it is worth a try, with a limit on its time.
//===----------------------------------------------------------------------===//

#include "compiler/CrashReproducer.h"

#include "compiler/ReproducerFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace mlir;

namespace shardc {

struct CrashReproducer::Snapshot {
  ModuleOp module;
  /// Of the file to write.
  std::string fileName;
  /// The module before the last pass that was begun, and that pass in the
  /// syntax of --pass-pipeline. Null and empty before the first one.
  OwningOpRef<Operation *> before;
  std::string pipeline;
};

/// What a signal writes.
static std::atomic<const CrashReproducer *> active = nullptr;

namespace {

/// Takes the snapshots. Passes on functions run inside of an adaptor, which is
/// a pass on the module; so the copy is made by one thread, and holds what all
/// threads start from.
class SnapshotInstrumentation : public PassInstrumentation {
public:
  explicit SnapshotInstrumentation(
      std::shared_ptr<CrashReproducer::Snapshot> snapshot)
      : snapshot(std::move(snapshot)) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (op != snapshot->module.getOperation())
      return;
    snapshot->before = op->clone();
    snapshot->pipeline.clear();
    llvm::raw_string_ostream stream(snapshot->pipeline);
    stream << op->getName() << "(";
    pass->printAsTextualPipeline(stream);
    stream << ")";
  }

private:
  std::shared_ptr<CrashReproducer::Snapshot> snapshot;
};

} // namespace

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Prints `snapshot` with the resource that --run-reproducer looks for.
static void print(const CrashReproducer::Snapshot &snapshot, raw_ostream &os) {
  // Locations are part of the IR: they carry module paths.
  AsmState state(snapshot.before.get(),
                 OpPrintingFlags().enableDebugInfo(/*enable=*/true));
  state.attachResourcePrinter(
      "mlir_reproducer", [&](Operation *, AsmResourceBuilder &builder) {
        builder.buildString("pipeline", snapshot.pipeline);
        builder.buildBool("disable_threading", true);
        builder.buildBool("verify_each", true);
      });
  snapshot.before.get()->print(os, state);
  os << "\n";
}

static void writeAndTell(const CrashReproducer::Snapshot &snapshot) {
  std::string path = writeReproducer(
      snapshot.fileName, [&](raw_ostream &os) { print(snapshot, os); });
  llvm::errs() << "  note: in pass '" << snapshot.pipeline << "'\n";
  if (path.empty())
    llvm::errs() << "  note: the IR before it could not be written to a file\n";
  else
    llvm::errs() << "  help: this is a bug in shardc; please report it "
                    "with the file '"
                 << path << "', which repeats it:\n"
                 << "        shardc-opt --run-reproducer " << path << "\n";
}

void CrashReproducer::write() const {
  if (snapshot->before)
    writeAndTell(*snapshot);
}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

/// Writes the reproducer of a process that is about to die of a signal.
static void writeAfterSignal(void *) {
  const CrashReproducer *reproducer = active.exchange(nullptr);
  if (!reproducer)
    return;
  // If the crash left a lock held that printing needs, end it all the same.
  constexpr unsigned secondsToWrite = 30;
  ::alarm(secondsToWrite);
  llvm::errs() << "shardc: internal error: crash\n";
  // On a stack of its own: this one may be what overflowed.
  std::thread([&] { reproducer->write(); }).join();
  ::alarm(0);
}

CrashReproducer::CrashReproducer(PassManager &manager, ModuleOp module)
    : snapshot(std::make_shared<Snapshot>()) {
  snapshot->module = module;
  snapshot->fileName = reproducerFileName(module.getName().value_or("model"));
  manager.addInstrumentation(
      std::make_unique<SnapshotInstrumentation>(snapshot));
  // Handlers of signals are added for good, so there is one.
  static std::once_flag once;
  std::call_once(
      once, [] { llvm::sys::AddSignalHandler(writeAfterSignal, nullptr); });
  active = this;
}

CrashReproducer::~CrashReproducer() { active = nullptr; }

} // namespace shardc
