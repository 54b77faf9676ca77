//===- RowExponentials.cpp - Sums of exp(element - largest) of rows -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows as a whole, or parts of rows and then what their sums come to.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/RowExponentials.h"

#include "dialects/Aten/ElementBytes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/Sequence.h"

#include <limits>

using namespace mlir;

namespace shardc {

namespace {

/// Loops over rows, the last one or `dim` reduced, and what each iteration
/// reads.
struct ExponentialLoops {
  SmallVector<int64_t> sizes;
  int64_t dim;
  Read elements;
  /// A tensor that says how long a part is; nothing is read of it.
  std::optional<Read> length;

  SmallVector<int64_t> others() const {
    auto loops = llvm::to_vector(
        llvm::seq<int64_t>(0, static_cast<int64_t>(sizes.size())));
    loops.erase(loops.begin() + dim);
    return loops;
  }
  Read common(Value ofRows) const {
    return readAt(ofRows, others(), static_cast<int64_t>(sizes.size()));
  }
};

} // namespace

/// The parts of a row of `size` elements that are near when they are read
/// again: as few as divide it, and of whole vectors if the row is. 1 where it
/// is near as a whole, or only parts are that are too short for a block.
static int64_t countParts(int64_t size, int64_t elementBytes,
                          int64_t nearBytes) {
  constexpr int64_t vectorBytes = 16, shortest = 16;
  if (nearBytes == 0 || size * elementBytes <= nearBytes)
    return 1;
  int64_t found = 1;
  for (int64_t parts = 2; parts <= size; ++parts) {
    const int64_t bytes = size / parts * elementBytes;
    if (bytes < nearBytes / shortest)
      break;
    if (size % parts != 0 || bytes > nearBytes)
      continue;
    if (bytes % vectorBytes == 0 || size * elementBytes % vectorBytes != 0)
      return parts;
    if (found == 1)
      found = parts;
  }
  return found;
}

static ExponentialLoops wholeRows(Value self, int64_t dim) {
  RankedTensorType type = tensorTypeOf(self);
  const int64_t rank = type.getRank();
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  // Each loop reads, also those of size 1.
  return {SmallVector<int64_t>(type.getShape()), dim, readAt(self, all, rank),
          std::nullopt};
}

/// Rows along the last dimension, each as `parts` parts.
static ExponentialLoops dividedRows(Value self, int64_t parts,
                                    KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  const int64_t rank = type.getRank(), length = type.getShape().back() / parts;
  MLIRContext *context = type.getContext();
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < rank; ++i)
    places.push_back(getAffineDimExpr(i, context));
  AffineExpr inside = getAffineDimExpr(rank, context);
  places.back() = places.back() * length + inside;
  Value lengths = tensor::EmptyOp::create(kernel.builder, kernel.location,
                                          length, kernel.builder.getI1Type());
  ExponentialLoops loops{
      SmallVector<int64_t>(type.getShape()), rank,
      Read{self, AffineMap::get(rank + 1, 0, places, context)},
      Read{lengths, AffineMap::get(rank + 1, 0, inside)}};
  loops.sizes.back() = parts;
  loops.sizes.push_back(length);
  return loops;
}

/// 0 in place of -infinity: what is taken away from the elements of a part that
/// has no other.
static Scalar replaceMinusInfinity(Scalar largest) {
  Scalar min = largest.constant(-std::numeric_limits<double>::infinity());
  return select(equal(largest, min), largest.constant(0), largest);
}

Scalar withoutSubnormal(Scalar value) {
  const double smallest = value.getType().isF64() ? 0x1p-1022 : 0x1p-126;
  return select(value < value.constant(smallest), value.constant(0), value);
}

Scalar exponentialOf(Scalar below) {
  // Above the logarithm of the smallest normal number; no subnormal number is
  // computed and then dropped.
  Scalar bound = below.constant(below.getType().isF64() ? -708.396 : -87.3365);
  Scalar isNothing = below < bound;
  Scalar result = exp(select(isNothing, bound, below));
  return select(isNothing, below.constant(0), result);
}

static Value buildLargest(const ExponentialLoops &loops, Type element,
                          KernelBuilder &kernel) {
  SmallVector<Read> reads = {loops.elements};
  if (loops.length)
    reads.push_back(*loops.length);
  return reduce(kernel.builder, kernel.location, loops.sizes, {loops.dim},
                element, Combiner::MaximumNumber, reads, 1,
                [](LoopBody &body) -> SmallVector<Scalar> { return {body[0]}; })
      .front();
}

/// The largest elements and the sums of rows, or of their parts.
static RowExponentials buildRows(const ExponentialLoops &loops, Type element,
                                 FloatType accumulator, bool onesApart,
                                 KernelBuilder &kernel) {
  Value largest = buildLargest(loops, element, kernel);
  SmallVector<Read> reads = {loops.elements, loops.common(largest)};
  if (loops.length)
    reads.push_back(*loops.length);
  SmallVector<Value> sums = reduce(
      kernel.builder, kernel.location, loops.sizes, {loops.dim}, accumulator,
      Combiner::Add, reads, onesApart ? 2 : 1,
      [&](LoopBody &body) -> SmallVector<Scalar> {
        Scalar below =
            body[0] - (loops.length ? replaceMinusInfinity(body[1]) : body[1]);
        if (!onesApart)
          return {exponentialOf(below)};
        Scalar isLess = notEqual(below, below.constant(0));
        return {select(isLess, exp(below), below.constant(0)),
                select(isLess, below.constant(0), below.constant(1))};
      });
  return {largest, sums[0], onesApart ? sums[1] : Value()};
}

/// What the parts' sums come to. Where the largest element of a part is not the
/// row's, its ones are none.
static RowExponentials joinParts(const RowExponentials &parts,
                                 KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(parts.largest);
  ExponentialLoops loops = wholeRows(parts.largest, type.getRank() - 1);
  auto accumulator = cast<FloatType>(tensorTypeOf(parts.sum).getElementType());
  Value largest = buildLargest(loops, type.getElementType(), kernel);
  SmallVector<Read> reads = {loops.elements, loops.common(largest),
                             wholeRows(parts.sum, loops.dim).elements};
  if (parts.ones)
    reads.push_back(wholeRows(parts.ones, loops.dim).elements);
  SmallVector<Value> sums =
      reduce(kernel.builder, kernel.location, loops.sizes, {loops.dim},
             accumulator, Combiner::Add, reads, parts.ones ? 2 : 1,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               Scalar below = body[0] - body[1];
               Scalar factor = exp(below).to(accumulator);
               if (!parts.ones)
                 return {body[2] * factor};
               Scalar isLess = notEqual(below, below.constant(0));
               Scalar none = body[2].constant(0);
               return {select(isLess, (body[2] + body[3]) * factor, body[2]),
                       select(isLess, none, body[3])};
             });
  return {largest, sums[0], parts.ones ? sums[1] : Value()};
}

RowExponentials sumExponentials(Value self, int64_t dim, bool onesApart,
                                KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  Type element = computeType(type.getElementType());
  FloatType accumulator = kernel.accumulatorOf(self);
  const int64_t parts = dim != type.getRank() - 1
                            ? 1
                            : countParts(type.getShape().back(),
                                         getElementBytes(type.getElementType()),
                                         kernel.accumulation.nearRowBytes);
  if (parts == 1)
    return buildRows(wholeRows(self, dim), element, accumulator, onesApart,
                     kernel);
  return joinParts(buildRows(dividedRows(self, parts, kernel), element,
                             accumulator, onesApart, kernel),
                   kernel);
}

} // namespace shardc
