//===- TensorCore.h - Tiles of bf16 for tensor cores ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The words of DeviceCode.h that kernels for tensor cores say beside: tiles of
// bf16 in shared memory, how they get there while the block computes, and how a
// warp takes matrices of 8 x 8 out of them.
//
//   AsyncCopies            cp.async of 16 bytes, and the wait for all of them
//   loadMatrices           ldmatrix.x4, as they lie or transposed
//   roundPair(low, high)   cvt.rn.bf16x2
//   exponential2(x)        ex2.approx
//
// A row of a tile is cut into chunks of 16 bytes, which a row has in an order
// of its own (`tilePlace`), so that the same chunk of eight neighbouring rows
// lies in eight different groups of four banks:
//
//   row 0   0 1 2 3 4 5 6 7
//   row 1   1 0 3 2 5 4 7 6
//   row 2   2 3 0 1 6 7 4 5   ...
//
// An emulated copy leaves what it found in shared memory undefined when it
// begins, and moves bytes when it is waited for: a wait that is missing, or one
// buffer too few, shows.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_TENSORCORE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_TENSORCORE_H

#include "runtime/cuda/kernels/DeviceCode.h"

#ifndef __CUDACC__
#include <vector>
#endif

namespace shardc::runtime::kernels {

/// Eight bf16.
using Chunk = Pack<BFloat16>;
inline constexpr int chunkBytes = sizeof(Chunk);

/// Where a chunk of a tile of `width` columns is, a multiple of 32, in bytes.
template <int width>
SHARDC_DEVICE int tilePlace(int row, int chunk) {
  static_assert(width % 32 == 0);
  const int order = width % 64 == 0 ? row % 8 : row / 2 % 4;
  return (row * (width / Chunk::size) + (chunk ^ order)) * chunkBytes;
}

#ifdef __CUDACC__

SHARDC_DEVICE uint32_t sharedAddress(int offset) {
  return static_cast<uint32_t>(
      __cvta_generic_to_shared(shardcSharedMemory + offset));
}

/// Copies of this thread that are under way.
template <class Thread>
class AsyncCopies {
public:
  SHARDC_DEVICE explicit AsyncCopies(const Thread &) {}
  /// Begins to copy a chunk to shared memory: zeros if `isThere` is false,
  /// where `address` is not read.
  SHARDC_DEVICE void begin(int offset, uint64_t address, bool isThere) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     sharedAddress(offset)),
                 "l"(address), "r"(isThere ? chunkBytes : 0)
                 : "memory");
  }
  /// Waits for all of them; others see what they copied after a barrier.
  SHARDC_DEVICE void wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
};

/// Four matrices of 8 x 8. `rowAt(i)` is where row i % 8 of matrix i / 8 is,
/// eight elements. Word m of a lane is of matrix m: of row lane / 4 the
/// elements 2 (lane % 4) and next; if transposed, of column lane / 4.
template <bool isTransposed, class RowAt>
SHARDC_DEVICE void loadMatrices(const CudaThread &self, const RowAt &rowAt,
                                uint32_t (&words)[4]) {
  const uint32_t row = sharedAddress(rowAt(self.thread() % lanesOfWarp));
  if (isTransposed)
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "r"(row)
        : "memory");
  else
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "r"(row)
        : "memory");
}

/// Two bf16, rounded to nearest, ties to even.
SHARDC_DEVICE uint32_t roundPair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// 2^x by the chip's approximation; results below 2^-126 are zero.
SHARDC_DEVICE float exponential2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

#else

template <class Thread>
class AsyncCopies {
public:
  explicit AsyncCopies(const Thread &self) : self(self) {}
  void begin(int offset, uint64_t address, bool isThere) {
    Chunk undefined;
    std::memset(&undefined, 0xFF, sizeof(undefined));
    self.storeShared(offset, undefined);
    copies.push_back({offset, address, isThere});
  }
  void wait() {
    for (const Copy &copy : copies)
      self.storeShared(copy.offset, copy.isThere
                                        ? load<Chunk>(self, copy.address)
                                        : Chunk());
    copies.clear();
  }

private:
  struct Copy {
    int offset;
    uint64_t address;
    bool isThere;
  };
  const Thread &self;
  std::vector<Copy> copies;
};

template <bool isTransposed, class RowAt>
void loadMatrices(const EmulatedThread &self, const RowAt &rowAt,
                  uint32_t (&words)[4]) {
  const int group = self.thread() % lanesOfWarp / 4;
  const int pair = self.thread() % 4 * 2;
  for (int m = 0; m < 4; ++m)
    if (isTransposed)
      words[m] = loadShared<uint16_t>(self, rowAt(8 * m + pair) + 2 * group) |
                 uint32_t(loadShared<uint16_t>(self, rowAt(8 * m + pair + 1) +
                                                         2 * group))
                     << 16;
    else
      words[m] = loadShared<uint32_t>(self, rowAt(8 * m + group) + 2 * pair);
}

