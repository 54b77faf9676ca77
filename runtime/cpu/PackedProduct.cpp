//===- PackedProduct.cpp - A matrix product of packed operands ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A panel of columns for a block of k stays in the first-level cache, a block
// of rows in the second.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/PackedProduct.h"

#include "runtime/cpu/MatrixTile.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Rows and columns of a tile, whose sums lie in registers.
template <typename Vectors, typename T>
static constexpr int64_t tileRows = Vectors::tileRows;
template <typename Vectors, typename T>
static constexpr int64_t tileColumns = 2 * Vectors::template lanes<T>;

namespace {
struct TileShape {
  int64_t rows, columns;
};

template <typename T>
struct FindTileShape {
  template <typename Vectors>
  [[gnu::always_inline]] static void run(TileShape *shape) {
    *shape = {tileRows<Vectors, T>, tileColumns<Vectors, T>};
  }
};

template <typename T>
using ShortVector [[gnu::vector_size(16)]] = T;
} // namespace

template <typename T>
[[gnu::always_inline]] static inline ShortVector<T> load(const T *from) {
  ShortVector<T> value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
[[gnu::always_inline]] static inline void store(ShortVector<T> value, T *to) {
  std::memcpy(to, &value, sizeof(value));
}

/// Writes a square of as many lines as a vector has lanes, of adjacent
/// elements, as columns that are `width` apart.
[[gnu::always_inline]] static inline void
transpose(const float *from, int64_t stride, float *to, int64_t width) {
  const auto a = load(from), b = load(from + stride);
  const auto c = load(from + 2 * stride), d = load(from + 3 * stride);
  const auto lowAB = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const auto lowCD = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const auto highAB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const auto highCD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(__builtin_shufflevector(lowAB, lowCD, 0, 1, 4, 5), to);
  store(__builtin_shufflevector(lowAB, lowCD, 2, 3, 6, 7), to + width);
  store(__builtin_shufflevector(highAB, highCD, 0, 1, 4, 5), to + 2 * width);
  store(__builtin_shufflevector(highAB, highCD, 2, 3, 6, 7), to + 3 * width);
}

[[gnu::always_inline]] static inline void
transpose(const double *from, int64_t stride, double *to, int64_t width) {
  const auto a = load(from), b = load(from + stride);
  store(__builtin_shufflevector(a, b, 0, 2), to);
  store(__builtin_shufflevector(a, b, 1, 3), to + width);
}

/// Packs lines whose elements are `kStride` apart, one element at a time.
template <int64_t width, typename T>
[[gnu::always_inline]] static inline void
packAny(const T *from, int64_t stride, int64_t kStride, int64_t lines,
        int64_t depth, T *to) {
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t line = 0; line < width; ++line)
      to[p * width + line] =
          line < lines ? from[line * stride + p * kStride] : T();
}

/// Packs a panel of lines of adjacent elements.
template <int64_t width, typename T>
[[gnu::always_inline]] static inline void
packAcross(const T *from, int64_t stride, int64_t depth, T *to) {
  constexpr int64_t lanes = 16 / sizeof(T), inSquares = width / lanes * lanes;
  int64_t p = 0;
  for (; p + lanes <= depth; p += lanes) {
    for (int64_t line = 0; line < inSquares; line += lanes)
      transpose(from + line * stride + p, stride, to + p * width + line, width);
    for (int64_t line = inSquares; line < width; ++line)
      for (int64_t i = p; i < p + lanes; ++i)
        to[i * width + line] = from[line * stride + i];
  }
  packAny<width>(from + p, stride, 1, width, depth - p, to + p * width);
}

template <int64_t width, typename T>
[[gnu::always_inline]] static inline void
packPanel(const T *from, int64_t stride, int64_t kStride, int64_t lines,
          int64_t depth, T *to) {
  if (lines == width && stride == 1)
    for (int64_t p = 0; p < depth; ++p)
      std::memcpy(to + p * width, from + p * kStride, width * sizeof(T));
  else if (lines == width && kStride == 1)
    packAcross<width>(from, stride, depth, to);
  else
    packAny<width>(from, stride, kStride, lines, depth, to);
}

