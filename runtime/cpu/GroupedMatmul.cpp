//===- GroupedMatmul.cpp - Rows by groups times a matrix each -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many rows a group has is data, so that oneDNN's primitives are made for
// any number of rows. A part is a group's block of columns: rows are not cut,
// because each part packs its block of B, and which parts there are follows
// from shapes alone. Operands whose lines compete for the same sets of a cache
// are copied first: the rows once for all parts, a block of B by its part.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/DoubleMatmul.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatmulProblem.h"
#include "runtime/cpu/OneDnn.h"
#include "runtime/cpu/WidenedCall.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::Dtype;

namespace {
/// A matrix of the products, which is that of a group, or those of its rows.
struct GroupedMatrix {
  Matrix whole;
  /// Of one product; `groupRows` where they are the group's.
  int64_t rows, columns;
  /// How many elements the next group's matrix is away, and how many it is
  /// further on for each row before the group.
  int64_t groupStride, rowStride;

  Matrix of(int64_t group, int64_t firstRow) const {
    Matrix matrix = whole;
    matrix.data +=
        (group * groupStride + firstRow * rowStride) * byteSize(matrix.dtype);
    return matrix;
  }
};
constexpr int64_t groupRows = DNNL_RUNTIME_DIM_VAL;

/// C = A B for each group.
struct GroupedProblem {
  GroupedMatrix a, b, c;
  /// The end of each group's rows, and how many rows there are.
  const int64_t *ends;
  int64_t groups, rows;
};

/// Where a group's rows begin, and how many they are.
struct Group {
  int64_t begin, rows;
};
} // namespace

/// Fails with E0504 unless `ends` increase from 0 to at most the rows.
static StatusOr<std::vector<Group>> readGroups(const GroupedProblem &problem) {
  std::vector<Group> groups;
  int64_t begin = 0;
  for (int64_t i = 0; i < problem.groups; ++i) {
    const int64_t end = problem.ends[i];
    if (end < begin || end > problem.rows)
      return Status(ErrorCode::E0504,
                    "group " + std::to_string(i) + " of rows ends at " +
                        std::to_string(end) + ", not between " +
                        std::to_string(begin) + " and " +
                        std::to_string(problem.rows));
    groups.push_back({begin, end - begin});
    begin = end;
  }
  return groups;
}

static void setZero(const Matrix &matrix, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    std::memset(matrix.at(row, 0), 0,
                static_cast<size_t>(columns * byteSize(matrix.dtype)));
}

/// What no group covers is zero.
static void setRestZero(const GroupedProblem &problem,
                        const std::vector<Group> &groups) {
  const Group last = groups.empty() ? Group{0, 0} : groups.back();
  const int64_t end = last.begin + last.rows;
  if (problem.c.rows == groupRows)
    setZero(problem.c.of(0, end), problem.rows - end, problem.c.columns);
}

//===----------------------------------------------------------------------===//
// By oneDNN
//===----------------------------------------------------------------------===//

namespace {
/// The product of a group's A with a block of its B, for any number of rows.
class BlockProduct {
public:
  BlockProduct(const GroupedProblem &problem, int64_t columns)
      : problem(problem), columns(columns), description(describe(groupRows)),
        primitive(description) {}

  size_t scratchBytes() const {
    return alignScratch(description.scratchpad_desc().get_size());
  }

  void run(Group rows, const Matrix &a, const Matrix &b, const Matrix &c,
           void *scratch) const;

private:
  dnnl::memory::desc layoutOf(const GroupedMatrix &matrix, int64_t rows,
                              bool isCut) const {
    auto extent = [&](int64_t size) { return size == groupRows ? rows : size; };
    return {{extent(matrix.rows), isCut ? columns : extent(matrix.columns)},
            oneDnnType(matrix.whole.dtype),
            {matrix.whole.rowStride, matrix.whole.columnStride}};
  }
  dnnl::matmul::primitive_desc describe(int64_t rows) const {
    return {dnnl::matmul::desc(layoutOf(problem.a, rows, false),
                               layoutOf(problem.b, rows, true),
                               layoutOf(problem.c, rows, true)),
            oneDnnAttributes(), oneDnnEngine()};
  }

  const GroupedProblem &problem;
  const int64_t columns;
  const dnnl::matmul::primitive_desc description;
  const dnnl::matmul primitive;
};

/// Lines of f32, and a copy of them that oneDNN reads faster.
struct Lines {
  const std::byte *data;
  int64_t count, elements, spacing, copySpacing;

  size_t copyBytes() const {
    return alignScratch(static_cast<size_t>(count * copySpacing) *
                        sizeof(float));
  }
  void copy(int64_t first, int64_t lines, std::byte *target) const {
    for (int64_t line = first; line < first + lines; ++line)
      std::memcpy(target + line * copySpacing * sizeof(float),
                  data + line * spacing * sizeof(float),
                  static_cast<size_t>(elements) * sizeof(float));
  }
};

class GroupedMatmul : public LibraryCall {
public:
  explicit GroupedMatmul(const GroupedProblem &problem);

