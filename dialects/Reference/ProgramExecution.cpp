//===- ProgramExecution.cpp - Executing commands on bytes -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations, state, and the order of commands; CommandMeanings.cpp has what
// each command does.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ProgramExecution.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/TensorBytes.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace shardc::reference {

/// The tensor that declared memory holds.
static RankedTensorType tensorOf(MemRefType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

ProgramExecution::ProgramExecution(ModuleOp module,
                                   std::optional<uint64_t> order)
    : module(module), references(module) {
  if (order)
    engine.emplace(*order);
  readDeclarations();
  readParameters();
  sections = exec::getSections(*module.getOps<exec::ProgramOp>().begin());
  for (size_t section = 0; section < sections.size(); ++section)
    readCommands(section);
  findCompletions();
}

void ProgramExecution::readDeclarations() {
  RankBytes rank;
  for (Operation &op : *module.getBody()) {
    if (auto state = dyn_cast<exec::StateOp>(op)) {
      states.push_back(state);
      rank.states.emplace_back(exec::getSpanBytes(state.getMemory().getType()));
    }
    if (auto input = dyn_cast<exec::InputOp>(op)) {
      inputs.push_back(input);
      rank.inputs.emplace_back(exec::getSpanBytes(input.getMemory().getType()));
    }
    if (auto scalar = dyn_cast<exec::ScalarOp>(op)) {
      scalars.push_back(scalar);
      rank.scalars.emplace_back(
          exec::getSpanBytes(scalar.getMemory().getType()));
    }
  }
  rank.arena.resize(references.getArenaBytes());
  memory.assign(references.getMesh().ranks(), rank);
  for (auto [number, bytes] : llvm::enumerate(memory))
    bytes.at = references.getMesh().coordinates(static_cast<int64_t>(number));
}

void ProgramExecution::readParameters() {
  SymbolTable symbols(module);
  int64_t segment = 0;
  for (auto group : module.getOps<fsdp::GroupOp>())
    for (auto op : group.getBody().front().getOps<fsdp::SegmentOp>()) {
      for (auto member : op.getBody().front().getOps<fsdp::MemberOp>()) {
        auto parameter =
            symbols.lookup<fsdp::ParameterOp>(member.getParameter());
        places[member.getParameter()] = {
            segment, static_cast<int64_t>(*member.getOffset()),
            cast<RankedTensorType>(parameter.getType())};
      }
      ++segment;
    }
}

static bool overlap(const exec::Reference &a, const exec::Reference &b) {
  return a.space == b.space && a.index == b.index &&
         a.offset < b.offset + b.getBytes() &&
         b.offset < a.offset + a.getBytes();
}

void ProgramExecution::readCommands(size_t section) {
  exec::ComputeOp compute;
  int64_t launches = 0;
  for (Operation &op : sections[section].getBody().front()) {
    if (auto next = dyn_cast<exec::ComputeOp>(op)) {
      compute = next;
      launches = 0;
    }
    auto command = dyn_cast<exec::CommandInterface>(op);
    if (!command)
      continue;
    Entry entry{command, section, nullptr, 0, {}};
    if (compute) {
      entry.compute = compute;
      entry.launch = launches++;
      if (launches == static_cast<int64_t>(compute.getLaunches()))
        compute = nullptr;
    }
    entries.push_back(entry);
  }
}

/// An output is complete after the last launch that writes into it.
void ProgramExecution::findCompletions() {
  llvm::DenseMap<std::pair<Operation *, unsigned>, size_t> last;
  for (auto [i, entry] : llvm::enumerate(entries)) {
    if (!entry.compute)
      continue;
    for (auto [number, output] : llvm::enumerate(entry.compute.getOutputs()))
      for (const auto &[reference, access] :
           references.getOperands(entry.command))
        if (access != exec::Access::read &&
            overlap(reference, references.get(output)))
          last[{entry.compute, number}] = i;
  }
  for (auto &[key, entry] : last)
    entries[entry].completes.push_back(key.second);
}

/// The state of a segment that is `kind`.
std::optional<size_t> ProgramExecution::findState(StringRef kind,
                                                  int64_t segment) const {
  for (auto [i, op] : llvm::enumerate(states)) {
    exec::StateOp state = op;
    if (state.getKind() == kind && state.getSegment() == segment)
      return i;
  }
  return std::nullopt;
}

std::optional<size_t> ProgramExecution::findState(StringRef name) const {
  for (auto [i, op] : llvm::enumerate(states)) {
    exec::StateOp state = op;
    if (state.getName() == name)
      return i;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Which shard of each segment a rank has.
int64_t ProgramExecution::shardOf(int64_t rank) const {
  const format::Mesh &mesh = references.getMesh();
  return mesh.memberNumber(rank, exec::getShardAxes(mesh));
}

void ProgramExecution::setState(const ShardedState &state) {
  SmallVector<StringRef> keys = {ShardedState::parameterKey};
  llvm::append_range(keys, state.getKeys());
  for (const auto &entry : places) {
    const ParameterPlace &place = entry.second;
    for (StringRef key : keys) {
      std::optional<size_t> number = findState(key, place.segment);
      if (!number)
        continue;
      Tensor kept = state.getKept(key, entry.first());
      std::vector<std::byte> bytes = toBytes(kept);
      int64_t size = getElementBytes(kept.getElementType());
      for (int64_t rank = 0; rank < getRanks(); ++rank) {
        RankBytes::Bytes &shard = memory[rank].states[*number];
        format::ShardRun run =
            format::runInShard(place.offset, place.type.getNumElements(),
                               shard.size() / size, shardOf(rank));
        std::copy_n(bytes.begin() + run.inParameter * size, run.count * size,
                    shard.begin() + run.inShard * size);
      }
    }
  }
  for (int64_t rank = 0; rank < getRanks(); ++rank) {
    for (const std::string &name : state.getNumbers())
      memory[rank].states[*findState(name)] = toBytes(state.get(name));
    for (auto [number, op] : llvm::enumerate(states))
      if (op.getRole() == exec::Role::buffer)
        memory[rank].states[number] = toBytes(state.get(op.getName(), rank));
  }
}

Tensor ProgramExecution::getKept(StringRef key, StringRef parameter) const {
  const ParameterPlace &place = places.find(parameter)->second;
  std::optional<size_t> number = findState(key, place.segment);
  Type element = place.type.getElementType();
  if (number)
    element =
        cast<MemRefType>(exec::StateOp(states[*number]).getMemory().getType())
            .getElementType();
  int64_t size = getElementBytes(element);
  std::vector<std::byte> bytes(place.type.getNumElements() * size);
  // Ranks that have the same shard have the same bytes of it.
  for (int64_t rank = 0; number && rank < getRanks(); ++rank) {
    const RankBytes::Bytes &shard = memory[rank].states[*number];
    format::ShardRun run =
        format::runInShard(place.offset, place.type.getNumElements(),
                           shard.size() / size, shardOf(rank));
    std::copy_n(shard.begin() + run.inShard * size, run.count * size,
                bytes.begin() + run.inParameter * size);
  }
  return fromBytes(RankedTensorType::get(place.type.getShape(), element),
                   bytes);
}

Tensor ProgramExecution::getNumber(StringRef name) const {
  size_t number = *findState(name);
  exec::StateOp state = states[number];
  return fromBytes(tensorOf(state.getMemory().getType()),
                   memory[0].states[number]);
}

Tensor ProgramExecution::getBuffer(StringRef name, int64_t rank) const {
  for (auto [number, op] : llvm::enumerate(states)) {
    exec::StateOp state = op;
    if (state.getRole() == exec::Role::buffer && state.getName() == name)
      return fromBytes(tensorOf(state.getMemory().getType()),
                       memory[rank].states[number]);
  }
  llvm_unreachable("the program has the buffer");
}

Tensor ProgramExecution::getLoss(int64_t rank) const {
  size_t number = *findState("loss");
  exec::StateOp state = states[number];
  return fromBytes(tensorOf(state.getMemory().getType()),
                   memory[rank].states[number])
      .reshaped({});
}

void ProgramExecution::setScalars(int64_t rank, format::ScalarValues values) {
  values.shard = shardOf(rank);
  values.ranks = getRanks();
  for (auto [number, op] : llvm::enumerate(scalars)) {
    exec::ScalarOp scalar = op;
    std::array<std::byte, 8> bytes = bytesOf(scalar.getKind(), values);
    memory[rank].scalars[number].assign(bytes.begin(), bytes.end());
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

size_t ProgramExecution::countTogether(size_t number) const {
  exec::ComputeOp compute = entries[number].compute;
  return compute ? static_cast<size_t>(compute.getLaunches()) : 1;
}

FailureOr<std::vector<ProgramExecution::Written>>
ProgramExecution::executeTogether(size_t number) {
  std::vector<Written> written;
  record = &written;
  LogicalResult done = success();
  for (size_t i = 0; i < countTogether(number) && succeeded(done); ++i)
    done = execute(entries[number + i]);
  record = nullptr;
  if (failed(done))
    return failure();
  return written;
}

void ProgramExecution::write(int64_t rank, Value memory, BoundedTensor tensor) {
  exec::Reference reference = references.get(memory);
  writeReference(this->memory[rank], reference, tensor.tensor);
  if (record)
    record->push_back({rank, reference, std::move(tensor)});
}

Tensor ProgramExecution::read(int64_t rank, Value memory) const {
  return readReference(this->memory[rank], references.get(memory));
}

/// The stream that runs next: the one with the earliest command in list order,
/// or any of those whose next command waits for nothing that is to come.
size_t ProgramExecution::choose(ArrayRef<std::vector<size_t>> streams,
                                ArrayRef<size_t> next) {
  SmallVector<size_t> ready;
  for (size_t stream = 0; stream < streams.size(); ++stream) {
    if (next[stream] == streams[stream].size())
      continue;
    exec::CommandInterface command =
        entries[streams[stream][next[stream]]].command;
    if (llvm::all_of(command.getWaits(),
                     [&](int64_t event) { return recorded.contains(event); }))
      ready.push_back(stream);
  }
  assert(!ready.empty() && "verify-program refuses waits that never end");
  if (engine)
    return ready[(*engine)() % ready.size()];
  return *llvm::min_element(ready, [&](size_t a, size_t b) {
    return streams[a][next[a]] < streams[b][next[b]];
  });
}

std::vector<format::Section> ProgramExecution::getSections() const {
  return exec::describeSections(
      *ModuleOp(module).getOps<exec::ProgramOp>().begin());
}

/// Whether the section runs: its condition is the same on every rank.
bool ProgramExecution::holds(exec::SectionOp section) const {
  return !section.getCondition() ||
         read(0, section.getCondition()).integers()[0];
}

LogicalResult ProgramExecution::run(size_t section,
                                    ArrayRef<RankTensors> data) {
  if (!holds(sections[section]))
    return success();
  for (auto [number, tensors] : llvm::enumerate(data))
    for (auto [rank, tensor] : llvm::enumerate(tensors))
      memory[rank].inputs[number] = toBytes(tensor);
  for (RankBytes &rank : memory)
    for (size_t i = 0; i < rank.arena.size(); ++i)
      rank.arena[i] = std::byte(i % 2 ? 0x7F : 0xF4);
  std::vector<std::vector<size_t>> streams;
  size_t left = 0;
  for (auto [i, entry] : llvm::enumerate(entries)) {
    exec::CommandInterface command = entry.command;
    if (entry.section != section)
      continue;
    size_t stream = command.getStream();
    streams.resize(std::max(streams.size(), stream + 1));
    streams[stream].push_back(i);
    ++left;
  }
  recorded.clear();
  SmallVector<size_t> next(streams.size(), 0);
  for (; left > 0; --left) {
    size_t stream = choose(streams, next);
    Entry &entry = entries[streams[stream][next[stream]++]];
    if (failed(execute(entry)))
      return failure();
    if (std::optional<uint64_t> event = entry.command.getRecords())
      recorded.insert(*event);
  }
  return success();
}

} // namespace shardc::reference
