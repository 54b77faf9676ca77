//===- Safetensors.cpp - Named tensors in one file ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The strict reader, and the writer that lays tensors end to end.
//===----------------------------------------------------------------------===//

#include "runtime/format/Safetensors.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/OutputFile.h"

#include <algorithm>
#include <tuple>

namespace shardc::format {

static constexpr uint64_t maxHeaderBytes = 100'000'000;

const NamedTensor *SafetensorsContent::find(std::string_view name) const {
  for (const NamedTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

std::string SafetensorsContent::describeNames() const {
  constexpr size_t shown = 6;
  if (tensors.empty())
    return "it has no tensors";
  std::string text = "it has ";
  for (size_t i = 0; i < std::min(tensors.size(), shown); ++i)
    text += (i > 0 ? ", '" : "'") + tensors[i].name + "'";
  if (tensors.size() > shown)
    text += " and " + std::to_string(tensors.size() - shown) + " more";
  return text;
}

/// The bytes that a tensor of this shape takes, or none if beyond 2^62.
static std::optional<int64_t> tensorBytes(const std::vector<int64_t> &shape,
                                          Dtype dtype) {
  constexpr int64_t max = int64_t(1) << 62;
  int64_t bytes = byteSize(dtype);
  for (const int64_t extent : shape) {
    if (extent != 0 && bytes > max / extent)
      return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

static NamedTensor parseTensor(const std::string &name, const JsonField &field,
                               Bytes data) {
  NamedTensor tensor;
  tensor.name = name;
  const std::optional<Dtype> dtype =
      parseSafetensorsDtype(field["dtype"].text());
  if (!dtype)
    field["dtype"].fail("unsupported dtype '" + field["dtype"].text() + "'");
  tensor.dtype = *dtype;
  tensor.shape = field["shape"].integers();
  const std::vector<int64_t> offsets = field["data_offsets"].integers();
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      static_cast<uint64_t>(offsets[1]) > data.size())
    field["data_offsets"].fail("the tensor is not inside the " +
                               std::to_string(data.size()) +
                               " bytes of data; the file may be truncated");
  const int64_t bytes = offsets[1] - offsets[0];
  if (tensorBytes(tensor.shape, *dtype) != std::optional(bytes))
    field["data_offsets"].fail("the range of " + std::to_string(bytes) +
                               " bytes does not fit dtype and shape");
  tensor.data =
      data.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
  return tensor;
}

/// Orders tensors by their place and checks that they tile the data.
static bool tileWithoutHoles(std::vector<NamedTensor> &tensors, Bytes data) {
  auto begin = [](const NamedTensor &tensor) { return tensor.data.data(); };
  std::sort(tensors.begin(), tensors.end(),
            [&](const NamedTensor &left, const NamedTensor &right) {
              return std::tuple(begin(left), left.data.size(), left.name) <
                     std::tuple(begin(right), right.data.size(), right.name);
            });
  const std::byte *position = data.data();
  for (const NamedTensor &tensor : tensors) {
    if (begin(tensor) != position)
      return false;
    position += tensor.data.size();
  }
  return position == data.data() + data.size();
}

StatusOr<SafetensorsContent>
readSafetensors(Bytes file, const std::string &name, ErrorCode code) {
  uint64_t headerBytes = 0;
  for (size_t i = 0; i < 8 && i < file.size(); ++i)
    headerBytes |= static_cast<uint64_t>(file[i]) << (8 * i);
  if (file.size() < 8 || headerBytes > maxHeaderBytes ||
      headerBytes > file.size() - 8)
    return Status(code, "'" + name +
                            "' is not a safetensors file: its header "
                            "length does not fit its " +
                            std::to_string(file.size()) + " bytes");
  const Bytes header = file.subspan(8, headerBytes);
  const Bytes data = file.subspan(8 + headerBytes);
  if (!textOf(header).starts_with('{'))
    return Status(code, "'" + name +
                            "' is not a safetensors file: its header "
                            "does not begin with '{'");
  SafetensorsContent content;
  Status status = parseDocument(header, name, code, [&](const JsonField &root) {
    for (const auto &[key, field] : root.members()) {
      if (key != "__metadata__") {
        content.tensors.push_back(parseTensor(key, field, data));
        continue;
      }
      for (const auto &[entry, value] : field.members())
        content.metadata[entry] = value.text();
    }
  });
  if (!status.ok())
    return status;
  if (!tileWithoutHoles(content.tensors, data))
    return Status(code, "'" + name +
                            "' is malformed: its tensors overlap or "
                            "leave holes");
  return content;
}

size_t bytesOf(const NamedTensor &tensor) {
  return static_cast<size_t>(elementCount(tensor.shape) *
                             byteSize(tensor.dtype));
}

std::string safetensorsHeader(const std::vector<NamedTensor> &tensors,
                              const Metadata &metadata) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const auto &[key, value] : metadata)
    root["__metadata__"][key] = value;
  size_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    nlohmann::ordered_json &object = root[tensor.name];
    object["dtype"] = safetensorsName(tensor.dtype);
    object["shape"] = tensor.shape;
    const size_t bytes = bytesOf(tensor);
    object["data_offsets"] = {offset, offset + bytes};
    offset += bytes;
  }
  std::string json = root.dump();
  constexpr size_t alignment = 64;
  json.resize((json.size() + 8 + alignment - 1) / alignment * alignment - 8,
              ' ');
  std::string length;
  for (size_t i = 0; i < 8; ++i)
    length += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  return length + json;
}

Status writeSafetensors(const std::string &path,
                        const std::vector<NamedTensor> &tensors,
                        const Metadata &metadata) {
  OutputFile file(path);
  file.write(safetensorsHeader(tensors, metadata));
  for (const NamedTensor &tensor : tensors)
    file.write(tensor.data);
  return file.commit();
}

} // namespace shardc::format
