//===- MpiGroup.cpp - The processes of an MPI world -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Communicators are made in the same order everywhere, that of the program.
//===----------------------------------------------------------------------===//

#include "runtime/mpi/MpiGroup.h"

#include "runtime/mpi/MpiCommunicator.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <limits>
#include <mutex>
#include <numeric>
#include <sched.h>
#include <thread>

namespace shardc::runtime {

/// Short messages of all members of `handle`, in their order.
static StatusOr<std::vector<std::string>>
exchangeIn(MPI_Comm handle, const std::vector<int64_t> &members,
           const std::string &own, const Patience &patience) {
  Requests requests;
  const auto length = static_cast<int64_t>(own.size());
  std::vector<int64_t> lengths(members.size());
  Status status =
      checkMpi(MPI_Iallgather(&length, 1, MPI_INT64_T, lengths.data(), 1,
                              MPI_INT64_T, handle, requests.add(-1)),
               "MPI_Iallgather");
  if (status.ok())
    status = requests.wait(patience, members);
  if (!status.ok())
    return status;
  const int64_t total =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  if (total > std::numeric_limits<int>::max())
    return Status(ErrorCode::E0510, "messages of " + std::to_string(total) +
                                        " bytes are too long for MPI");
  std::string text(static_cast<size_t>(total), '\0');
  std::vector<int> counts(lengths.begin(), lengths.end());
  std::vector<int> places(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, places.begin() + 1);
  status =
      checkMpi(MPI_Iallgatherv(own.data(), static_cast<int>(length), MPI_CHAR,
                               text.data(), counts.data(), places.data(),
                               MPI_CHAR, handle, requests.add(-1)),
               "MPI_Iallgatherv");
  if (status.ok())
    status = requests.wait(patience, members);
  if (!status.ok())
    return status;
  std::vector<std::string> all;
  for (size_t i = 0; i < counts.size(); ++i)
    all.push_back(text.substr(static_cast<size_t>(places[i]),
                              static_cast<size_t>(counts[i])));
  return all;
}

static std::vector<int64_t> allRanks(int64_t count) {
  std::vector<int64_t> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

namespace {
class MpiTransport : public Transport {
public:
  MpiTransport(MPI_Comm control, int64_t rank, int64_t size,
               const Patience &patience)
      : control(control), number(rank), ranks(allRanks(size)),
        patience(patience) {}

  /// The members of a communicator have the color of the first one.
  Status add(std::vector<int64_t> members, int64_t index) {
    MPI_Comm handle = MPI_COMM_NULL;
    Status status =
        checkMpi(MPI_Comm_split(control, static_cast<int>(members.front()),
                                static_cast<int>(number), &handle),
                 "MPI_Comm_split");
    if (status.ok())
      communicators.emplace_back(handle, std::move(members), index, patience);
    return status;
  }

  int64_t rank() const override { return number; }
  int64_t worldSize() const override {
    return static_cast<int64_t>(ranks.size());
  }
  Communicator &communicator(size_t index) override {
    return communicators[index];
  }

  Status anyOf(uint64_t own, uint64_t &all) override {
    uint64_t result = 0;
    Status status = checkMpi(MPI_Iallreduce(&own, &result, 1, MPI_UINT64_T,
                                            MPI_BOR, control, requests.add(-1)),
                             "MPI_Iallreduce");
    if (status.ok())
      status = requests.wait(patience, ranks);
    all = result;
    return status;
  }

  StatusOr<std::vector<std::string>> exchange(const std::string &own) override {
    return exchangeIn(control, ranks, own, patience);
  }

private:
  const MPI_Comm control;
  const int64_t number;
  const std::vector<int64_t> ranks;
  const Patience patience;
  std::deque<MpiCommunicator> communicators;
  Requests requests;
};
} // namespace

/// The first line of what the library says of itself, up to a comma: "Open MPI
/// v4.1.4".
static std::string describeLibrary() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string line(text.data(), static_cast<size_t>(length));
  line = line.substr(0, line.find_first_of(",\n"));
  // "MPICH Version:	4.0.2".
  if (const size_t tab = line.find('\t'); tab != std::string::npos)
    line = line.substr(0, line.find(' ')) + " " +
           line.substr(line.find_last_of('\t') + 1);
  return line;
}

namespace {
/// Ends the process if a function of MPI does not return in time, which nobody
/// can interrupt.
class Watchdog {
public:
  Watchdog(std::chrono::seconds timeout, const char *function)
      : thread([this, timeout, function] {
          std::unique_lock lock(mutex);
          if (!condition.wait_for(lock, timeout, [this] { return isOver; }))
            bark(timeout, function);
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex);
      isOver = true;
    }
    condition.notify_one();
    thread.join();
  }

private:
  [[noreturn]] static void bark(std::chrono::seconds timeout,
                                const char *function) {
    Status status(ErrorCode::E0510, std::string(function) +
                                        " did not return within " +
                                        std::to_string(timeout.count()) + " s");
    status.setHelp("another process has not come to it: check what the others "
                   "print; --timeout sets how long to wait");
    std::cerr << render(status, "shardrun") << std::flush;
    std::_Exit(exitCode(status.code()));
  }

