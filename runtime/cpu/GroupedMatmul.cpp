//===- GroupedMatmul.cpp - Rows by groups times a matrix each -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many rows a group has is data, so that oneDNN's primitives are made for
// any number of rows. A part is a group's block of columns: rows are not cut,
// because each part packs its block of B, and which parts there are follows
// from shapes alone. Products of packed operands are split by the sizes of the
// groups, which does not change their bits.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatmulProblem.h"
#include "runtime/cpu/OneDnn.h"
#include "runtime/cpu/PackedMatmul.h"
#include "runtime/cpu/PackedProduct.h"
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

  ScratchNeed scratchNeed() const override { return {0, scratchpadBytes, 0}; }
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  void runPart(Group rows, int64_t group, int64_t block,
               std::byte *scratch) const;

  const GroupedProblem problem;
  /// Of all blocks but the last, and of the last.
  int64_t blockColumns, blocks;
  std::vector<BlockProduct> products;
  size_t scratchpadBytes = 0;
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
  constexpr int64_t maxColumns = 256, maxBlocks = 64, granularity = 16;
  const int64_t columns = problem.c.columns;
  blockColumns = std::max(maxColumns, (columns + maxBlocks - 1) / maxBlocks);
  blockColumns = std::min(columns, (blockColumns + granularity - 1) /
                                       granularity * granularity);
  blocks = (columns + blockColumns - 1) / blockColumns;
  const int64_t lastColumns = columns - (blocks - 1) * blockColumns;
  products.reserve(2);
  for (const int64_t width : {blockColumns, lastColumns}) {
    products.emplace_back(this->problem, width);
    scratchpadBytes = std::max(scratchpadBytes, products.back().scratchBytes());
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
// With packed operands
//===----------------------------------------------------------------------===//

namespace {
/// Of T: f64, which oneDNN does not multiply, or f32 where this is faster.
template <typename T>
class GroupedPackedMatmul : public LibraryCall {
public:
  explicit GroupedPackedMatmul(const GroupedProblem &problem)
      : problem(problem) {
    products.reserve(static_cast<size_t>(problem.groups));
    jobs.reserve(static_cast<size_t>(problem.groups));
  }

  ScratchNeed scratchNeed() const override;
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  /// The jobs of a product before which there are others, and its memory.
  struct Jobs {
    int64_t firstPack, firstPart;
    size_t packedAt;
  };

  PackedProduct<T> productOf(int64_t group, Group rows) const;
  /// Sets `products` and `jobs`; the numbers of all jobs.
  Jobs prepare(const std::vector<Group> &groups);

  const GroupedProblem problem;
  std::vector<PackedProduct<T>> products;
  std::vector<Jobs> jobs;
};
} // namespace

/// Each group's packed operand has at most so many elements for each of its
/// rows, or for each k: those of the smaller extent, and of one more panel.
template <typename T>
ScratchNeed GroupedPackedMatmul<T>::scratchNeed() const {
  constexpr int64_t panel = 32;
  const int64_t elements =
      problem.a.columns == groupRows
          ? (std::min(problem.a.rows, problem.c.columns) + panel) * problem.rows
          : std::min(problem.rows + problem.groups * panel,
                     problem.groups * (problem.c.columns + panel)) *
                problem.a.columns;
  const size_t alignment =
      alignScratch(1) * static_cast<size_t>(problem.groups);
  return {alignScratch(static_cast<size_t>(elements) * sizeof(T)) + alignment,
          PackedProduct<T>::maxBlockBytes(), 0};
}

template <typename T>
PackedProduct<T> GroupedPackedMatmul<T>::productOf(int64_t group,
                                                   Group rows) const {
  const auto extent = [&](int64_t size) {
    return size == groupRows ? rows.rows : size;
  };
  return {extent(problem.a.rows),
          problem.c.columns,
          extent(problem.a.columns),
          {problem.a.of(group, rows.begin), problem.b.of(group, rows.begin),
           problem.c.of(group, rows.begin)},
          Matrix()};
}

template <typename T>
auto GroupedPackedMatmul<T>::prepare(const std::vector<Group> &groups) -> Jobs {
  products.clear();
  jobs.clear();
  Jobs all = {0, 0, 0};
  for (size_t i = 0; i < groups.size(); ++i) {
    products.push_back(productOf(static_cast<int64_t>(i), groups[i]));
    jobs.push_back(all);
    all.firstPack += products.back().packJobs();
    all.firstPart += products.back().parts();
    all.packedAt += products.back().packedBytes();
  }
  return all;
}

template <typename T>
Status GroupedPackedMatmul<T>::run(WorkerPool &workers,
                                   const Scratch &scratch) {
  const StatusOr<std::vector<Group>> groups = readGroups(problem);
  if (!groups.ok())
    return groups.status();
  const Jobs all = prepare(*groups);
  // The product that a job is of: the last one that does not begin after it.
  const auto find = [&](int64_t Jobs::*first, int64_t job) {
    const auto next = std::ranges::upper_bound(jobs, job, {}, first);
    return static_cast<size_t>(next - jobs.begin()) - 1;
  };
  workers.run(all.firstPack, [&](int64_t job, int) {
    const size_t i = find(&Jobs::firstPack, job);
    products[i].pack(job - jobs[i].firstPack,
                     scratch.shared() + jobs[i].packedAt);
  });
  workers.run(all.firstPart, [&](int64_t job, int worker) {
    const size_t i = find(&Jobs::firstPart, job);
    products[i].run(job - jobs[i].firstPart,
                    scratch.shared() + jobs[i].packedAt,
                    scratch.worker(worker));
  });
  setRestZero(problem, *groups);
  return Status();
}

/// Whether packing is faster than oneDNN: as in isFasterPacked, for groups of
/// average size.
static bool isFasterPacked(const GroupedProblem &problem) {
  const GroupedMatrix &a = problem.a, &b = problem.b, &c = problem.c;
  MatmulProblem average;
  const int64_t rows = problem.rows / std::max<int64_t>(1, problem.groups);
  average.m = a.rows == groupRows ? rows : a.rows;
  average.n = c.columns;
  average.k = a.columns == groupRows ? rows : a.columns;
  average.products.push_back({a.whole, b.whole, c.whole});
  return isFasterPacked(average);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static LibraryCallOr prepare(const GroupedProblem &problem,
                             LibraryCallArguments arguments,
                             LibraryCallOr (*again)(LibraryCallArguments)) {
  if (problem.c.whole.dtype == Dtype::F64)
    return std::unique_ptr<LibraryCall>(
        std::make_unique<GroupedPackedMatmul<double>>(problem));
  if (isFasterPacked(problem))
    return std::unique_ptr<LibraryCall>(
        std::make_unique<GroupedPackedMatmul<float>>(problem));
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
