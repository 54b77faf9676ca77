//===- SynchronizeBuffers.cpp - Buffers that all ranks share --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.buffer @codebook sync mean : tensor<8x4xf32>
//
//   fsdp.write %0, @codebook  ->  %1 = fsdp.sum_over_ranks %0
//                                 %2 = fsdp.scalar ranks
//                                 %3 = aten.div %1, %2
//                                 fsdp.write %3, @codebook
//
// and says once where ranks write different values without such a rule.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Groups.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-synchronize-buffers"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SYNCHRONIZEBUFFERSPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct SynchronizeBuffersPass
    : impl::SynchronizeBuffersPassBase<SynchronizeBuffersPass> {
  void runOnOperation() override;
};

/// The last write of each buffer, which decides what it holds.
using LastWrites = llvm::MapVector<StringRef, fsdp::WriteOp>;

/// Which values of a step are those of one rank: computed from its samples,
/// from random numbers, or from buffers that are so.
class RankValues {
public:
  RankValues(Block &body, const LastWrites &writes, const SymbolTable &symbols);

  bool isOwn(fsdp::WriteOp write) const {
    return values.contains(write.getValue());
  }

private:
  bool mark(Operation &op);
  bool isOwn(Operation &op) const;

  DenseSet<Value> values;
  llvm::StringSet<> buffers;
};
} // namespace

/// Whether the buffer is the same on all ranks whatever they write.
static bool isShared(fsdp::BufferOp buffer) {
  return buffer && buffer.getSync() &&
         buffer.getSync() != fsdp::BufferSync::none;
}

RankValues::RankValues(Block &body, const LastWrites &writes,
                       const SymbolTable &symbols) {
  values.insert(body.getArguments().begin(), body.getArguments().end());
  // A buffer that ranks write makes what is read from it their own.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (Operation &op : body)
      isChanged |= mark(op);
    for (const auto &[name, write] : writes)
      if (isOwn(write) && !isShared(symbols.lookup<fsdp::BufferOp>(name)))
        isChanged |= buffers.insert(name).second;
  }
}

bool RankValues::isOwn(Operation &op) const {
  if (isa<fsdp::SumOverRanksOp, fsdp::BroadcastOp>(op))
    return false;
  if (auto read = dyn_cast<fsdp::ReadOp>(op))
    return buffers.contains(read.getSymbol());
  return isa<aten::RandOp, aten::RandnOp, aten::DropoutOp>(op) ||
         llvm::any_of(op.getOperands(),
                      [&](Value value) { return values.contains(value); });
}

bool RankValues::mark(Operation &op) {
  bool isChanged = false;
  if (isOwn(op))
    for (Value result : op.getResults())
      isChanged |= values.insert(result).second;
  return isChanged;
}

static LastWrites lastWritesOf(Block &body) {
  LastWrites writes;
  for (auto write : body.getOps<fsdp::WriteOp>())
    writes[write.getSymbol()] = write;
  return writes;
}

/// Whether what is written is computed from what the buffer holds.
static bool isAddition(fsdp::WriteOp write) {
  BackwardSliceOptions options;
  options.inclusive = true;
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(write.getValue(), &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    auto read = dyn_cast<fsdp::ReadOp>(op);
    return read && read.getSymbol() == write.getSymbol();
  });
}

/// What all ranks keep of `value`, which each of them would write.
static Value combine(aten::Composition &c, fsdp::WriteOp write,
                     fsdp::BufferSync sync) {
  Value value = write.getValue();
  if (sync == fsdp::BufferSync::broadcast)
    return c.create<fsdp::BroadcastOp>(value.getType(), value);
  Type own = aten::elementOf(value);
  // Integers below 2^53 add up exactly in f64.
  Value term = isa<FloatType>(own)
                   ? c.wide(value)
                   : c.to(value, Float64Type::get(write.getContext()));
  auto total = [&](Value each) {
    return c.create<fsdp::SumOverRanksOp>(each.getType(), each);
  };
  if (sync == fsdp::BufferSync::mean) {
    auto number =
        RankedTensorType::get({}, IntegerType::get(write.getContext(), 64));
    Value ranks = c.create<fsdp::ScalarOp>(number, fsdp::Scalar::ranks);
    return c.to(c.div(total(term), c.to(ranks, aten::elementOf(term))), own);
  }
  if (!isAddition(write))
    return c.to(total(term), own);
  Value before =
      c.to(c.create<fsdp::ReadOp>(value.getType(), write.getSymbolAttr()),
           aten::elementOf(term));
  return c.to(c.add(before, total(c.sub(term, before))), own);
}

/// Ranks' own values are no error: FSDP2 has them, too.
static void warn(fsdp::WriteOp write, size_t count) {
  InFlightDiagnostic warning = write.emitWarning();
  warning << "each rank keeps values of its own in " << count << " buffer"
          << (count == 1 ? "" : "s") << " that forward writes, such as '"
          << write.getSymbol() << "'; those of rank 0 are saved";
  warning.attachNote()
      << "help: --buffer-rules '" << write.getSymbol()
      << ":sync=mean' keeps the mean over ranks; sum adds up "
         "the changes of all ranks, broadcast copies rank 0's values, and "
         "none keeps each rank's own";
}

static bool isStatistic(Value value) {
  if (auto conversion = value.getDefiningOp<aten::ToOp>())
    value = conversion.getSelf();
  return value.getDefiningOp<aten::BatchNormOp>() != nullptr;
}

void SynchronizeBuffersPass::runOnOperation() {
  auto step = functions::find(getOperation(), functions::step);
  if (!step)
    return;
  Block &body = step.getBody().front();
  SymbolTable symbols(getOperation());
  LastWrites writes = lastWritesOf(body);
  RankValues own(body, writes, symbols);
  fsdp::WriteOp first;
  size_t count = 0;
  for (auto &[name, write] : writes) {
    auto buffer = symbols.lookup<fsdp::BufferOp>(name);
    if (!buffer)
      continue;
    if (isShared(buffer)) {
      OpBuilder builder(write);
      aten::Composition c(builder, write.getLoc());
      Value shared = combine(c, write, *buffer.getSync());
      write.getValueMutable().assign(shared);
    } else if (!buffer.getSync() && own.isOwn(write) &&
               !isStatistic(write.getValue())) {
      first = first ? first : write;
      ++count;
    }
  }
  if (first && getRanks(getOperation()) > 1)
    warn(first, count);
}

} // namespace shardc
