//===- Weights.cpp - The tensors of a .pt2 archive ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Look-ups, alias groups, and the copy from a strided window of a storage to
// contiguous bytes.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/Weights.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/ZipArchive.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardc::pt2 {

static_assert(std::endian::native == std::endian::little,
              "payloads are little-endian and are copied as they are");

namespace {

bool isContiguous(const WeightEntry &entry) {
  int64_t expected = 1;
  for (size_t i = entry.sizes.size(); i-- > 0;) {
    if (entry.sizes[i] != 1 && entry.strides[i] != expected)
      return false;
    expected *= entry.sizes[i];
  }
  return true;
}

/// Copies the elements of `entry`, which starts at `source`, to `target` in
/// row-major order. The last dimension is the inner loop; `index` counts
/// through the others like an odometer.
void copyStrided(const WeightEntry &entry, const std::byte *source,
                 std::byte *target) {
  int64_t width = byteSize(entry.dtype);
  size_t outer = entry.sizes.size() - 1;
  int64_t innerSize = entry.sizes[outer];
  int64_t innerStride = entry.strides[outer];
  std::vector<int64_t> index(outer, 0);
  int64_t offset = 0;
  for (;;) {
    for (int64_t i = 0; i < innerSize; ++i, target += width)
      std::memcpy(target, source + (offset + i * innerStride) * width,
                  static_cast<size_t>(width));
    size_t dimension = outer;
    for (;;) {
      if (dimension == 0)
        return;
      --dimension;
      offset += entry.strides[dimension];
      if (++index[dimension] < entry.sizes[dimension])
        break;
      offset -= entry.strides[dimension] * entry.sizes[dimension];
      index[dimension] = 0;
    }
  }
}

bool isSameWindow(const WeightEntry &a, const WeightEntry &b) {
  return a.dtype == b.dtype && a.storageOffset == b.storageOffset &&
         a.sizes == b.sizes && a.strides == b.strides;
}

} // namespace

int64_t WeightEntry::elementCount() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size == 0)
      return 0;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

const WeightEntry *Weights::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &found->second;
}

bool Weights::hasData(const WeightEntry &entry) const {
  return storages[entry.storage].bytes > 0 || entry.elementCount() == 0;
}

bool Weights::isWeightFree() const {
  return std::ranges::any_of(
      byName, [&](const auto &named) { return !hasData(named.second); });
}

bool Weights::isSharingKnown() const {
  return std::ranges::all_of(byName, [&](const auto &named) {
    return hasData(named.second) ||
           storages[named.second.storage].isShownByNotes;
  });
}

std::vector<NameGroup> Weights::sharedStorages() const {
  std::vector<NameGroup> namesByStorage(storages.size());
  for (const auto &[name, entry] : byName)
    if (const Storage &storage = storages[entry.storage];
        storage.bytes > 0 || storage.isShownByNotes)
      namesByStorage[entry.storage].push_back(name);

  std::erase_if(namesByStorage,
                [](const NameGroup &names) { return names.size() < 2; });
  std::ranges::sort(namesByStorage);
  return namesByStorage;
}

std::vector<NameGroup> Weights::tiedNames() const {
  std::vector<NameGroup> groups;
  for (const NameGroup &storage : sharedStorages()) {
    std::vector<NameGroup> windows;
    for (const std::string &name : storage) {
      auto same = std::ranges::find_if(windows, [&](const NameGroup &names) {
        return isSameWindow(*find(names.front()), *find(name));
      });
      if (same == windows.end())
        windows.push_back({name});
      else
        same->push_back(name);
    }
    for (NameGroup &names : windows)
      if (names.size() > 1)
        groups.push_back(std::move(names));
  }
  std::ranges::sort(groups);
  return groups;
}

StatusOr<std::vector<std::byte>>
Weights::readTensor(std::string_view name) const {
  return catchFailure<std::vector<std::byte>>([&] {
    const WeightEntry *entry = find(name);
    if (!entry)
      fail(errors::missingWeights,
           "the archive has no tensor '" + std::string(name) + "'");
    if (!hasData(*entry))
      fail(errors::weightFree,
           "tensor '" + std::string(name) +
               "' has no data: the model was exported without weights",
           "give the weights in a safetensors file");
    int64_t elements = entry->elementCount();
    int64_t width = byteSize(entry->dtype);
    std::vector<std::byte> result(static_cast<size_t>(elements * width));
    if (elements == 0)
      return result;
    const Storage &storage = storages[entry->storage];
    const std::byte *source = storage.archive->read(storage.entryIndex).data() +
                              entry->storageOffset * width;
    if (isContiguous(*entry))
      std::memcpy(result.data(), source, result.size());
    else
      copyStrided(*entry, source, result.data());
    return result;
  });
}

} // namespace shardc::pt2