/// Panels of columns if `ofColumns`, else of rows.
template <typename Vectors, typename T, typename Panels>
[[gnu::always_inline]] static inline void
packPanelOf(const Panels &panels, bool ofColumns, int64_t panel, int64_t begin,
            int64_t depth, T *to) {
  const T *from = panels.at(panel, begin);
  const int64_t lines = panels.linesOf(panel);
  if (ofColumns)
    packPanel<tileColumns<Vectors, T>>(from, panels.lineStride, panels.kStride,
                                       lines, depth, to);
  else
    packPanel<tileRows<Vectors, T>>(from, panels.lineStride, panels.kStride,
                                    lines, depth, to);
}

/// Packs a block of one panel of the operand that is packed once.
template <typename T>
struct PackedProduct<T>::PackJob {
  template <typename Vectors>
  [[gnu::always_inline]] static void
  run(const PackedProduct *product, int64_t panel, int64_t begin, T *packed) {
    packPanelOf<Vectors>(product->packedOnce(), !product->packsRows, panel,
                         begin, product->depthAt(begin),
                         packed + product->packedOffset(panel, begin));
  }
};

/// Brings a block of an operand into the cache, a few lines at a time.
template <typename T>
class PackedProduct<T>::Prefetcher {
public:
  /// Nothing if there are no panels or no depth.
  Prefetcher(const Panels &panels, int64_t panel, int64_t count, int64_t begin,
             int64_t depth, int64_t steps) {
    const int64_t lines =
        std::min(panels.width * count, panels.lines - panel * panels.width);
    if (lines <= 0 || depth <= 0)
      return;
    // Along the dimension whose elements are adjacent.
    const bool isAlongLine = panels.kStride == 1;
    runs = isAlongLine ? lines : depth;
    runStride = isAlongLine ? panels.lineStride : panels.kStride;
    runLength = isAlongLine ? depth : lines;
    from = panels.at(panel, begin);
    const int64_t total = runs * ((runLength + line - 1) / line);
    perStep = (total + steps - 1) / steps;
  }

  [[gnu::always_inline]] void step() {
    for (int64_t i = 0; i < perStep && run < runs; ++i) {
      __builtin_prefetch(from + run * runStride + element, /*rw=*/0,
                         /*locality=*/2);
      if ((element += line) >= runLength) {
        element = 0;
        ++run;
      }
    }
  }

private:
  static constexpr int64_t line = 64 / sizeof(T);
  const T *from = nullptr;
  int64_t runs = 0, runStride = 0, runLength = 0, perStep = 0;
  int64_t run = 0, element = 0;
};

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

namespace {
/// Where a tile goes: `rows` x `columns` of C, which may be fewer than the
/// tile has.
template <typename T>
struct Target {
  RowMatrix<T> c;
  int64_t rows, columns;
  /// Of these columns, after the last block of k.
  const T *bias;
};
} // namespace

template <typename Vectors, bool accumulate, typename T>
[[gnu::always_inline]] static inline void
multiplyPanels(const T *a, const T *b, int64_t depth, RowMatrix<T> c) {
  constexpr int64_t rows = tileRows<Vectors, T>;
  constexpr int64_t columns = tileColumns<Vectors, T>;
  multiplyTile<Vectors, rows, 2, accumulate, T>(
      {a, 1, rows}, {b, columns, panelColumns}, 0, c, depth);
}

