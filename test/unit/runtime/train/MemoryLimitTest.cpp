//===- MemoryLimitTest.cpp - Tests for the machine's memory ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// On folders that look like those of a machine, and on this one.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/train/MemoryLimit.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;

namespace {
/// A machine of 1000 KiB of memory and 10 KiB of swap space.
struct Machine {
  Machine() {
    write("proc/meminfo", "MemTotal:        1000 kB\nMemFree: 1 kB\n"
                          "SwapTotal:         10 kB\n");
  }

  void write(const std::string &name, const std::string &content) const {
    std::filesystem::create_directories(
        std::filesystem::path(folder.file(name)).parent_path());
    writeFile(folder.file(name), content);
  }

  MemoryLimit limit() const {
    return findMemoryLimit(folder.file("")).value_or(MemoryLimit());
  }

  TemporaryFolder folder;
};
} // namespace

TEST(MemoryLimit, IsTheMachines) {
  const Machine machine;
  EXPECT_EQ(machine.limit().bytes, 1010u * 1024);
  EXPECT_EQ(machine.limit().origin, "this machine");
}

TEST(MemoryLimit, IsThatOfAnyGroupAroundTheProcess) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/jobs/mine\n");
  machine.write("sys/fs/cgroup/jobs/mine/memory.max", "max\n");
  EXPECT_EQ(machine.limit().origin, "this machine");
  machine.write("sys/fs/cgroup/jobs/memory.max", "4096\n");
  EXPECT_EQ(machine.limit().origin, "the control group '/jobs'");
  EXPECT_EQ(machine.limit().bytes, 4096u + 10 * 1024);
  machine.write("sys/fs/cgroup/jobs/memory.swap.max", "0\n");
  EXPECT_EQ(machine.limit().bytes, 4096u);
}

TEST(MemoryLimit, IsThatOfAContainersOwnRoot) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/memory.max", "8192\n");
  EXPECT_EQ(machine.limit().bytes, 8192u + 10 * 1024);
}

TEST(MemoryLimit, IsThatOfAGroupOfVersion1) {
  const Machine machine;
  machine.write("proc/self/cgroup",
                "5:cpu,cpuacct:/a\n4:memory,hugetlb:/b\n0::/c\n");
  machine.write("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(machine.limit().bytes, 4096u + 10 * 1024);
  machine.write("sys/fs/cgroup/memory/b/memory.memsw.limit_in_bytes", "5000\n");
  EXPECT_EQ(machine.limit().bytes, 5000u);
  machine.write("sys/fs/cgroup/memory/b/memory.limit_in_bytes",
                "9223372036854771712\n");
  EXPECT_EQ(machine.limit().origin, "this machine");
}

TEST(MemoryLimit, IsComparedWithWhatAllRanksNeed) {
  const TinyModel model(3);
  const uint64_t needed = 3 * memoryOfRank(model.artifact);
  EXPECT_TRUE(checkMemory(model.artifact, 3, MemoryLimit{needed, "x"}).ok());
  EXPECT_TRUE(checkMemory(model.artifact, 3, std::nullopt).ok());
  const Status status =
      checkMemory(model.artifact, 3, MemoryLimit{needed - 1, "this machine"});
  EXPECT_EQ(status.code(), ErrorCode::E0503);
  EXPECT_EQ(status.message(), "3 ranks need " + std::to_string(needed) +
                                  " bytes of memory, this machine has " +
                                  std::to_string(needed - 1));
}

TEST(MemoryLimit, IsKnownHere) {
  const std::optional<MemoryLimit> limit = findMemoryLimit();
  ASSERT_TRUE(limit);
  EXPECT_GT(limit->bytes, uint64_t(64) << 20);
}
