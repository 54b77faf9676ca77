//===- ParallelCopy.cpp - Copies that all read before any writes ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Does the first copy whose target nobody else still has to read; where there
// is none, every target is in a circle or feeds one, and the first is saved.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ParallelCopy.h"

#include <algorithm>

namespace shardc {

namespace {
class CopyOrder {
public:
  explicit CopyOrder(const std::vector<PlaceCopy> &copies)
      : copies(copies), done(copies.size(), false) {}

  std::vector<CopyStep> run() {
    std::vector<CopyStep> steps;
    while (steps.size() < copies.size()) {
      size_t next = findFree();
      bool savesTarget = next == copies.size();
      if (savesTarget) {
        next = std::find(done.begin(), done.end(), false) - done.begin();
        saved.push_back(copies[next].target);
      }
      done[next] = true;
      steps.push_back({next, savesTarget});
    }
    return steps;
  }

private:
  /// The first copy that may run now, or the number of copies.
  size_t findFree() const {
    for (size_t i = 0; i < copies.size(); ++i)
      if (!done[i] && !isStillRead(copies[i].target, i))
        return i;
    return copies.size();
  }

  /// Whether a copy other than `except` has yet to read `place`. A copy of a
  /// place to itself reads it before it writes it.
  bool isStillRead(int64_t place, size_t except) const {
    if (std::find(saved.begin(), saved.end(), place) != saved.end())
      return false;
    for (size_t i = 0; i < copies.size(); ++i)
      if (i != except && !done[i] && copies[i].source == place)
        return true;
    return false;
  }

  const std::vector<PlaceCopy> &copies;
  std::vector<bool> done;
  /// Places whose bytes are aside.
  std::vector<int64_t> saved;
};
} // namespace

std::vector<CopyStep> orderCopies(const std::vector<PlaceCopy> &copies) {
  return CopyOrder(copies).run();
}

} // namespace shardc
