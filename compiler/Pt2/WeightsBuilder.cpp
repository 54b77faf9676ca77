//===- WeightsBuilder.cpp - Fills Weights ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The checks that make a WeightEntry safe to read: all arithmetic on sizes from
// the file is done here, once, with overflow detected.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/WeightsBuilder.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/ZipArchive.h"

#include <array>
#include <set>
#include <span>
#include <tuple>

namespace shardc::pt2 {

namespace {

/// A tensor may repeat the elements of its storage (stride 0), so a small file
/// can describe a huge tensor. Beyond this many bytes it may not.
constexpr int64_t maximumExpandedBytes = int64_t(1) << 30;

/// Most dimensions of a tensor, as in PyTorch. A pickle can give many tensors
/// the sizes of one, so that their number alone does not bound the memory.
constexpr size_t maximumRank = 64;

int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    fail(errors::inconsistentProgram, "the tensor's size overflows 64 bits");
  return product;
}

int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    fail(errors::inconsistentProgram, "the tensor's size overflows 64 bits");
  return sum;
}

void checkNotNegative(int64_t value, const char *what) {
  if (value < 0)
    fail(errors::inconsistentProgram, "the tensor has a negative " +
                                          std::string(what) + ", " +
                                          std::to_string(value));
}

/// Bytes of the tensor's elements when they are contiguous.
int64_t contiguousBytes(const WeightEntry &entry) {
  int64_t bytes = byteSize(entry.dtype);
  bool isEmpty = false;
  for (int64_t size : entry.sizes) {
    isEmpty |= size == 0;
    bytes = multiply(bytes, std::max<int64_t>(size, 1));
  }
  return isEmpty ? 0 : bytes;
}

/// Bytes from the start of the storage to the end of the last element. Only
/// for tensors with elements.
int64_t requiredBytes(const WeightEntry &entry) {
  int64_t last = entry.storageOffset;
  for (size_t i = 0; i < entry.sizes.size(); ++i)
    last = add(last, multiply(entry.sizes[i] - 1, entry.strides[i]));
  return multiply(add(last, 1), byteSize(entry.dtype));
}

void checkWindow(const WeightEntry &entry, int64_t storageBytes) {
  if (entry.sizes.size() > maximumRank)
    fail(errors::inputLimit,
         "the tensor has " + std::to_string(entry.sizes.size()) +
             " dimensions, the limit is " + std::to_string(maximumRank));
  for (int64_t size : entry.sizes)
    checkNotNegative(size, "size");
  for (int64_t stride : entry.strides)
    checkNotNegative(stride, "stride");
  checkNotNegative(entry.storageOffset, "storage offset");
  int64_t bytes = contiguousBytes(entry);
  if (bytes == 0)
    return;
  int64_t required = requiredBytes(entry);
  if (storageBytes == 0)
    return;
  if (required > storageBytes)
    fail(errors::shortPayload, "expected a payload of at least " +
                                   std::to_string(required) + " bytes, got " +
                                   std::to_string(storageBytes));
  if (bytes > storageBytes && bytes > maximumExpandedBytes)
    fail(errors::inputLimit, "the tensor repeats a payload of " +
                                 std::to_string(storageBytes) + " bytes to " +
                                 std::to_string(bytes) + ", the limit is " +
                                 std::to_string(maximumExpandedBytes));
}

} // namespace

namespace {

/// What distinguishes the windows of tensors on their storages.
using Window = std::tuple<size_t, ScalarType, int64_t, std::vector<int64_t>,
                          std::vector<int64_t>>;

/// Limits what all tensors together may copy out of their storages: several
/// times what is in the file, besides what one tensor may repeat.
void checkTotal(const NameMap<WeightEntry> &entries, int64_t storedBytes) {
  constexpr int64_t copies = 4;
  std::set<Window> windows;
  int64_t total = 0;
  for (const auto &[name, entry] : entries)
    if (windows
            .emplace(entry.storage, entry.dtype, entry.storageOffset,
                     entry.sizes, entry.strides)
            .second)
      total = add(total, contiguousBytes(entry));
  if (storedBytes > 0 &&
      total / copies > storedBytes + maximumExpandedBytes / copies)
    fail(errors::inputLimit, "the tensors repeat payloads of " +
                                 std::to_string(storedBytes) + " bytes to " +
                                 std::to_string(total));
}

} // namespace

Weights WeightsBuilder::take() {
  int64_t storedBytes = 0;
  for (const Weights::Storage &storage : weights.storages)
    storedBytes += storage.bytes;
  checkTotal(weights.byName, storedBytes);
  return std::move(weights);
}

size_t WeightsBuilder::addStorage(std::shared_ptr<const ZipArchive> archive,
                                  size_t entryIndex) {
  auto [position, isNew] = storageByEntry.try_emplace(
      {archive.get(), entryIndex}, weights.storages.size());
  if (isNew) {
    auto bytes =
        static_cast<int64_t>(archive->entries()[entryIndex].payload.size());
    weights.storages.push_back({std::move(archive), entryIndex, bytes});
  }
  return position->second;
}

void WeightsBuilder::addTensor(const std::string &name, WeightEntry entry) {
  checkWindow(entry, weights.storages[entry.storage].bytes);
  if (!weights.byName.emplace(name, std::move(entry)).second)
    fail(errors::inconsistentProgram,
         "the archive has two tensors called '" + name + "'");
}

void WeightsBuilder::setShared(const std::vector<NameGroup> &groups) {
  auto moveToNewStorage = [&](std::span<WeightEntry *const> entries) {
    size_t storage = weights.storages.size();
    weights.storages.push_back({.isShownByNotes = true});
    for (WeightEntry *entry : entries)
      entry->storage = storage;
  };
  for (auto &[name, entry] : weights.byName)
    if (!weights.hasData(entry))
      moveToNewStorage(std::array{&entry});
  std::set<std::string_view> seen;
  for (const NameGroup &names : groups) {
    std::vector<WeightEntry *> entries;
    for (const std::string &name : names) {
      if (!seen.insert(name).second)
        fail(errors::inconsistentProgram,
             "shardc.json names '" + name +
                 "' twice among tensors that share memory");
      auto found = weights.byName.find(name);
      if (found == weights.byName.end())
        fail(errors::inconsistentProgram,
             "shardc.json says that '" + name +
                 "' shares memory, and the archive has no such tensor");
      if (!weights.hasData(found->second))
        entries.push_back(&found->second);
    }
    moveToNewStorage(entries);
  }
}

} // namespace shardc::pt2
