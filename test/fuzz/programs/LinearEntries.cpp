//===- LinearEntries.cpp - Matrix products and attention in programs ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Library calls between kernels. Weights are parameters mostly, and now and
// then values that the program computed or cut out of something; matrices to be
// factored are made well-conditioned.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/OperatorTable.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;

namespace shardc::fuzz {

static Value weightOf(ProgramBuilder &builder, ArrayRef<int64_t> shape) {
  return builder.getRandom().chance(0.75) ? builder.parameter(shape)
                                          : builder.operand(shape);
}

static bool buildLinear(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value value =
      builder.pick([](RankedTensorType type) { return type.getRank() > 0; });
  if (!value)
    return false;
  int64_t in = shapeOf(value).back();
  int64_t rows = typeOf(value).getNumElements() / in;
  int64_t out = randomSize(random, ProgramBuilder::maxElements / rows);
  Value weight = weightOf(builder, {out, in});
  Value bias = random.chance(0.6) ? weightOf(builder, {out}) : Value();
  return builder.offer(builder.create<aten::LinearOp>(value, weight, bias));
}

static bool buildMatmul(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self =
      builder.pick([](RankedTensorType type) { return type.getRank() > 1; });
  if (!self)
    return false;
  int64_t rows = typeOf(self).getNumElements() / shapeOf(self).back();
  Shape shape(shapeOf(self).drop_back(2));
  shape.append({shapeOf(self).back(),
                randomSize(random, ProgramBuilder::maxElements / rows)});
  if (random.chance(0.3))
    shape.erase(shape.begin(), shape.end() - 2);
  Value other = builder.operand(shape);
  return builder.offer(builder.create<aten::MatmulOp>(self, other));
}

/// Groups of rows, of which some may be empty and some rows be in none.
static bool buildGroupedMm(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Value self =
      builder.pick([](RankedTensorType type) { return type.getRank() == 2; });
  if (!self)
    return false;
  int64_t rows = shapeOf(self)[0], groups = random.between(1, 4);
  SmallVector<int64_t> ends;
  for (int64_t group = 0; group < groups; ++group)
    ends.push_back(random.between(0, rows));
  llvm::sort(ends);
  Value offs = builder.create<aten::ConstantOp>(
      builder.getBuilder().getI64TensorAttr(ends));
  int64_t max =
      std::min(ProgramBuilder::maxElements / rows,
               ProgramBuilder::maxElements / (groups * shapeOf(self)[1]));
  if (max < 1)
    return false;
  Value matrices =
      weightOf(builder, {groups, shapeOf(self)[1], randomSize(random, max)});
  return builder.offer(builder.create<aten::GroupedMmOp>(self, matrices, offs));
}

/// Which keys of [*, H, T, S] are seen: a condition on integers, since that of
/// rounded numbers may be another one.
static Value booleanMask(ProgramBuilder &builder, Shape shape) {
  int64_t size = shape[0];
  shape[0] = builder.getBatch();
  Value index = builder.indexInput(shape, 3);
  if (size != builder.getBatch())
    index = builder.create<aten::SliceOp>(index, /*dim=*/0, /*start=*/0,
                                          /*end=*/1, /*step=*/1);
  return builder.create<aten::EqScalarOp>(
      index, builder.getBuilder().getI64IntegerAttr(0));
}

/// A mask that broadcasts to `scores`: booleans, or numbers, which may be
/// learned; or none. Leading sizes of 1 may be missing.
static Value maskOf(ProgramBuilder &builder, Shape shape) {
  RandomSource &random = builder.getRandom();
  if (random.chance(0.4))
    return Value();
  for (int64_t &size : shape)
    size = random.chance(0.4) ? 1 : size;
  if (random.chance(0.5))
    return booleanMask(builder, shape);
  while (shape.size() > 1 && shape.front() == 1 && random.chance(0.5))
    shape.erase(shape.begin());
  return weightOf(builder, shape);
}

static bool buildAttention(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  int64_t batches =
      random.chance(0.5) ? builder.getBatch() : random.between(1, 3);
  int64_t keyHeads = random.between(1, 3), head = randomSize(random, 8);
  int64_t heads = keyHeads * (random.chance(0.3) ? random.between(2, 3) : 1);
  int64_t valueSize = random.chance(0.3) ? randomSize(random, 8) : head;
  int64_t rows = randomSize(random, 11);
  int64_t columns = random.chance(0.5) ? rows : randomSize(random, 11);
  Value query = builder.operand({batches, heads, rows, head});
  Value key = builder.operand({batches, keyHeads, columns, head});
  Value value = random.chance(0.2)
                    ? key
                    : builder.operand({batches, keyHeads, columns, valueSize});
  double scale = random.chance(0.7) ? 1 / std::sqrt(double(head)) : 0.4;
  SmallVector<Value> run;
  if (random.chance(0.3))
    for (auto number :
         {fsdp::Scalar::seed, fsdp::Scalar::step, fsdp::Scalar::slice})
      run.push_back(builder.runNumber(number));
  auto attention = builder.create<aten::ScaledDotProductAttentionOp>(
      query, key, value, maskOf(builder, {batches, heads, rows, columns}),
      ValueRange(run), random.chance(0.5), APFloat(scale),
      APFloat(run.empty() ? 0.0 : random.pick({0.1, 0.5, 1.0})),
      /*stream=*/random.between(0, 1000));
  return builder.offer(attention.getResult());
}

//===----------------------------------------------------------------------===//
// Factorizations
//===----------------------------------------------------------------------===//

namespace {
/// Matrices [*, rows, columns] with 3, 6, 9, … and a little on their diagonals
/// and less than 1 in all that is beside them: their pivots, eigenvalues and
/// singular values are nowhere near zero or each other. In f32 where the
/// program's policy narrows its values, as a model has to convert them.
class Matrices {
public:
  explicit Matrices(ProgramBuilder &builder) : builder(builder) {}

