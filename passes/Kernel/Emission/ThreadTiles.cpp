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

#include "passes/Kernel/Emission/ThreadTiles.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <array>

using namespace mlir;

namespace shardc::kernel {

/// The widest access along the lines of a tile.
int64_t ThreadTiles::tileVector(const StageAccess &access) const {
  const int line = tileLineLoop(*state.current);
  const int64_t iterations =
      iterationsWithin(state.launch, *state.current, state.stage(), line);
  int64_t vector = vectors.vectorElements(access, 16);
  while (vector > 1 &&
         (iterations % vector != 0 || state.stage().sizes[line] % vector != 0 ||
          !vectors.isVector(access, line, vector)))
    vector /= 2;
  return vector;
}

void ThreadTiles::writeTile(const StageAccess &access) {
  const TensorStorage &storage = state.problem.storages[access.tensor];
  if (storage.kind == TensorStorage::Kind::Iota)
    return;
  const int line = tileLineLoop(*state.current);
  const int64_t vector = tileVector(access);
  Value tile = group.allocateShared(tileElements(state.schedule, state.launch,
                                                 *state.current,
                                                 state.accessNumber(access)),
                                    storage.element);
  const std::array<int, 2> loops = {state.current->innerLoops.back(), line};
  shares.writeSteps(
      shares.makeShare(loops, state.launch.group, state.member, vector),
      [&](Value exists) {
        state.writeIf(exists, [&] {
          Value first = state.digits[line];
          SmallVector<Value> values =
              vector == 1 ? SmallVector<Value>{elements.load(access)}
                          : vectors.loadVector(access, vector);
          for (auto [number, value] : llvm::enumerate(values)) {
            vectors.moveToLane(line, first, static_cast<int64_t>(number));
            state.create<memref::StoreOp>(value, tile,
                                          elements.tileIndex(access));
          }
        });
      });
  state.tiles[&access] = tile;
}

/// The tiles of the current stage, which all threads of the group fill.
void ThreadTiles::writeTiles() {
  state.tiles.clear();
  for (int number : state.current->threads.tiled)
    writeTile(state.stage().accesses[number]);
  state.lane = 0;
  if (!state.current->threads.tiled.empty())
    group.meet();
}

} // namespace shardc::kernel