  ScratchNeed scratchNeed() const override {
    return {sharedBytes, blockBytes + scratchpadBytes, 0};
  }
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  /// The rows of a copied A or B, and where their copy lies in shared memory.
  struct RowsCopy {
    GroupedMatrix *matrix;
    Lines rows;
    size_t offset;
  };

  void chooseBlocks();
  void chooseCopies();
  Lines blockOfB(const Matrix &block, int64_t columns) const {
    return {block.data, problem.b.rows, columns, spacingOfB, block.rowStride};
  }
  void copyRows(WorkerPool &workers, const Scratch &scratch);
  void runPart(Group rows, int64_t group, int64_t block,
               std::byte *scratch) const;

  /// Copied operands have the strides of their copies.
  GroupedProblem problem;
  /// Of all blocks but the last, and of the last.
  int64_t blockColumns, blocks;
  std::vector<BlockProduct> products;
  std::vector<RowsCopy> copies;
  /// Of a group's B that parts copy; 0 if they read it where it lies.
  int64_t spacingOfB = 0;
  size_t sharedBytes = 0, blockBytes = 0, scratchpadBytes = 0;
};
} // namespace

void BlockProduct::run(Group rows, const Matrix &a, const Matrix &b,
                       const Matrix &c, void *scratch) const {
  const auto memory = [&](const dnnl::memory::desc &layout, void *data) {
    return dnnl::memory(layout, oneDnnEngine(), data);
  };
  dnnl::stream stream(oneDnnEngine());
  primitive.execute(
      stream,
      {{DNNL_ARG_SRC, memory(layoutOf(problem.a, rows.rows, false), a.data)},
       {DNNL_ARG_WEIGHTS, memory(layoutOf(problem.b, rows.rows, true), b.data)},
       {DNNL_ARG_DST, memory(layoutOf(problem.c, rows.rows, true), c.data)},
       {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), scratch)}});
}

GroupedMatmul::GroupedMatmul(const GroupedProblem &problem) : problem(problem) {
  chooseBlocks();
  chooseCopies();
  const int64_t lastColumns = problem.c.columns - (blocks - 1) * blockColumns;
  products.reserve(2);
  for (const int64_t columns : {blockColumns, lastColumns}) {
    products.emplace_back(this->problem, columns);
    scratchpadBytes = std::max(scratchpadBytes, products.back().scratchBytes());
  }
}

/// Blocks are as wide as oneDNN needs to be fast, and narrow enough that few
/// groups are work for many threads.
void GroupedMatmul::chooseBlocks() {
  constexpr int64_t maxColumns = 256, maxBlocks = 64, granularity = 16;
  const int64_t columns = problem.c.columns;
  blockColumns = std::max(maxColumns, (columns + maxBlocks - 1) / maxBlocks);
  blockColumns = std::min(columns, (blockColumns + granularity - 1) /
                                       granularity * granularity);
  blocks = (columns + blockColumns - 1) / blockColumns;
}

void GroupedMatmul::chooseCopies() {
  GroupedMatrix &a = problem.a, &b = problem.b;
  auto copyRowsOf = [&](GroupedMatrix &matrix, int64_t elements,
                        int64_t &stride, int64_t otherStride, int64_t others) {
    if (otherStride != 1 || !isBadlySpaced(matrix.whole.dtype, stride) ||
        others < minOthersOfCopies)
      return;
    const int64_t copySpacing = wellSpaced(elements);
    copies.push_back(
        {&matrix,
         {matrix.whole.data, problem.rows, elements, stride, copySpacing},
         sharedBytes});
    sharedBytes += copies.back().rows.copyBytes();
    stride = matrix.rowStride = copySpacing;
  };
  if (a.columns == groupRows)
    copyRowsOf(a, a.rows, a.whole.columnStride, a.whole.rowStride,
               blockColumns);
  if (b.rows == groupRows)
    copyRowsOf(b, b.columns, b.whole.rowStride, b.whole.columnStride, a.rows);
  else if (b.whole.columnStride == 1 &&
           isBadlySpaced(b.whole.dtype, b.whole.rowStride)) {
    spacingOfB = b.whole.rowStride;
    b.whole.rowStride = wellSpaced(blockColumns);
    blockBytes = blockOfB(b.whole, blockColumns).copyBytes();
  }
}

void GroupedMatmul::copyRows(WorkerPool &workers, const Scratch &scratch) {
  constexpr int64_t linesOfJob = 64;
  for (const RowsCopy &copy : copies) {
    std::byte *target = scratch.shared() + copy.offset;
    copy.matrix->whole.data = target;
    const int64_t count = copy.rows.count;
    workers.run((count + linesOfJob - 1) / linesOfJob, [&](int64_t job, int) {
      const int64_t first = job * linesOfJob;
      copy.rows.copy(first, std::min(linesOfJob, count - first), target);
    });
  }
}