  std::mutex mutex;
  std::condition_variable condition;
  bool isOver = false;
  std::thread thread;
};
} // namespace

StatusOr<std::unique_ptr<MpiGroup>>
MpiGroup::open(std::chrono::seconds timeout) {
  const Watchdog watchdog(timeout, "MPI_Init_thread");
  int provided = MPI_THREAD_SINGLE;
  // The main thread and that of the rank take turns.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
      MPI_SUCCESS)
    return Status(ErrorCode::E0511, "MPI_Init_thread failed");
  std::unique_ptr<MpiGroup> group(new MpiGroup(timeout));
  group->library = describeLibrary();
  if (provided < MPI_THREAD_SERIALIZED)
    return Status(ErrorCode::E0511,
                  group->library + " was built without threads, and shardrun "
                                   "calls it from two in turns");
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &group->control);
  MPI_Comm_set_errhandler(group->control, MPI_ERRORS_RETURN);
  group->number = rank;
  group->count = size;
  group->countNeighbors();
  return group;
}

/// Those of this machine, and among them those with the same processors.
void MpiGroup::countNeighbors() {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(control, MPI_COMM_TYPE_SHARED, static_cast<int>(number),
                      MPI_INFO_NULL, &machine);
  int size = 1;
  MPI_Comm_size(machine, &size);
  cpu_set_t own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof(own), &own);
  std::vector<cpu_set_t> all(static_cast<size_t>(size));
  MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE,
                machine);
  MPI_Comm_free(&machine);
  countHere = size;
  countNear = std::count_if(all.begin(), all.end(), [&](const cpu_set_t &set) {
    return CPU_EQUAL(&set, &own);
  });
}

MpiGroup::~MpiGroup() {
  if (hasLeft())
    return;
  const Watchdog watchdog(timeout, "MPI_Finalize");
  MPI_Finalize();
}

StatusOr<std::vector<std::string>> MpiGroup::exchange(const std::string &own) {
  StatusOr<std::vector<std::string>> all = exchangeIn(
      control, allRanks(count), own, {nullptr, SpinPolicy{0}, timeout});
  if (!all.ok())
    leave();
  return all;
}

StatusOr<std::unique_ptr<Transport>>
MpiGroup::connect(const format::Mesh &mesh,
                  const std::vector<format::CommunicatorShape> &communicators,
                  const Cancellation &cancellation, SpinPolicy spin) {
  auto transport = std::make_unique<MpiTransport>(
      control, number, count, Patience{&cancellation, spin, timeout});
  for (const format::CommunicatorShape &shape : communicators)
    if (Status status = transport->add(mesh.members(number, shape.axes),
                                       mesh.memberNumber(number, shape.axes));
        !status.ok())
      return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

std::vector<int64_t> MpiGroup::findSilent() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(3);
  constexpr int tag = 2;
  // MPI reads and writes them until the process ends.
  static std::vector<int> words;
  words.assign(static_cast<size_t>(count), 0);
  std::vector<MPI_Request> sends(words.size(), MPI_REQUEST_NULL);
  std::vector<MPI_Request> receives(words.size(), MPI_REQUEST_NULL);
  for (size_t rank = 0; rank < words.size(); ++rank) {
    const auto peer = static_cast<int>(rank);
    if (peer == number)
      continue;
    MPI_Irecv(&words[rank], 1, MPI_INT, peer, tag, control, &receives[rank]);
    MPI_Isend(&words[static_cast<size_t>(number)], 1, MPI_INT, peer, tag,
              control, &sends[rank]);
  }
  std::vector<int64_t> silent;
  const Clock::time_point begin = Clock::now();
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    silent.clear();
    for (size_t rank = 0; rank < words.size(); ++rank) {
      int hasCome = 0;
      MPI_Test(&receives[rank], &hasCome, MPI_STATUS_IGNORE);
      if (!hasCome)
        silent.push_back(static_cast<int64_t>(rank));
    }
  } while (!silent.empty() && Clock::now() - begin < patience);
  return silent;
}

void MpiGroup::abort(int exitCode) {
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  std::_Exit(exitCode);
}

} // namespace shardc::runtime
