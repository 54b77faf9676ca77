//===- TorchSaveReader.cpp - Pickled weights of old archives --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor is pickled as calls (torch/_utils.py), which are matched here:
//
//   _rebuild_parameter(TENSOR, requires_grad, hooks)
//   _rebuild_parameter_with_state(TENSOR, requires_grad, hooks, state)
//   TENSOR = _rebuild_tensor_v2(STORAGE, offset, sizes, strides,
//                               requires_grad, hooks)
//   STORAGE = persistent ("storage", torch.FloatStorage, key, device, count)
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/TorchSaveReader.h"

#include "compiler/Pt2/PickleReader.h"
#include "compiler/Pt2/ReadFailure.h"

namespace shardc::pt2 {

namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view pickleName = "/data.pkl";

[[noreturn]] void failShape(const char *what) {
  fail(errors::damagedTorchSave,
       "expected " + std::string(what) + " in the pickled weights",
       "copy or export the file again");
}

/// Argument or element `index` of a tuple of at least `index + 1`, which must
/// have the given kind.
const PickleValue &element(const PickleValue &tuple, size_t index, Kind kind,
                           const char *what) {
  if (tuple.kind != Kind::Tuple || tuple.items.size() <= index ||
      tuple.items[index]->kind != kind)
    failShape(what);
  return *tuple.items[index];
}

std::vector<int64_t> readInts(const PickleValue &tuple, const char *what) {
  std::vector<int64_t> integers;
  integers.reserve(tuple.items.size());
  for (size_t i = 0; i < tuple.items.size(); ++i)
    integers.push_back(element(tuple, i, Kind::Int, what).integer);
  return integers;
}

ScalarType readStorageType(const std::string &global) {
  static const NameMap<ScalarType> types = {
      {"torch ByteStorage", ScalarType::UInt8},
      {"torch CharStorage", ScalarType::Int8},
      {"torch ShortStorage", ScalarType::Int16},
      {"torch IntStorage", ScalarType::Int32},
      {"torch LongStorage", ScalarType::Int64},
      {"torch HalfStorage", ScalarType::Float16},
      {"torch BFloat16Storage", ScalarType::BFloat16},
      {"torch FloatStorage", ScalarType::Float32},
      {"torch DoubleStorage", ScalarType::Float64},
      {"torch ComplexFloatStorage", ScalarType::Complex64},
      {"torch ComplexDoubleStorage", ScalarType::Complex128},
      {"torch BoolStorage", ScalarType::Bool}};
  auto found = types.find(global);
  if (found == types.end())
    fail(errors::unsupportedDtype, "unknown storage type '" + global + "'",
         "export the model with PyTorch 2.9 or later");
  return found->second;
}

/// Reads one torch.save zip.
class TorchSaveReader {
public:
  TorchSaveReader(std::shared_ptr<const ZipArchive> archive,
                  WeightsBuilder &builder)
      : archive(std::move(archive)), builder(builder) {}

  void read() {
    std::span<const std::byte> pickle = findPickle();
    checkByteOrder();
    PickleDocument document = readPickle(pickle);
    const PickleValue &tensors = *document.root;
    if (tensors.kind != Kind::Dict)
      failShape("a dictionary of tensors");
    for (size_t i = 0; i + 1 < tensors.items.size(); i += 2) {
      const PickleValue &name = *tensors.items[i];
      if (name.kind != Kind::String)
        failShape("tensor names that are strings");
      withNote([&] { return "in tensor '" + name.text + "'"; },
               [&] { addTensor(name.text, *tensors.items[i + 1]); });
    }
  }

private:
  std::shared_ptr<const ZipArchive> archive;
  WeightsBuilder &builder;
  /// Folder of all entries, with its slash.
  std::string root;

  std::span<const std::byte> findPickle() {
    for (size_t i = 0; i < archive->entries().size(); ++i) {
      const std::string &name = archive->entries()[i].name;
      if (!name.ends_with(pickleName))
        continue;
      root = name.substr(0, name.size() - pickleName.size() + 1);
      return archive->read(i);
    }
    failShape("an entry 'data.pkl'");
  }

  void checkByteOrder() {
    std::optional<size_t> index = archive->find(root + "byteorder");
    if (index && asText(archive->read(*index)) == "big")
      fail(errors::bigEndian, "the weights were saved on a big-endian machine");
  }

  void addTensor(const std::string &name, const PickleValue &value) {
    const PickleValue &arguments = readCall(value);
    const std::string &function = value.items[0]->text;
    if (function == "torch._utils _rebuild_tensor_v2") {
      builder.addTensor(name, readTensor(arguments));
      return;
    }
    if (function != "torch._utils _rebuild_parameter" &&
        function != "torch._utils _rebuild_parameter_with_state")
      failFunction(function);
    const PickleValue &tensor = element(arguments, 0, Kind::Call, "a tensor");
    if (tensor.items[0]->text != "torch._utils _rebuild_tensor_v2")
      failFunction(tensor.items[0]->text);
    WeightEntry entry = readTensor(readCall(tensor));
    entry.isParameter = true;
    entry.requiresGrad =
        element(arguments, 1, Kind::Bool, "requires_grad").integer != 0;
    builder.addTensor(name, std::move(entry));
  }

  [[noreturn]] static void failFunction(const std::string &function) {
    fail(errors::forbiddenPickle,
         "the tensor is made by '" + function + "', which is not executed",
         "only plain tensors can be compiled; export the model with PyTorch "
         "2.9 or later, before it is sharded or quantised");
  }

  /// The arguments of a call.
  static const PickleValue &readCall(const PickleValue &value) {
    if (value.kind != Kind::Call)
      fail(errors::pickledPayload, "the payload is not a tensor",
           "only plain tensors can be compiled");
    return *value.items[1];
  }

  WeightEntry readTensor(const PickleValue &arguments) {
    const PickleValue &identifier =
        *element(arguments, 0, Kind::Persistent, "a storage").items[0];
    if (element(identifier, 0, Kind::String, "a storage").text != "storage")
      failShape("a storage");
    WeightEntry entry;
    entry.dtype = readStorageType(
        element(identifier, 1, Kind::Global, "a storage type").text);
    entry.storageOffset =
        element(arguments, 1, Kind::Int, "a storage offset").integer;
    entry.sizes =
        readInts(element(arguments, 2, Kind::Tuple, "sizes"), "a size");
    entry.strides =
        readInts(element(arguments, 3, Kind::Tuple, "strides"), "a stride");
    if (entry.sizes.size() != entry.strides.size())
      failShape("as many strides as sizes");
    std::string path =
        root + "data/" +
        element(identifier, 2, Kind::String, "a storage's key").text;
    std::optional<size_t> index = archive->find(path);
    if (!index)
      fail(errors::missingWeights, "the archive has no entry '" + path + "'",
           "copy or export the file again");
    entry.storage = builder.addStorage(archive, *index);
    return entry;
  }
};

} // namespace

void readTorchSave(const ZipArchive &archive, size_t index,
                   WeightsBuilder &builder) {
  const ZipEntry &entry = archive.entries()[index];
  if (entry.payload.empty())
    return;
  withNote(
      [&] { return "in entry '" + entry.name + "'"; },
      [&] {
        TorchSaveReader(ZipArchive::openEntry(archive, index), builder).read();
      });
}

} // namespace shardc::pt2
