//===- IsolatedRun.cpp - Work that may crash ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Workers take seeds from a counter that they share and write lines into a
// pipe; one poll loop reads them. A worker ends after some seeds, so that what
// its context remembers does not add up.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/IsolatedRun.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace shardc::fuzz {

namespace {

constexpr int seedsOfWorker = 40;
constexpr unsigned secondsOfSeed = 120;

/// What the processes share.
struct SharedCounter {
  std::atomic<uint64_t> next;
};

/// A process that checks seeds, as the parent sees it.
struct Worker {
  pid_t pid = 0;
  /// The end of its pipe, and what of a line has come.
  int lines = -1;
  std::string pending;
  /// A file that takes its standard error.
  FILE *errors = nullptr;
  std::optional<uint64_t> seed;
};

class SeedPool {
public:
  SeedPool(uint64_t first, uint64_t end, double seconds,
           const SeedFunction &check, const SeedReport &report)
      : end(end), check(check), report(report) {
    void *memory = mmap(nullptr, sizeof(SharedCounter), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counter = new (memory) SharedCounter{first};
    if (seconds > 0)
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(seconds));
  }
  ~SeedPool() { munmap(counter, sizeof(SharedCounter)); }

  void run(int jobs);

private:
  using Clock = std::chrono::steady_clock;

  uint64_t end;
  const SeedFunction &check;
  const SeedReport &report;
  SharedCounter *counter;
  std::optional<Clock::time_point> deadline;

  bool isOver() const {
    return counter->next >= end || (deadline && Clock::now() > *deadline);
  }
  void start(Worker &worker);
  void work(int lines);
  bool read(Worker &worker);
  void take(Worker &worker, StringRef line);
  void finish(Worker &worker);
};

} // namespace

//===----------------------------------------------------------------------===//
// The worker's side
//===----------------------------------------------------------------------===//

static void writeLine(int file, const std::string &line) {
  std::string text = line + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count <= 0)
      _exit(1);
    done += count;
  }
}

/// "seed <tab> policy <tab> kind <tab> text <tab> name=count <tab> …".
static std::string lineOf(uint64_t seed, const SeedResult &result) {
  std::string line = std::to_string(seed) + "\t" + result.policy + "\t";
  if (result.failure)
    line += result.failure->kind + "\t" + result.failure->text;
  else
    line += "\t";
  for (const auto &[name, count] : result.operators)
    line += "\t" + name + "=" + std::to_string(count);
  return line;
}

void SeedPool::work(int lines) {
  for (int i = 0; i < seedsOfWorker && !isOver(); ++i) {
    uint64_t seed = counter->next++;
    if (seed >= end)
      break;
    // Only what this seed prints explains its death.
    (void)!ftruncate(STDERR_FILENO, 0);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    writeLine(lines, "begin\t" + std::to_string(seed));
    alarm(secondsOfSeed);
    writeLine(lines, lineOf(seed, check(seed)));
    alarm(0);
  }
}

//===----------------------------------------------------------------------===//
// The parent's side
//===----------------------------------------------------------------------===//

void SeedPool::start(Worker &worker) {
  int ends[2];
  if (pipe(ends) != 0)
    return;
  worker = Worker();
  worker.errors = std::tmpfile();
  worker.pid = fork();
  if (worker.pid == 0) {
    close(ends[0]);
    dup2(fileno(worker.errors), STDERR_FILENO);
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  worker.lines = ends[0];
}

/// The last lines of what was printed before a death.
static std::string lastWords(FILE *file) {
  std::string text;
  char buffer[4096];
  std::rewind(file);
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, count);
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("Assertion") || line.contains("LLVM ERROR") ||
        line.contains("UNREACHABLE") || line.contains("unreachable"))
      return line.str();
  return lines.empty() ? "" : lines.front().str();
}

static ProgramFailure describeDeath(int status, FILE *errors) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return {"timeout", "more than " + std::to_string(secondsOfSeed) + " s"};
  std::string reason = WIFSIGNALED(status)
                           ? std::string(strsignal(WTERMSIG(status)))
                           : "exit " + std::to_string(WEXITSTATUS(status));
  return {"crash", reason + ": " + lastWords(errors)};
}

void SeedPool::take(Worker &worker, StringRef line) {
  SmallVector<StringRef> parts;
  line.split(parts, '\t');
  uint64_t seed = 0;
  if (parts.front() == "begin") {
    parts[1].getAsInteger(10, seed);
    worker.seed = seed;
    return;
  }
  parts.front().getAsInteger(10, seed);
  SeedResult result;
  result.policy = parts[1].str();
  if (!parts[2].empty())
    result.failure = ProgramFailure{parts[2].str(), parts[3].str()};
  for (StringRef entry : ArrayRef(parts).drop_front(4)) {
    auto [name, count] = entry.split('=');
    count.getAsInteger(10, result.operators[name.str()]);
  }
  worker.seed.reset();
  report(seed, result);
}

/// Reads what there is; false at the end of the pipe.
bool SeedPool::read(Worker &worker) {
  char buffer[4096];
  ssize_t count = ::read(worker.lines, buffer, sizeof buffer);
  if (count <= 0)
    return false;
  worker.pending.append(buffer, count);
  for (size_t place;
       (place = worker.pending.find('\n')) != std::string::npos;) {
    std::string line = worker.pending.substr(0, place);
    worker.pending.erase(0, place + 1);
    take(worker, line);
  }
  return true;
}

void SeedPool::finish(Worker &worker) {
  int status = 0;
  waitpid(worker.pid, &status, 0);
  close(worker.lines);
  if (worker.seed) {
    SeedResult result;
    result.failure = describeDeath(status, worker.errors);
    report(*worker.seed, result);
  }
  std::fclose(worker.errors);
  worker = Worker();
}

void SeedPool::run(int jobs) {
  std::vector<Worker> workers(jobs);
  for (Worker &worker : workers)
    start(worker);
  while (true) {
    std::vector<pollfd> files;
    std::vector<Worker *> running;
    for (Worker &worker : workers)
      if (worker.lines >= 0) {
        files.push_back({worker.lines, POLLIN, 0});
        running.push_back(&worker);
      }
    if (files.empty())
      return;
    poll(files.data(), files.size(), -1);
    for (auto [file, worker] : llvm::zip_equal(files, running)) {
      if (!file.revents || read(*worker))
        continue;
      finish(*worker);
      if (!isOver())
        start(*worker);
    }
  }
}

void runSeeds(uint64_t first, uint64_t end, int jobs, double seconds,
              const SeedFunction &check, const SeedReport &report) {
  SeedPool(first, end, seconds, check, report).run(jobs);
}

std::optional<ProgramFailure>
runIsolated(const std::function<std::optional<ProgramFailure>()> &check) {
  std::optional<ProgramFailure> failure;
  runSeeds(
      0, 1, 1, 0,
      [&](uint64_t) {
        SeedResult result;
        result.failure = check();
        return result;
      },
      [&](uint64_t, const SeedResult &result) { failure = result.failure; });
  return failure;
}

} // namespace shardc::fuzz
