//===- ThreadTiles.cpp - Transpositions through shared memory -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a stage reads along another loop than it writes is copied to shared
// memory first, line by line of the tensor; the stage then reads columns there,
// where neighbours need not be next to each other.
//
//   y[i, j] = x[j, i], a tile of 32 by 32
//
//   each thread: tile[j * 33 + i …] = 16 bytes of x[j, i …]
//   meet
//   each thread: 16 bytes of y[i, j …] = tile[j * 33 + i], …
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <array>

using namespace mlir;

namespace shardc::kernel {

static int numberOf(const Stage &stage, const StageAccess &access) {
  return static_cast<int>(&access - stage.accesses.data());
}

/// Where the element of the current iteration is in the tile of `access`.
Value LaunchWriter::tileIndex(const StageAccess &access) {
  const int number = numberOf(stage(), access);
  Value index =
      elementIndex(0, {tilePitch(schedule, launch, *current, number), 1},
                   ArrayRef<Value>{digits[current->innerLoops.back()],
                                   digits[tileLineLoop(*current)]});
  return inGroup(index, tileElements(schedule, launch, *current, number),
                 problem.storages[access.tensor].element);
}

/// The widest access along the lines of a tile.
int64_t LaunchWriter::tileVector(const StageAccess &access) const {
  const int line = tileLineLoop(*current);
  const int64_t iterations = iterationsWithin(launch, *current, stage(), line);
  int64_t vector = vectorElements(access, 16);
  while (vector > 1 &&
         (iterations % vector != 0 || stage().sizes[line] % vector != 0 ||
          !isVector(access, line, vector)))
    vector /= 2;
  return vector;
}

void LaunchWriter::writeTile(const StageAccess &access) {
  const TensorStorage &storage = problem.storages[access.tensor];
  if (storage.kind == TensorStorage::Kind::Iota)
    return;
  const int line = tileLineLoop(*current);
  const int64_t vector = tileVector(access);
  Value tile = allocateShared(
      tileElements(schedule, launch, *current, numberOf(stage(), access)),
      storage.element);
  const std::array<int, 2> loops = {current->innerLoops.back(), line};
  writeSteps(makeShare(loops, launch.group, member, vector), [&](Value exists) {
    writeIf(exists, [&] {
      Value first = digits[line];
      SmallVector<Value> values = vector == 1 ? SmallVector<Value>{load(access)}
                                              : loadVector(access, vector);
      for (auto [number, value] : llvm::enumerate(values)) {
        moveToLane(line, first, static_cast<int64_t>(number));
        memref::StoreOp::create(builder, location, value, tile,
                                tileIndex(access));
      }
    });
  });
  tiles[&access] = tile;
}

/// The tiles of the current stage, which all threads of the group fill.
void LaunchWriter::writeTiles() {
  tiles.clear();
  for (int number : current->threads.tiled)
    writeTile(stage().accesses[number]);
  lane = 0;
  if (!current->threads.tiled.empty())
    meet();
}

} // namespace shardc::kernel
