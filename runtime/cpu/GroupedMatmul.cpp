//===- GroupedMatmul.cpp - Rows by groups times a matrix each -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many rows a group has is data, so that oneDNN's primitives are made for
// any number of rows. A part is a group's block of columns: rows are not cut,
// because each part packs its block of B, and which parts there are follows
// from shapes alone.
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

class GroupedMatmul : public LibraryCall {
public:
  explicit GroupedMatmul(const GroupedProblem &problem);

  ScratchNeed scratchNeed() const override { return {0, scratchBytes, 0}; }
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  void runPart(Group rows, int64_t group, int64_t block, void *scratch) const;

  const GroupedProblem problem;
  /// Of all blocks but the last, and of the last.
  int64_t blockColumns, blocks;
  std::vector<BlockProduct> products;
  size_t scratchBytes = 0;
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

/// Blocks are as wide as oneDNN needs to be fast, and narrow enough that few
/// groups are work for many threads.
GroupedMatmul::GroupedMatmul(const GroupedProblem &problem) : problem(problem) {
  constexpr int64_t mostColumns = 256, mostBlocks = 64, granularity = 16;
  const int64_t columns = problem.c.columns;
  blockColumns = std::max(mostColumns, (columns + mostBlocks - 1) / mostBlocks);
  blockColumns = std::min(columns, (blockColumns + granularity - 1) /
                                       granularity * granularity);
  blocks = (columns + blockColumns - 1) / blockColumns;
  products.reserve(2);
  products.emplace_back(this->problem, blockColumns);
  products.emplace_back(this->problem, columns - (blocks - 1) * blockColumns);
  for (const BlockProduct &product : products)
    scratchBytes = std::max(scratchBytes, product.scratchBytes());
}

void GroupedMatmul::runPart(Group rows, int64_t group, int64_t block,
                            void *scratch) const {
  const int64_t column = block * blockColumns;
  const int64_t columns = std::min(blockColumns, problem.c.columns - column);
  Matrix b = problem.b.of(group, rows.begin);
  Matrix c = problem.c.of(group, rows.begin);
  b.data = b.at(0, column);
  c.data = c.at(0, column);
  if (rows.rows == 0)
    return setZero(c, problem.c.rows == groupRows ? 0 : problem.c.rows,
                   columns);
  products[block + 1 == blocks].run(rows, problem.a.of(group, rows.begin), b, c,
                                    scratch);
}

Status GroupedMatmul::run(WorkerPool &workers, const Scratch &scratch) {
  const StatusOr<std::vector<Group>> groups = readGroups(problem);
  if (!groups.ok())
    return groups.status();
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
