//===- IndexingKernels.cpp - Look-ups and constants as loop nests ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding is a gather of rows, a scatter the inverse of a gather. The
// runtime checks its inputs against the bounds in the artifact; an index that a
// model computes itself is checked here.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace shardc {

/// A row that the table has not is NaN, which the loss shows; PyTorch raises.
static void buildEmbedding(aten::EmbeddingOp op,
                           aten::EmbeddingOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  int64_t last = type.getRank() - 1;
  int64_t rows = tensorTypeOf(inputs.getWeight()).getDimSize(0);
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, last));
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, type,
                readAt(inputs.getIndices(), leading, type.getRank()),
                [&](LoopBody &body) {
                  auto [row, isRow] = indexBelow(body[0], rows);
                  Scalar element =
                      body.extract(inputs.getWeight(), {row, body.index(last)});
                  return select(isRow, element,
                                element.constant(
                                    std::numeric_limits<double>::quiet_NaN()));
                }));
}

/// What stands for an element that there is not: NaN, which the loss shows, or
/// 0 of integers; PyTorch raises.
static Scalar lostElement(Scalar like) {
  return like.constant(isa<FloatType>(like.getType())
                           ? std::numeric_limits<double>::quiet_NaN()
                           : 0);
}

static void buildGather(aten::GatherOp op, aten::GatherOp::Adaptor inputs,
                        KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  RankedTensorType self = tensorTypeOf(inputs.getSelf());
  auto dim = static_cast<int64_t>(op.getDim());
  // A tensor without dimensions has one place.
  int64_t size = self.getRank() == 0 ? 1 : self.getDimSize(dim);
  auto loops = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type,
      readAt(inputs.getIndex(), loops, type.getRank()), [&](LoopBody &body) {
        auto [place, isPlace] = indexBelow(body[0], size);
        SmallVector<Scalar> places;
        for (int64_t i = 0; i < self.getRank(); ++i)
          places.push_back(i == dim ? place : body.index(i));
        Scalar element = body.extract(inputs.getSelf(), places);
        element = element.to(computeType(element.getType()));
        return select(isPlace, element, lostElement(element));
      }));
}

namespace {

/// The loops of `self[:, i, j, :]`: those of the index tensors, which come
/// where the first of their neighbouring dimensions is or else first, and one
/// for each whole dimension.
struct IndexedLoops {
  IndexedLoops(RankedTensorType self, ArrayRef<int64_t> dims, int64_t rank)
      : common(rank - self.getRank() + static_cast<int64_t>(dims.size())),
        loopOf(self.getRank(), -1) {
    bool areNeighbours =
        dims.back() - dims.front() == static_cast<int64_t>(dims.size()) - 1;
    first = areNeighbours ? dims.front() : 0;
    int64_t next = 0;
    for (int64_t dim = 0; dim < self.getRank(); ++dim) {
      if (llvm::is_contained(dims, dim))
        continue;
      if (next == first)
        next += common;
      loopOf[dim] = next++;
    }
  }

  /// An index tensor in a nest of `rank` loops.
  Read readIndex(Value index, int64_t rank) const {
    RankedTensorType type = tensorTypeOf(index);
    SmallVector<int64_t> at;
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      at.push_back(size == 1 ? -1
                             : first + common - type.getRank() +
                                   static_cast<int64_t>(i));
    return readAt(index, at, rank);
  }

  /// The number of the index tensors' loops, and the first of them.
  int64_t common, first;
  /// The loop of each whole dimension, -1 for those with an index.
  SmallVector<int64_t> loopOf;
};

} // namespace

/// A negative index counts from the end.
static std::pair<Scalar, Scalar> wrappedIndex(Scalar index, int64_t size) {
  Scalar isNegative = index <= index.constant(-1);
  Scalar behind = index + index.constant(static_cast<double>(size));
  return indexBelow(select(isNegative, behind, index), size);
}

