//===- PayloadConfigReader.cpp - Raw weights of PT2 archives --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the schema's PayloadConfig.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/PayloadConfigReader.h"

#include "compiler/Pt2/ArgumentReader.h"
#include "compiler/Pt2/ReadFailure.h"

namespace shardc::pt2 {

namespace {

/// A size of a stored tensor, which cannot be symbolic: it has bytes.
int64_t literal(const SymInt &value) {
  if (!value.isLiteral() || !value.value)
    fail(errors::inconsistentProgram,
         "expected a constant size, got '" + value.expression + "'");
  return *value.value;
}

std::vector<int64_t> literals(const std::vector<SymInt> &values) {
  std::vector<int64_t> result;
  result.reserve(values.size());
  for (const SymInt &value : values)
    result.push_back(literal(value));
  return result;
}

WeightEntry readEntry(const Json &payload) {
  const Json *json = optionalMember(payload, "tensor_meta");
  if (!json || asBool(member(payload, "use_pickle"), "use_pickle"))
    fail(errors::pickledPayload, "the payload is a pickled object",
         "only plain tensors can be compiled; export the model before it is "
         "sharded or quantised");
  TensorMeta meta = readTensorMeta(*json);
  WeightEntry entry;
  entry.dtype = meta.dtype;
  entry.sizes = literals(meta.sizes);
  entry.strides = literals(meta.strides);
  entry.storageOffset = literal(meta.storageOffset);
  entry.requiresGrad = meta.requiresGrad;
  entry.isParameter = asBool(member(payload, "is_param"), "is_param");
  return entry;
}

} // namespace

void readPayloadConfig(const std::shared_ptr<const ZipArchive> &archive,
                       size_t configIndex, const std::string &folder,
                       WeightsBuilder &builder) {
  const std::string &configName = archive->entries()[configIndex].name;
  Json document = parseJson(asText(archive->read(configIndex)), configName);
  const Json &config = asObject(member(document, "config"), "config");
  for (const auto &[name, payload] : config.items()) {
    auto addTensor = [&, &name = name, &payload = payload] {
      WeightEntry entry = readEntry(payload);
      std::string path =
          folder + asString(member(payload, "path_name"), "path_name");
      std::optional<size_t> index = archive->find(path);
      if (!index)
        fail(errors::missingWeights, "the archive has no entry '" + path + "'",
             "copy or export the file again");
      entry.storage = builder.addStorage(archive, *index);
      builder.addTensor(name, std::move(entry));
    };
    withNote([&name = name] { return "in tensor '" + name + "'"; }, addTensor);
  }
}

} // namespace shardc::pt2