void GroupedMatmul::runPart(Group rows, int64_t group, int64_t block,
                            std::byte *scratch) const {
  const int64_t column = block * blockColumns;
  const int64_t columns = std::min(blockColumns, problem.c.columns - column);
  Matrix b = problem.b.of(group, rows.begin);
  Matrix c = problem.c.of(group, rows.begin);
  b.data = b.at(0, column);
  c.data = c.at(0, column);
  if (rows.rows == 0)
    return setZero(c, problem.c.rows == groupRows ? 0 : problem.c.rows,
                   columns);
  if (spacingOfB > 0) {
    blockOfB(b, columns).copy(0, problem.b.rows, scratch);
    b.data = scratch;
  }
  products[block + 1 == blocks].run(rows, problem.a.of(group, rows.begin), b, c,
                                    scratch + blockBytes);
}

Status GroupedMatmul::run(WorkerPool &workers, const Scratch &scratch) {
  const StatusOr<std::vector<Group>> groups = readGroups(problem);
  if (!groups.ok())
    return groups.status();
  copyRows(workers, scratch);
  std::atomic<bool> healthy = true;
  workers.run(problem.groups * blocks, [&](int64_t part, int worker) {
    const int64_t group = part / blocks;
    useOneOneDnnThread();
    try {
      runPart((*groups)[static_cast<size_t>(group)], group, part % blocks,
              scratch.worker(worker));
    } catch (const std::exception &) {
      healthy = false;
    }
  });
  if (!healthy)
    return Status(ErrorCode::E0504, "oneDNN failed to multiply matrices");
  setRestZero(problem, *groups);
  return Status();
}

//===----------------------------------------------------------------------===//
// In f64
//===----------------------------------------------------------------------===//

namespace {
class GroupedDoubleMatmul : public LibraryCall {
public:
  explicit GroupedDoubleMatmul(const GroupedProblem &problem)
      : problem(problem) {}

  ScratchNeed scratchNeed() const override {
    return productOf(0, {0, problem.rows})->scratchNeed();
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    const StatusOr<std::vector<Group>> groups = readGroups(problem);
    if (!groups.ok())
      return groups.status();
    for (int64_t group = 0; group < problem.groups; ++group)
      if (Status status =
              productOf(group, (*groups)[static_cast<size_t>(group)])
                  ->run(workers, scratch);
          !status.ok())
        return status;
    setRestZero(problem, *groups);
    return Status();
  }

private:
  std::unique_ptr<LibraryCall> productOf(int64_t group, Group rows) const {
    auto extent = [&](int64_t size) {
      return size == groupRows ? rows.rows : size;
    };
    MatmulProblem one;
    one.m = extent(problem.a.rows);
    one.k = extent(problem.a.columns);
    one.n = problem.c.columns;
    one.products.push_back({problem.a.of(group, rows.begin),
                            problem.b.of(group, rows.begin),
                            problem.c.of(group, rows.begin)});
    return makeDoubleMatmul(one);
  }

  const GroupedProblem problem;
};
} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static LibraryCallOr prepare(const GroupedProblem &problem,
                             LibraryCallArguments arguments,
                             LibraryCallOr (*again)(LibraryCallArguments)) {
  if (problem.c.whole.dtype == Dtype::F64)
    return std::unique_ptr<LibraryCall>(
        std::make_unique<GroupedDoubleMatmul>(problem));
  useOneOneDnnThread();
  try {
    return std::unique_ptr<LibraryCall>(
        std::make_unique<GroupedMatmul>(problem));
  } catch (const dnnl::error &) {
    if (!hasBFloat16(arguments))
      throw;
  }
  return prepareWidened(std::move(arguments), again);
}

LibraryCallOr prepareGroupedMm(LibraryCallArguments arguments) {
  const TensorView &rows = arguments.operands[0], &mat2 = arguments.operands[1];
  const TensorView &ends = arguments.operands[2], &out = arguments.results[0];
  const Matrix a = lastMatrix(rows), b = lastMatrix(mat2), c = lastMatrix(out);
  const int64_t k = mat2.shape[1], m = mat2.shape[2];
  return prepare({{a, groupRows, k, 0, a.rowStride},
                  {b, k, m, mat2.strides[0], 0},
                  {c, groupRows, m, 0, c.rowStride},
                  ends.as<const int64_t>(),
                  ends.shape[0],
                  rows.shape[0]},
                 arguments, prepareGroupedMm);
}

/// A is transposed: a column for each row of the group.
LibraryCallOr prepareGroupedMmBackwardMat2(LibraryCallArguments arguments) {
  const TensorView &gradient = arguments.operands[0];
  const TensorView &rows = arguments.operands[1];
  const TensorView &ends = arguments.operands[2], &out = arguments.results[0];
  const Matrix a = lastMatrix(rows, /*transpose=*/true);
  const Matrix b = lastMatrix(gradient), c = lastMatrix(out);
  const int64_t k = rows.shape[1], m = gradient.shape[1];
  return prepare({{a, k, groupRows, 0, a.columnStride},
                  {b, groupRows, m, 0, b.rowStride},
                  {c, k, m, out.strides[0], 0},
                  ends.as<const int64_t>(),
                  ends.shape[0],
                  rows.shape[0]},
                 arguments, prepareGroupedMmBackwardMat2);
}

} // namespace shardc::runtime
