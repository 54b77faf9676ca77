//===- MutateArtifacts.cpp - Damaged artifacts end well -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   mutate-artifacts ARTIFACT.shardc [COUNT [SEED [FOLDER]]]
//
// Makes COUNT mutants of an artifact (ArtifactMutator.h), reads each and, when
// it is accepted, trains one step of two micro-batches on random data in
// checked memory. Each has to end in success or in a numbered error. Mutants
// run in child processes; one that crashes, throws or takes too long is
// reported, and written to FOLDER if there is one. Exits with 1 if there are
// any.
//===----------------------------------------------------------------------===//

#include "test/artifact/ArtifactMutator.h"

#include "runtime/format/Artifact.h"
#include "runtime/train/Trainer.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace shardc;
using namespace shardc::testing;

/// A mutant may ask for any amount of memory and of work; what is far beyond
/// the original says nothing about safety and is not run.
static constexpr int64_t maxBytes = int64_t(256) << 20;
static constexpr int64_t maxRanks = 16;
static constexpr int secondsOfMutant = 60;

namespace {
/// What children tell their parent; in memory that they share.
struct Progress {
  /// The mutant in work; one past the last when a child is done.
  std::atomic<int64_t> current;
  std::atomic<int64_t> trained, large;
  /// Mutants that ended in each number, of which 9999 is the greatest.
  std::atomic<int64_t> errors[10000];
};

struct Settings {
  std::string path;
  int64_t count = 20000;
  uint64_t seed = 1;
  std::string folder;
};
} // namespace

static std::string readAll(const std::string &path) {
  const std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

/// Mutant `index` of the artifact; `done` says what was changed.
static std::string makeMutant(ArtifactEntries entries, const Settings &settings,
                              int64_t index, std::string &done) {
  std::seed_seq seeds{settings.seed, static_cast<uint64_t>(index)};
  std::mt19937_64 random(seeds);
  done = mutate(entries, random);
  return joinArtifact(std::move(entries));
}

/// Bytes that all ranks need.
static int64_t memoryOf(const format::Artifact &artifact) {
  double bytes = static_cast<double>(artifact.program.arenaBytes);
  for (const format::State &state : artifact.parameters.states)
    bytes += static_cast<double>(state.elements * byteSize(state.dtype));
  for (const format::Input &input : artifact.parameters.inputs)
    bytes += static_cast<double>(format::elementCount(input.shape)) *
             static_cast<double>(byteSize(input.dtype));
  return static_cast<int64_t>(
      bytes * static_cast<double>(artifact.manifest.mesh.ranks()));
}

static Status runMutant(const std::string &content, Progress &progress) {
  const int descriptor = memfd_create("mutant", MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, content.data(), content.size()) !=
                            static_cast<ssize_t>(content.size()))
    std::abort();
  const StatusOr<format::LoadedArtifact> loaded =
      format::readArtifact("/proc/self/fd/" + std::to_string(descriptor));
  close(descriptor);
  if (!loaded.ok())
    return loaded.status();
  const format::Artifact &artifact = loaded->artifact;
  if (artifact.manifest.mesh.ranks() > maxRanks ||
      memoryOf(artifact) > maxBytes) {
    ++progress.large;
    return Status();
  }
  runtime::TrainOptions options;
  options.steps = 1;
  options.data = "random";
  options.microBatches = 2;
  options.threads = 1;
  options.poison = true;
  options.quiet = true;
  runtime::Cancellation cancellation;
  std::ostringstream output;
  const Status status = runtime::train(artifact, options, cancellation, output);
  if (status.ok())
    ++progress.trained;
  return status;
}

/// The life of a child: mutants from `progress.current` on.
[[noreturn]] static void runMutants(const ArtifactEntries &entries,
                                    const Settings &settings,
                                    Progress &progress) {
  for (; progress.current < settings.count; ++progress.current) {
    std::string done;
    const Status status = runMutant(
        makeMutant(entries, settings, progress.current, done), progress);
    if (!status.ok())
      ++progress.errors[static_cast<int>(status.code())];
  }
  _exit(0);
}

/// Waits for a child; returns how it failed, or nothing.
static std::string watch(pid_t child, const Progress &progress) {
  using Clock = std::chrono::steady_clock;
  int64_t last = -1;
  Clock::time_point since = Clock::now();
  for (int status = 0;;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status))
        return "ends by signal " + std::to_string(WTERMSIG(status));
      return WEXITSTATUS(status) == 0
                 ? ""
                 : "exits with " + std::to_string(WEXITSTATUS(status));
    }
    const int64_t current = progress.current;
    if (current != last)
      since = Clock::now();
    last = current;
    if (Clock::now() - since < std::chrono::seconds(secondsOfMutant))
      continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return "takes more than " + std::to_string(secondsOfMutant) + " s";
  }
}

static void reportFailure(const ArtifactEntries &entries,
                          const Settings &settings, int64_t index,
                          const std::string &failure) {
  std::string done;
  const std::string mutant = makeMutant(entries, settings, index, done);
  std::cout << "mutant " << index << " of seed " << settings.seed << " "
            << failure << ": " << done << std::endl;
  if (!settings.folder.empty())
    std::ofstream(settings.folder + "/" + std::to_string(index) + ".shardc",
                  std::ios::binary)
        << mutant;
}

static void printSummary(const Settings &settings, const Progress &progress,
                         int64_t failures) {
  std::cout << settings.count << " mutants: " << failures << " end badly, "
            << progress.trained << " train, " << progress.large
            << " are valid and too large to run\n";
  for (int number = 0; number < 10000; ++number)
    if (progress.errors[number] > 0)
      std::printf("  E%04d  %lld\n", number,
                  static_cast<long long>(progress.errors[number]));
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 5) {
    std::cerr << "usage: mutate-artifacts ARTIFACT.shardc [COUNT [SEED "
                 "[FOLDER]]]\n";
    return 2;
  }
  Settings settings;
  settings.path = argv[1];
  if (argc > 2)
    settings.count = std::atoll(argv[2]);
  if (argc > 3)
    settings.seed = static_cast<uint64_t>(std::atoll(argv[3]));
  if (argc > 4)
    settings.folder = argv[4];
  const std::string original = readAll(settings.path);
  const ArtifactEntries entries = splitArtifact(original);
  void *const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (entries.empty() || shared == MAP_FAILED) {
    std::cerr << "mutate-artifacts: no artifact, or no memory\n";
    return 2;
  }
  Progress &progress = *new (shared) Progress();
  if (const Status status = runMutant(joinArtifact(entries), progress);
      !status.ok() || progress.trained != 1) {
    std::cerr << render(status, "mutate-artifacts");
    return 2;
  }
  progress.trained = 0;
  int64_t failures = 0;
  while (progress.current < settings.count) {
    const pid_t child = fork();
    if (child == 0)
      runMutants(entries, settings, progress);
    if (const std::string failure = watch(child, progress); !failure.empty()) {
      ++failures;
      reportFailure(entries, settings, progress.current, failure);
      ++progress.current;
    }
  }
  printSummary(settings, progress, failures);
  return failures == 0 ? 0 : 1;
}
