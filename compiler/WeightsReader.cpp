//===- WeightsReader.cpp - Weights of an export for an artifact -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks the archive for each declared tensor by name.
//===----------------------------------------------------------------------===//

#include "compiler/WeightsReader.h"

namespace shardc {

Status WeightsReader::add(const pt2::Weights &weights, const std::string &name,
                          format::Dtype dtype,
                          const std::vector<int64_t> &shape,
                          std::vector<format::NamedTensor> &tensors) {
  StatusOr<std::vector<std::byte>> bytes = weights.readTensor(name);
  if (!bytes.ok())
    return bytes.status();
  storage.push_back(std::move(*bytes));
  // What is kept narrower than it was exported is converted when it is loaded.
  auto entry = weights.entries().find(name);
  const bool isWider = dtype == format::Dtype::BF16 &&
                       entry != weights.entries().end() &&
                       entry->second.dtype == pt2::ScalarType::Float32;
  tensors.push_back(
      {name, isWider ? format::Dtype::F32 : dtype, shape, storage.back()});
  return Status();
}

/// The dtype of the parameters of `segment`: its parameter state's.
static format::Dtype masterDtype(const format::Parameters &parameters,
                                 size_t segment) {
  for (const format::State &state : parameters.states)
    if (state.role == format::Role::Parameter &&
        state.segment == static_cast<int64_t>(segment))
      return state.dtype;
  return parameters.segments[segment].dtype;
}

Status WeightsReader::read(const pt2::ExportedModel &model,
                           format::Artifact &artifact) {
  if (model.weights.isWeightFree())
    return Status();
  std::vector<format::NamedTensor> tensors;
  const format::Parameters &parameters = artifact.parameters;
  for (size_t i = 0; i < parameters.segments.size(); ++i)
    for (const format::SegmentParameter &p : parameters.segments[i].parameters)
      if (Status status = add(model.weights, p.name, masterDtype(parameters, i),
                              p.shape, tensors);
          !status.ok())
        return status;
  for (const format::State &state : parameters.states)
    if (state.role == format::Role::Buffer)
      if (Status status =
              add(model.weights, state.name, state.dtype, state.shape, tensors);
          !status.ok())
        return status;
  artifact.weights = std::move(tensors);
  return Status();
}

} // namespace shardc
