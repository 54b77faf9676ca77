//===- SortKernels.h - Rows in order on a GPU -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorts by element and then by place, which is a total order: so there is one
// result, equal elements stay as they were, and NaN is larger than every
// number. A block sorts 1024 elements in shared memory (Batcher's bitonic
// network): a chunk of a long row, or several short rows. Runs of a long row
// are merged in pairs: an element's place is its place in its own run plus the
// number of elements of the other run that come before it, found by bisection.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_SORTKERNELS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_SORTKERNELS_H

#include "runtime/cuda/kernels/DeviceParameters.h"

namespace shardc::runtime::kernels {

inline constexpr int sortThreads = 256;
/// Elements, and behind them their places.
inline constexpr int sortPlaces = chunkOfBlock * 8;
inline constexpr int sortSharedBytes = sortPlaces + chunkOfBlock * 4;

/// An element of a row and where it is there; behind the row's end comes what
/// is last of all.
template <typename W>
struct SortItem {
  W value;
  int32_t place;
};

template <typename W>
SHARDC_DEVICE bool isLess(W a, W b) {
  return a < b || (b != b && a == a);
}

template <typename W>
SHARDC_DEVICE bool comesFirst(const SortParameters &p, const SortItem<W> &a,
                              const SortItem<W> &b) {
  if (a.place < p.length && b.place < p.length) {
    if (p.isDescending ? isLess(b.value, a.value) : isLess(a.value, b.value))
      return true;
    if (p.isDescending ? isLess(a.value, b.value) : isLess(b.value, a.value))
      return false;
  }
  return a.place < b.place;
}

/// The element at `place` of a row comes `rank`th.
template <typename T, class Thread>
SHARDC_DEVICE void putInOrder(const Thread &self, const SortParameters &p,
                              int64_t row, int64_t rank, int32_t place) {
  if (!p.isLast) {
    self.store(p.to + static_cast<uint64_t>(row * p.length + rank) * 4, place);
    return;
  }
  if (rank >= p.kept)
    return;
  const auto target = static_cast<uint64_t>(row * p.kept + rank);
  const auto source = static_cast<uint64_t>(row * p.length + place);
  self.store(p.values + target * sizeof(T),
             load<T>(self, p.input + source * sizeof(T)));
  storeElement<int64_t>(self, p.indices, static_cast<int64_t>(target), place);
}

template <typename W, class Thread>
SHARDC_DEVICE SortItem<W> itemAt(const Thread &self, int slot) {
  return {loadShared<W>(self, slot * static_cast<int>(sizeof(W))),
          loadShared<int32_t>(self, sortPlaces + slot * 4)};
}
template <typename W, class Thread>
SHARDC_DEVICE void putItem(const Thread &self, int slot,
                           const SortItem<W> &item) {
  self.storeShared(slot * static_cast<int>(sizeof(W)), item.value);
  self.storeShared(sortPlaces + slot * 4, item.place);
}

/// Sorts each `chunk` slots of shared memory.
template <typename W, class Thread>
SHARDC_DEVICE void sortSlots(const Thread &self, const SortParameters &p) {
  for (int size = 2; size <= p.chunk; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      self.barrier();
      for (int i = self.thread(); i < chunkOfBlock / 2; i += sortThreads) {
        // The bits of i with a zero where `distance` has its one.
        const int low = (i & ~(distance - 1)) * 2 + (i & (distance - 1));
        const int high = low + distance;
        const auto a = itemAt<W>(self, low), b = itemAt<W>(self, high);
        // A whole chunk ascends.
        const bool isAscending = (low & (p.chunk - 1) & size) == 0;
        if (comesFirst(p, b, a) == isAscending) {
          putItem(self, low, b);
          putItem(self, high, a);
        }
      }
    }
  self.barrier();
}

/// Each row that is no longer than a chunk, or each chunk of longer ones.
template <typename T, class Thread>
SHARDC_DEVICE void sortChunks(const Thread &self, const SortParameters &p) {
  using W = Wide<T>;
  const int64_t chunksOfRow = (p.length + p.chunk - 1) / p.chunk;
  const int64_t firstChunk = self.block() * (chunkOfBlock / p.chunk);
  for (int i = self.thread(); i < chunkOfBlock; i += sortThreads) {
    const int64_t chunk = firstChunk + i / p.chunk;
    const int64_t row = chunk / chunksOfRow;
    const int64_t place = chunk % chunksOfRow * p.chunk + i % p.chunk;
    SortItem<W> item = {W(0), static_cast<int32_t>(place)};
    if (row < p.rows && place < p.length)
      item.value = loadElement<T>(self, p.input, row * p.length + place);
    putItem(self, i, item);
  }
  sortSlots<W>(self, p);
  for (int i = self.thread(); i < chunkOfBlock; i += sortThreads) {
    const int64_t chunk = firstChunk + i / p.chunk;
    const int64_t row = chunk / chunksOfRow;
    const int64_t rank = chunk % chunksOfRow * p.chunk + i % p.chunk;
    if (row < p.rows && rank < p.length)
      putInOrder<T>(self, p, row, rank, itemAt<W>(self, i).place);
  }
}

/// Runs of `run` elements become runs of twice as many; a thread has an
/// element.
template <typename T, class Thread>
SHARDC_DEVICE void mergeRuns(const Thread &self, const SortParameters &p) {
  using Item = SortItem<Wide<T>>;
  const int64_t index = self.block() * sortThreads + self.thread();
  const int64_t row = index / p.length, rank = index % p.length;
  if (row >= p.rows)
    return;
  auto itemOf = [&](int64_t at) {
    const auto offset = static_cast<uint64_t>(row * p.length + at);
    const auto place = load<int32_t>(self, p.from + offset * 4);
    return Item{loadElement<T>(self, p.input, row * p.length + place), place};
  };
  const Item own = itemOf(rank);
  const int64_t run = rank / p.run, inRun = rank % p.run;
  const int64_t other = (run ^ 1) * p.run;
  int64_t begin = lesser<int64_t>(p.length, other);
  int64_t end = lesser<int64_t>(p.length, other + p.run);
  const int64_t first = begin;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    if (comesFirst(p, itemOf(middle), own))
      begin = middle + 1;
    else
      end = middle;
  }
  putInOrder<T>(self, p, row, run / 2 * 2 * p.run + inRun + (begin - first),
                own.place);
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_SORTKERNELS_H