static void buildIndex(aten::IndexOp op, aten::IndexOp::Adaptor inputs,
                       KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  RankedTensorType self = tensorTypeOf(inputs.getSelf());
  ArrayRef<int64_t> dims = op.getDims();
  IndexedLoops loops(self, dims, type.getRank());
  auto reads = llvm::map_to_vector(inputs.getIndices(), [&](Value index) {
    return loops.readIndex(index, type.getRank());
  });
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, reads, [&](LoopBody &body) {
        SmallVector<Scalar> places;
        std::optional<Scalar> areThere;
        for (auto [dim, loop] : llvm::enumerate(loops.loopOf)) {
          if (loop >= 0) {
            places.push_back(body.index(loop));
            continue;
          }
          auto number = llvm::find(dims, static_cast<int64_t>(dim));
          auto [place, isPlace] =
              wrappedIndex(body[number - dims.begin()], self.getDimSize(dim));
          places.push_back(place);
          areThere = areThere ? *areThere & isPlace : isPlace;
        }
        Scalar element = body.extract(inputs.getSelf(), places);
        element = element.to(computeType(element.getType()));
        return select(*areThere, element, lostElement(element));
      }));
}

/// `tensor`, read through `read`, as `type`.
static Value buildConverted(const Read &read, RankedTensorType type,
                            KernelBuilder &kernel) {
  return pointwise(kernel.builder, kernel.location, type, read,
                   [](LoopBody &body) { return body[0]; });
}

static void buildIndexPut(aten::IndexPutOp op, aten::IndexPutOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  ArrayRef<int64_t> dims = op.getDims();
  FailureOr<SmallVector<int64_t>> shape = op.getIndexedShape();
  int64_t rank = shape->size();
  IndexedLoops loops(type, dims, rank);
  // Each input of a scatter has all of its loops.
  SmallVector<Value> scattered;
  for (Value index : inputs.getIndices())
    scattered.push_back(buildConverted(loops.readIndex(index, rank),
                                       tensorTypeOf(index).clone(*shape),
                                       kernel));
  auto wide = type.clone(computeType(type.getElementType()));
  scattered.push_back(buildConverted(readBroadcast(inputs.getValues(), rank),
                                     wide.clone(*shape), kernel));
  Value whole = buildConverted(readBroadcast(inputs.getSelf(), type.getRank()),
                               wide, kernel);
  Value result =
      scatter(kernel.builder, kernel.location, scattered, whole, loops.loopOf,
              [&](LoopBody &body, Scalar before) -> Scattered {
                Scattered scattered{{}, body[dims.size()]};
                if (op.getAccumulate())
                  scattered.element = before + scattered.element;
                for (auto [number, dim] : llvm::enumerate(dims)) {
                  auto [place, isPlace] =
                      wrappedIndex(body[number], type.getDimSize(dim));
                  scattered.indices.push_back(place);
                  Scalar lost = isa<FloatType>(before.getType())
                                    ? lostElement(before)
                                    : before;
                  scattered.element = select(isPlace, scattered.element, lost);
                }
                return scattered;
              });
  kernel.results.push_back(
      wide == type ? result
                   : buildConverted(readBroadcast(result, type.getRank()), type,
                                    kernel));
}

/// The only element of a tensor, in a nest without loops.
static Read readScalar(Value tensor) {
  return readAt(tensor,
                SmallVector<int64_t>(tensorTypeOf(tensor).getRank(), -1), 0);
}