inline uint32_t roundPair(float low, float high) {
  return Narrow<BFloat16>::from(low).bits |
         uint32_t(Narrow<BFloat16>::from(high).bits) << 16;
}

inline float exponential2(float x) {
  const float result = ::exp2f(x);
  return result < 0x1p-126f ? 0.0f : result;
}

#endif

//===----------------------------------------------------------------------===//
// Products of tiles
//===----------------------------------------------------------------------===//

/// A matrix [16, 16] at a row and a column of a tile, as the first factor.
template <int width, class Thread>
SHARDC_DEVICE void loadFirst(const Thread &self, int tile, int row, int column,
                             uint32_t (&words)[4]) {
  loadMatrices<false>(
      self,
      [=](int i) {
        return tile +
               tilePlace<width>(row + i % 16, column / Chunk::size + i / 16);
      },
      words);
}

/// Two matrices [16, 8] as second factors, next to each other; words 0 and 1
/// are of the first. Rows of the tile are the matrices' columns.
template <int width, class Thread>
SHARDC_DEVICE void loadSecond(const Thread &self, int tile, int row, int column,
                              uint32_t (&words)[4]) {
  loadMatrices<false>(
      self,
      [=](int i) {
        return tile + tilePlace<width>(row + i / 16 * 8 + i % 8,
                                       column / Chunk::size + i / 8 % 2);
      },
      words);
}

/// The same where rows of the tile are the matrices' rows.
template <int width, class Thread>
SHARDC_DEVICE void loadSecondByRows(const Thread &self, int tile, int row,
                                    int column, uint32_t (&words)[4]) {
  loadMatrices<true>(
      self,
      [=](int i) {
        return tile +
               tilePlace<width>(row + i % 16, column / Chunk::size + i / 16);
      },
      words);
}

/// A warp's part of a result: `rowTiles` x 16 rows and `columns` columns, of
/// which a lane has what GpuProduct calls c for each 16 x 8.
template <int rowTiles, int columns>
using ProductTile = float[rowTiles][columns / 8][4];

/// result = rows times columns, both by their rows in tiles of `width`. The
/// warp's rows begin at `row` of the tile `rows`.
template <int width, int rowTiles, int count, class Thread>
SHARDC_DEVICE void multiplyByRows(const Thread &self, int rows, int row,
                                  int columns,
                                  ProductTile<rowTiles, count> &result) {
#pragma unroll
  for (int r = 0; r < rowTiles; ++r)
#pragma unroll
    for (int n = 0; n < count / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        result[r][n][i] = 0;
  // Not all steps at once: what would be loaded ahead has no registers.
#pragma unroll 2
  for (int k = 0; k < width; k += 16) {
    uint32_t first[rowTiles][4];
#pragma unroll
    for (int r = 0; r < rowTiles; ++r)
      loadFirst<width>(self, rows, row + r * 16, k, first[r]);
#pragma unroll
    for (int n = 0; n < count / 8; n += 2) {
      uint32_t second[4];
      loadSecond<width>(self, columns, n * 8, k, second);
#pragma unroll
      for (int r = 0; r < rowTiles; ++r) {
        self.multiplyAdd(first[r], second[0], second[1], result[r][n]);
        self.multiplyAdd(first[r], second[2], second[3], result[r][n + 1]);
      }
    }
  }
}

/// sums += weights, rounded to bf16, times the `count` rows of a tile. What a
/// lane has of a result is what it has to give of the same as a first factor.
template <int width, int rowTiles, int count, class Thread>
SHARDC_DEVICE void
addWeightedRows(const Thread &self, const ProductTile<rowTiles, count> &weights,
                int tile, ProductTile<rowTiles, width> &sums) {
#pragma unroll
  for (int k = 0; k < count / 8; k += 2) {
    uint32_t first[rowTiles][4];
#pragma unroll
    for (int r = 0; r < rowTiles; ++r)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float (&part)[4] = weights[r][k + i / 2];
        first[r][i] = roundPair(part[i % 2 * 2], part[i % 2 * 2 + 1]);
      }
#pragma unroll
    for (int n = 0; n < width / 8; n += 2) {
      uint32_t second[4];
      loadSecondByRows<width>(self, tile, k * 8, n * 8, second);
#pragma unroll
      for (int r = 0; r < rowTiles; ++r) {
        self.multiplyAdd(first[r], second[0], second[1], sums[r][n]);
        self.multiplyAdd(first[r], second[2], second[3], sums[r][n + 1]);
      }
    }
  }
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_TENSORCORE_H