template <typename Vectors, typename T>
[[gnu::always_inline]] static inline void
computeTile(const T *a, const T *b, int64_t depth, bool isFirst,
            const Target<T> &target) {
  constexpr int64_t rows = tileRows<Vectors, T>;
  constexpr int64_t columns = tileColumns<Vectors, T>;
  // C comes from memory, too, and is needed when all of k is done.
  for (int64_t i = 0; i < target.rows; ++i) {
    __builtin_prefetch(target.c.row(i), /*rw=*/1);
    __builtin_prefetch(target.c.row(i) + target.columns - 1, /*rw=*/1);
  }
  if (target.rows == rows && target.columns == columns) {
    if (isFirst)
      multiplyPanels<Vectors, false, T>(a, b, depth, target.c);
    else
      multiplyPanels<Vectors, true, T>(a, b, depth, target.c);
  } else {
    alignas(64) T sums[rows * columns];
    multiplyPanels<Vectors, false, T>(a, b, depth, {sums, columns});
    for (int64_t i = 0; i < target.rows; ++i)
      for (int64_t j = 0; j < target.columns; ++j) {
        T &element = target.c.row(i)[j];
        element =
            isFirst ? sums[i * columns + j] : element + sums[i * columns + j];
      }
  }
  if (target.bias)
    for (int64_t i = 0; i < target.rows; ++i)
      for (int64_t j = 0; j < target.columns; ++j)
        target.c.row(i)[j] += target.bias[j];
}

/// Packs blocks of one operand and multiplies each by all of the other.
template <typename T>
struct PackedProduct<T>::Part {
  template <typename Vectors>
  [[gnu::always_inline]] static void run(const PackedProduct *product,
                                         int64_t first, int64_t end,
                                         const T *packed, T *block) {
    const PackedProduct &p = *product;
    for (int64_t panel = first; panel < end; panel += p.panelsOfBlock) {
      const int64_t count = std::min(p.panelsOfBlock, end - panel);
      // Without any k, C is the bias.
      int64_t next = 0;
      do {
        const int64_t begin = next;
        next += p.depth;
        const bool isLast = next >= p.k;
        for (int64_t i = 0; i < count; ++i)
          packPanelOf<Vectors>(
              p.streamed(), p.packsRows, panel + i, begin, p.depthAt(begin),
              block + i * p.depthAt(begin) * p.streamed().width);
        Prefetcher prefetcher(
            p.streamed(), isLast ? panel + p.panelsOfBlock : panel,
            p.panelsOfBlock, isLast ? 0 : next, p.depthAt(isLast ? 0 : next),
            count * p.packedOnce().count());
        multiply<Vectors>(p, panel, count, begin, packed, block, prefetcher);
      } while (next < p.k);
    }
  }