/// `self` with `combine(before, element of src)` at `index` along `dim`, in the
/// order of the index's elements. An index that there is not gives NaN, or
/// leaves integers as they are; PyTorch raises.
static Value buildScattered(Value self, Value index, Value src, int64_t dim,
                            function_ref<Scalar(Scalar, Scalar)> combine,
                            KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  if (type.getRank() == 0) // One place.
    return pointwise(kernel.builder, kernel.location, type,
                     {readAt(self, {}, 0), readScalar(index), readScalar(src)},
                     [&](LoopBody &body) {
                       auto [place, isPlace] = indexBelow(body[1], 1);
                       return select(isPlace, combine(body[0], body[2]),
                                     lostElement(body[0]));
                     });
  auto loops = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  loops[dim] = -1;
  // Sums of 16-bit elements are rounded once.
  auto wide = type.clone(computeType(type.getElementType()));
  bool isWide = wide == type;
  auto converted = [&](Value tensor, RankedTensorType to) {
    return pointwise(kernel.builder, kernel.location, to,
                     readBroadcast(tensor, to.getRank()),
                     [](LoopBody &body) { return body[0]; });
  };
  Value result = scatter(
      kernel.builder, kernel.location, {index, src},
      isWide ? self : converted(self, wide), loops,
      [&](LoopBody &body, Scalar before) -> Scattered {
        auto [place, isPlace] = indexBelow(body[0], type.getDimSize(dim));
        Scalar lost =
            isa<FloatType>(before.getType())
                ? before.constant(std::numeric_limits<double>::quiet_NaN())
                : before;
        return {{place}, select(isPlace, combine(before, body[1]), lost)};
      });
  return isWide ? result : converted(result, type);
}

static void buildScatter(aten::ScatterOp op, aten::ScatterOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  kernel.results.push_back(buildScattered(
      inputs.getSelf(), inputs.getIndex(), inputs.getSrc(), op.getDim(),
      [](Scalar, Scalar b) { return b; }, kernel));
}

/// The greater or smaller one; NaN stays NaN.
static Scalar extremum(Scalar a, Scalar b, bool isGreatest) {
  Scalar chosen = isGreatest ? select(a <= b, b, a) : select(b <= a, b, a);
  if (!isa<FloatType>(a.getType()))
    return chosen;
  return select(notEqual(b, b), b, chosen);
}

static void buildScatterReduce(aten::ScatterReduceOp op,
                               aten::ScatterReduceOp::Adaptor inputs,
                               KernelBuilder &kernel) {
  auto combine = [&](Scalar a, Scalar b) {
    switch (op.getReduce()) {
    case aten::ScatterReduction::sum:
      return a + b;
    case aten::ScatterReduction::prod:
      return a * b;
    default:
      return extremum(a, b, op.getReduce() == aten::ScatterReduction::amax);
    }
  };
  kernel.results.push_back(buildScattered(inputs.getSelf(), inputs.getIndex(),
                                          inputs.getSrc(), op.getDim(), combine,
                                          kernel));
}

/// Whether `value` counts 0, 1, 2, …
static bool isCounting(ElementsAttr value) {
  auto elements = dyn_cast<DenseIntElementsAttr>(value);
  if (!elements || elements.getElementType().isInteger(1))
    return false;
  for (auto [i, element] : llvm::enumerate(elements.getValues<APInt>()))
    if (element.getSExtValue() != static_cast<int64_t>(i))
      return false;
  return true;
}

/// Counting numbers need no memory, all else is a constant of the code.
static void buildConstant(aten::ConstantOp op, aten::ConstantOp::Adaptor,
                          KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  if (isCounting(op.getValue())) {
    kernel.results.push_back(
        exec::IotaOp::create(kernel.builder, kernel.location, type));
    return;
  }
  auto value = cast<TypedAttr>(op.getValue());
  kernel.results.push_back(
      arith::ConstantOp::create(kernel.builder, kernel.location, value));
}

void attachIndexingKernels(MLIRContext *context) {
  using namespace aten;
  EmbeddingOp::attachInterface<KernelModel<EmbeddingOp, buildEmbedding>>(
      *context);
  GatherOp::attachInterface<KernelModel<GatherOp, buildGather>>(*context);
  IndexOp::attachInterface<KernelModel<IndexOp, buildIndex>>(*context);
  IndexPutOp::attachInterface<KernelModel<IndexPutOp, buildIndexPut>>(*context);
  ScatterOp::attachInterface<KernelModel<ScatterOp, buildScatter>>(*context);
  ScatterReduceOp::attachInterface<
      KernelModel<ScatterReduceOp, buildScatterReduce>>(*context);
  ConstantOp::attachInterface<KernelModel<ConstantOp, buildConstant>>(*context);
}

} // namespace shardc