  Value make(int64_t rows, int64_t columns) {
    if (random().chance(0.5))
      batch.push_back(random().between(1, 3));
    Value near = small(rows, columns);
    SmallVector<double> elements(rows * columns, 0.0);
    for (int64_t i = 0; i < std::min(rows, columns); ++i)
      elements[i * columns + i] = 3.0 * static_cast<double>(i + 1);
    return add(near, elements, rows, columns);
  }
  Value makeSquare() {
    int64_t size = random().between(1, 5);
    return make(size, size);
  }
  Value makeAny() {
    int64_t rows = random().between(1, 5);
    return make(rows, random().between(1, 5));
  }
  /// A symmetric one.
  Value makeSymmetric() {
    Value matrix = makeSquare();
    int64_t rank = typeOf(matrix).getRank();
    auto dims = llvm::to_vector(llvm::seq<int64_t>(rank));
    std::swap(dims[rank - 2], dims[rank - 1]);
    return builder.create<aten::AddOp>(
        matrix, builder.create<aten::PermuteOp>(matrix, dims));
  }
  /// Of the same batch.
  Value small(int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.append({rows, columns});
    Value value = convert(builder.operand(shape), wide());
    double scale = 1.0 / static_cast<double>(rows + columns);
    return builder.create<aten::MulScalarOp>(
        builder.create<aten::TanhOp>(value), builder.floatAttribute(scale));
  }
  /// Of vectors with an arbitrary sign, the squares.
  bool offer(Value value, bool isSquared = false) {
    if (isSquared)
      value = builder.create<aten::MulOp>(value, value);
    return builder.offer(convert(value, builder.getElement()));
  }

private:
  RandomSource &random() { return builder.getRandom(); }
  FloatType wide() {
    FloatType element = builder.getElement();
    return element.isF64() ? element
                           : FloatType(Float32Type::get(element.getContext()));
  }
  Value convert(Value value, FloatType element) {
    return builder.create<aten::ToOp>(value, TypeAttr::get(element));
  }
  Value add(Value value, ArrayRef<double> elements, int64_t rows,
            int64_t columns) {
    auto wideType = RankedTensorType::get(
        {rows, columns}, Float64Type::get(wide().getContext()));
    Value constant = builder.create<aten::ConstantOp>(
        wideType, DenseElementsAttr::get(wideType, elements));
    return builder.create<aten::AddOp>(value, convert(constant, wide()));
  }

  ProgramBuilder &builder;
  Shape batch;
};
} // namespace

static bool buildCholesky(ProgramBuilder &builder) {
  Matrices matrices(builder);
  return matrices.offer(
      builder
          .create<aten::LinalgCholeskyExOp>(matrices.makeSymmetric(),
                                            builder.getRandom().chance(0.5))
          .getL());
}

static bool buildLuFactor(ProgramBuilder &builder) {
  Matrices matrices(builder);
  return matrices.offer(
      builder
          .create<aten::LinalgLuFactorExOp>(matrices.makeSquare(),
                                            builder.getRandom().chance(0.5))
          .getLU());
}

static bool buildSolveTriangular(ProgramBuilder &builder) {
  RandomSource &random = builder.getRandom();
  Matrices matrices(builder);
  Value triangle = matrices.makeSquare();
  Value right = matrices.small(shapeOf(triangle).back(), random.between(1, 4));
  return matrices.offer(builder.create<aten::LinalgSolveTriangularOp>(
      triangle, right, random.chance(0.5), random.chance(0.3)));
}

static bool buildQr(ProgramBuilder &builder) {
  Matrices matrices(builder);
  auto op = builder.create<aten::LinalgQrOp>(matrices.makeAny());
  return matrices.offer(op->getResult(builder.getRandom().between(0, 1)));
}

static bool buildEigh(ProgramBuilder &builder) {
  Matrices matrices(builder);
  auto op = builder.create<aten::LinalgEighOp>(matrices.makeSymmetric());
  int64_t result = builder.getRandom().between(0, 1);
  return matrices.offer(op->getResult(result), /*isSquared=*/result == 1);
}

static bool buildSvd(ProgramBuilder &builder) {
  Matrices matrices(builder);
  auto op = builder.create<aten::LinalgSvdOp>(matrices.makeAny());
  int64_t result = builder.getRandom().between(0, 2);
  return matrices.offer(op->getResult(result), /*isSquared=*/result != 1);
}

ArrayRef<OperatorEntry> linearEntries() {
  static constexpr OperatorEntry entries[] = {
      {"aten.grouped_mm", 2, buildGroupedMm},
      {"aten.linear", 8, buildLinear},
      {"aten.linalg_cholesky_ex", 1, buildCholesky},
      {"aten.linalg_eigh", 1, buildEigh},
      {"aten.linalg_lu_factor_ex", 1, buildLuFactor},
      {"aten.linalg_qr", 1, buildQr},
      {"aten.linalg_solve_triangular", 1, buildSolveTriangular},
      {"aten.linalg_svd", 1, buildSvd},
      {"aten.matmul", 4, buildMatmul},
      {"aten.scaled_dot_product_attention", 3, buildAttention},
  };
  return entries;
}

} // namespace shardc::fuzz