  /// For one block of k. The panel of columns is that of the outer loop if
  /// columns are packed once, because it is read for each panel of rows.
  template <typename Vectors>
  [[gnu::always_inline]] static void
  multiply(const PackedProduct &p, int64_t panel, int64_t count, int64_t begin,
           const T *packed, const T *block, Prefetcher &prefetcher) {
    const int64_t depth = p.depthAt(begin);
    for (int64_t other = 0; other < p.packedOnce().count(); ++other)
      for (int64_t i = 0; i < count; ++i) {
        const T *once = packed + p.packedOffset(other, begin);
        const T *now = block + i * depth * p.streamed().width;
        const int64_t row = p.packsRows ? other : panel + i;
        const int64_t column = p.packsRows ? panel + i : other;
        const int64_t firstColumn = column * p.columns.width;
        T *c = p.c + row * p.rows.width * p.cStride + firstColumn;
        const bool isLast = begin + p.depth >= p.k;
        prefetcher.step();
        computeTile<Vectors, T>(
            p.packsRows ? once : now, p.packsRows ? now : once, depth,
            begin == 0,
            {{c, p.cStride},
             p.rows.linesOf(row),
             p.columns.linesOf(column),
             p.bias && isLast ? p.bias + firstColumn : nullptr});
      }
  }
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// The longest block of k, of which a panel of columns in f32 is as large as a
/// first-level cache: 512 * 16 elements.
static constexpr int64_t maxDepth = 512;
/// Of a block of the operand that is not packed once, for the second level.
static constexpr int64_t maxBlockElements = 1 << 15;
/// Work of a part: so many parts that cores of different speeds end together,
/// unless one took less than 30 microseconds or more than 200.
static constexpr int64_t wantedParts = 64;
static constexpr int64_t minOperations = 4'000'000, maxOperations = 32'000'000;
/// What a part reads at least of adjacent lines, a cache line: the parts on
/// both sides read those at its ends again.
static constexpr int64_t minAdjacentBytes = 64;

template <typename T>
PackedProduct<T>::PackedProduct(int64_t m, int64_t n, int64_t k,
                                const MatmulProblem::Product &product,
                                const Matrix &bias)
    : k(k) {
  TileShape shape;
  runVectorised<FindTileShape<T>>(&shape);
  const auto as = [](const Matrix &matrix) {
    return reinterpret_cast<T *>(matrix.data);
  };
  const int64_t blocks = std::max<int64_t>(1, (k + maxDepth - 1) / maxDepth);
  depth = std::max<int64_t>(1, (k + blocks - 1) / blocks);
  const Matrix &a = product.a, &b = product.b;
  rows = {as(a), a.rowStride, a.columnStride, m, shape.rows};
  columns = {as(b), b.columnStride, b.rowStride, n, shape.columns};
  packsRows = m < n;
  c = as(product.c);
  cStride = product.c.rowStride;
  this->bias = as(bias);

  const Panels &panels = streamed();
  const int64_t inCache =
      std::max<int64_t>(1, maxBlockElements / (panels.width * depth));
  const int64_t operationsOfPart =
      std::clamp(2 * m * n * k / wantedParts, minOperations, maxOperations);
  const int64_t ofPanel =
      std::max<int64_t>(1, 2 * packedOnce().lines * panels.width * k);
  const int64_t bytesOfPanel =
      panels.lineStride == 1 ? panels.width * sizeof(T) : minAdjacentBytes;
  panelsOfPart = std::max(operationsOfPart / ofPanel,
                          (minAdjacentBytes + bytesOfPanel - 1) / bytesOfPanel);
  panelsOfBlock = std::min(inCache, panelsOfPart);
}

template <typename T>
size_t PackedProduct<T>::packedBytes() const {
  const Panels &panels = packedOnce();
  return alignScratch(static_cast<size_t>(panels.count() * panels.width * k) *
                      sizeof(T));
}

template <typename T>
size_t PackedProduct<T>::blockBytes() const {
  return alignScratch(
      static_cast<size_t>(panelsOfBlock * streamed().width * depth) *
      sizeof(T));
}

template <typename T>
size_t PackedProduct<T>::maxBlockBytes() {
  constexpr int64_t maxWidth = 32;
  return static_cast<size_t>(std::max(maxBlockElements, maxWidth * maxDepth)) *
         sizeof(T);
}

template <typename T>
int64_t PackedProduct<T>::packJobs() const {
  return packedOnce().count() * depthBlocks();
}

template <typename T>
void PackedProduct<T>::pack(int64_t job, std::byte *packed) const {
  runVectorised<PackJob>(this, job / depthBlocks(), job % depthBlocks() * depth,
                         reinterpret_cast<T *>(packed));
}

template <typename T>
int64_t PackedProduct<T>::parts() const {
  if (packedOnce().lines == 0)
    return 0;
  return (streamed().count() + panelsOfPart - 1) / panelsOfPart;
}

template <typename T>
void PackedProduct<T>::run(int64_t part, const std::byte *packed,
                           std::byte *block) const {
  const int64_t first = part * panelsOfPart;
  runVectorised<Part>(
      this, first, std::min(first + panelsOfPart, streamed().count()),
      reinterpret_cast<const T *>(packed), reinterpret_cast<T *>(block));
}

template class PackedProduct<float>;
template class PackedProduct<double>;

} // namespace shardc::runtime
