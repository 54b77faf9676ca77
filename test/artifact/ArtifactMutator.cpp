//===- ArtifactMutator.cpp - Damaged artifacts under right digests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every change is drawn from the generator alone, so a seed names a mutant.
//===----------------------------------------------------------------------===//

#include "test/artifact/ArtifactMutator.h"

#include "runtime/format/Sha256.h"
#include "runtime/format/StoredZip.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <zlib.h>

using nlohmann::ordered_json;

namespace shardc::testing {

using Random = std::mt19937_64;

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

ArtifactEntries splitArtifact(std::string_view file) {
  ArtifactEntries entries;
  const auto list = format::readStoredZip(format::bytesOf(file));
  if (list.ok())
    for (const format::ZipEntry &entry : *list)
      entries[entry.name] = format::textOf(entry.content);
  return entries;
}

namespace {
/// Little-endian numbers one behind the other.
struct Record {
  std::string bytes;

  template <typename Integer>
  Record &number(Integer value) {
    for (size_t i = 0; i < sizeof(Integer); ++i)
      bytes += static_cast<char>(value >> (8 * i));
    return *this;
  }
  Record &text(std::string_view value) {
    bytes += value;
    return *this;
  }
};
} // namespace

/// What local and central headers have in common.
static void addSizes(Record &record, const std::string &name,
                     const std::string &content) {
  const uLong checksum = crc32_z(
      0, reinterpret_cast<const Bytef *>(content.data()), content.size());
  record.number(uint16_t(10)).number(uint16_t(0)).number(uint16_t(0));
  record.number(uint16_t(0)).number(uint16_t(33));
  record.number(static_cast<uint32_t>(checksum));
  record.number(static_cast<uint32_t>(content.size()));
  record.number(static_cast<uint32_t>(content.size()));
  record.number(static_cast<uint16_t>(name.size())).number(uint16_t(0));
}

static std::string zip(const ArtifactEntries &entries) {
  Record file, directory;
  for (const auto &[name, content] : entries) {
    const auto offset = static_cast<uint32_t>(file.bytes.size());
    file.number(uint32_t(0x04034b50));
    addSizes(file, name, content);
    file.text(name).text(content);
    directory.number(uint32_t(0x02014b50)).number(uint16_t(10));
    addSizes(directory, name, content);
    directory.number(uint16_t(0)).number(uint16_t(0)).number(uint16_t(0));
    directory.number(uint32_t(0)).number(offset).text(name);
  }
  const auto count = static_cast<uint16_t>(entries.size());
  const auto offset = static_cast<uint32_t>(file.bytes.size());
  file.text(directory.bytes).number(uint32_t(0x06054b50));
  file.number(uint16_t(0)).number(uint16_t(0)).number(count).number(count);
  file.number(static_cast<uint32_t>(directory.bytes.size())).number(offset);
  return file.number(uint16_t(0)).bytes;
}

static ordered_json parse(const std::string &text) {
  return ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

static std::string print(const ordered_json &root) {
  return root.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string joinArtifact(ArtifactEntries entries) {
  ordered_json manifest = parse(entries["manifest.json"]);
  if (manifest.is_object() && manifest.contains("digests") &&
      manifest["digests"].is_object()) {
    for (auto &[name, digest] : manifest["digests"].items())
      if (entries.contains(name))
        digest = format::sha256(std::vector{format::bytesOf(entries[name])});
    entries["manifest.json"] = print(manifest);
  }
  return zip(entries);
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

namespace {
/// A value of a document: the member or the array that it belongs to.
struct Node {
  ordered_json *value;
  std::string key;
};
} // namespace

static size_t below(Random &random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

static void collect(ordered_json &value, const std::string &key,
                    std::vector<Node> &nodes) {
  nodes.push_back({&value, key});
  if (value.is_object())
    for (auto &[name, member] : value.items())
      collect(member, name, nodes);
  if (value.is_array())
    for (ordered_json &element : value)
      collect(element, key, nodes);
}

/// A value that another member of this name has, in the same document.
static const ordered_json &
sibling(const Node &node, const std::vector<Node> &nodes, Random &random) {
  std::vector<const ordered_json *> others;
  for (const Node &other : nodes)
    if (other.key == node.key && other.value->type() == node.value->type() &&
        *other.value != *node.value)
      others.push_back(other.value);
  return others.empty() ? *node.value : *others[below(random, others.size())];
}

static ordered_json otherNumber(const ordered_json &value,
                                const std::vector<Node> &nodes,
                                Random &random) {
  if (value.is_number_float())
    return value.get<double>() * (below(random, 2) ? 2 : -1);
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  const auto number = static_cast<uint64_t>(value.get<int64_t>());
  const uint64_t others[] = {number + 1,
                             number - 1,
                             number * 2,
                             number / 2,
                             number + 64,
                             number - 64,
                             number * 16,
                             0,
                             1,
                             uint64_t(1) << 31,
                             uint64_t(1) << 32,
                             uint64_t(1) << 48,
                             max - number,
                             static_cast<uint64_t>(max)};
  constexpr size_t count = std::size(others);
  const size_t choice = below(random, count + 4);
  if (choice < count)
    return static_cast<int64_t>(others[choice]);
  // A number from anywhere in the document.
  for (int attempt = 0; attempt < 20; ++attempt)
    if (const Node &other = nodes[below(random, nodes.size())];
        other.value->is_number_integer())
      return *other.value;
  return -1;
}

/// Exchanges, removes or repeats elements of an array.
static void changeOrder(ordered_json &array, Random &random) {
  const size_t first = below(random, array.size());
  const size_t second = below(random, array.size());
  switch (below(random, 5)) {
  case 0:
    array.erase(first);
    break;
  case 1:
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(second),
                 ordered_json(array[first]));
    break;
  case 2:
    std::reverse(array.begin(), array.end());
    break;
  default:
    std::swap(array[first], array[second]);
  }
}

/// Removes a member, adds one that is left out where it has its usual value, or
/// exchanges the values of two.
static void changeMembers(ordered_json &object, const std::vector<Node> &nodes,
                          Random &random) {
  static const char *const optional[] = {
      "index",   "offset",      "communicator", "byte",
      "records", "upper_bound", "segment",      "double_double"};
  if (below(random, 2) == 0) {
    const char *const name = optional[below(random, std::size(optional))];
    const ordered_json number =
        otherNumber(ordered_json(below(random, 4)), nodes, random);
    object[name] = number;
    return;
  }
  auto member = [&] {
    auto place = object.begin();
    for (size_t steps = below(random, object.size()); steps > 0; --steps)
      ++place;
    return place;
  };
  if (below(random, 8) == 0)
    object.erase(member());
  else
    std::swap(*member(), *member());
}

static void change(const Node &node, const std::vector<Node> &nodes,
                   Random &random) {
  ordered_json &value = *node.value;
  if (value.is_number() && below(random, 3) > 0)
    value = otherNumber(value, nodes, random);
  else if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_array() && !value.empty() && below(random, 4) > 0)
    changeOrder(value, random);
  else if (value.is_object() && !value.empty())
    changeMembers(value, nodes, random);
  else if (below(random, 40) == 0)
    value = below(random, 2) ? ordered_json("other") : ordered_json(nullptr);
  else
    value = ordered_json(sibling(node, nodes, random));
}

/// Gives all members of the node's name that have its value another one.
static void changeEverywhere(const Node &node, const std::vector<Node> &nodes,
                             const std::vector<Node> &further, Random &random) {
  const ordered_json from = *node.value;
  const std::string key = node.key;
  change(node, nodes, random);
  const ordered_json to = *node.value;
  for (const std::vector<Node> *list : {&nodes, &further})
    for (const Node &other : *list)
      if (other.key == key && *other.value == from)
        *other.value = to;
}

static std::string shortened(const ordered_json &value) {
  constexpr size_t max = 80;
  return print(value).substr(0, max);
}

std::string mutate(ArtifactEntries &entries, Random &random) {
  static const char *const names[] = {
      "program.json",    "program.json",    "program.json", "program.json",
      "parameters.json", "parameters.json", "summary.json", "manifest.json"};
  const std::string name = names[below(random, std::size(names))];
  const std::string second =
      name == "program.json" ? "parameters.json" : "program.json";
  ordered_json root = parse(entries[name]), other = parse(entries[second]);
  std::string done = name;
  const size_t changes = 1 + below(random, 3);
  for (size_t i = 0; i < changes; ++i) {
    // A change moves values, so they are found again for each.
    std::vector<Node> nodes, further;
    collect(root, "", nodes);
    collect(other, "", further);
    // Few of the nodes are arrays or objects; numbers and names are most.
    const Node node = nodes[below(random, nodes.size())];
    const std::string before = shortened(*node.value);
    const bool isLeaf = node.value->is_primitive();
    if (isLeaf && below(random, 3) == 0)
      changeEverywhere(node, nodes, further, random);
    else
      change(node, nodes, random);
    done += (i ? ", " : ": ") + node.key + " " + before;
    if (isLeaf)
      done += " -> " + shortened(*node.value);
  }
  entries[name] = print(root);
  if (!other.is_discarded())
    entries[second] = print(other);
  return done;
}

} // namespace shardc::testing
