//===- main.cpp - shardrun: train a compiled artifact ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns a failure into a message and an exit code. Ctrl-C stops all ranks
// between two commands.
//===----------------------------------------------------------------------===//

#include "tools/command_line/CommandLine.h"
#include "tools/shardrun/Commands.h"

#include <csignal>
#include <iostream>
#include <new>
#include <string_view>

using namespace shardc;
using runtime::Cancellation;

/// Where the signal handler finds the run to stop.
static Cancellation *running = nullptr;

static void stopOnSignals(Cancellation &cancellation) {
  running = &cancellation;
  struct sigaction action = {};
  action.sa_handler = [](int number) { running->interrupt(number); };
  // A second signal ends the process at once.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

static int codeOf(const Status &status, const Cancellation &cancellation) {
  if (status.ok())
    return 0;
  if (status.code() == ErrorCode::E0501)
    return 128 + cancellation.signalNumber();
  return exitCode(status.code());
}

int main(int argc, char **argv) {
  Cancellation cancellation;
  bool printsFailure = true;
  const CommandContext context = {
      cancellation, [&cancellation] { stopOnSignals(cancellation); },
      printsFailure};
  try {
    const bool calibrates =
        argc > 1 && std::string_view(argv[1]) == "calibrate";
    const Status status = calibrates ? runCalibrate(argc - 1, argv + 1, context)
                                     : runTrain(argc, argv, context);
    if (!status.ok() && printsFailure)
      std::cerr << render(status, "shardrun");
    return flushOutput(codeOf(status, cancellation), "shardrun");
  } catch (const std::bad_alloc &) {
    const Status status(ErrorCode::E0503, "out of memory");
    std::cerr << render(status, "shardrun");
    return codeOf(status, cancellation);
  }
}
