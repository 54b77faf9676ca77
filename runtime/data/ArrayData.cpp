//===- ArrayData.cpp - samples from arrays in files -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One tensor for each input of the model: sample i is row i of every tensor.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Conversion.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/NpyFile.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Program.h"

namespace shardc::runtime {

using format::Input;
using format::MappedFile;
using format::NamedTensor;

namespace {
class ArrayData : public DataSource {
public:
  ArrayData(const std::vector<Input> &inputs, std::vector<NamedTensor> tensors,
            std::shared_ptr<const MappedFile> file)
      : inputs(inputs), tensors(std::move(tensors)), file(std::move(file)) {}

  int64_t samples() const override { return tensors[0].shape[0]; }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    const Input &input = inputs[index];
    const NamedTensor &tensor = tensors[index];
    const int64_t elements = format::elementCount(input.shape) / input.shape[0];
    convertElements(tensor.data.data() +
                        sample * elements * byteSize(tensor.dtype),
                    tensor.dtype, target, input.dtype, elements);
    return checkBound(input, target, elements, sample);
  }

private:
  const std::vector<Input> &inputs;
  const std::vector<NamedTensor> tensors;
  const std::shared_ptr<const MappedFile> file;
};
} // namespace

/// "[first, 3, 4]" for a shape (…, 3, 4).
static std::string shapeText(const std::string &first,
                             const std::vector<int64_t> &shape) {
  std::string text = "[" + first;
  for (size_t i = 1; i < shape.size(); ++i)
    text += ", " + std::to_string(shape[i]);
  return text + "]";
}

/// Whether the rows of `tensor` can be samples of `input`.
static Status checkTensor(const NamedTensor &tensor, const Input &input) {
  std::vector<int64_t> expected = input.shape;
  if (!tensor.shape.empty())
    expected[0] = tensor.shape[0];
  if (tensor.shape != expected)
    return Status(ErrorCode::E0405,
                  "tensor '" + tensor.name + "' has shape " +
                      shapeText(tensor.shape.empty()
                                    ? ""
                                    : std::to_string(tensor.shape[0]),
                                tensor.shape) +
                      ", input '" + input.name + "' needs " +
                      shapeText("samples", input.shape));
  if (!isConvertible(tensor.dtype, input.dtype))
    return Status(ErrorCode::E0405, "tensor '" + tensor.name + "' has dtype " +
                                        std::string(dtypeName(tensor.dtype)) +
                                        ", input '" + input.name + "' has " +
                                        std::string(dtypeName(input.dtype)));
  if (tensor.shape[0] == 0)
    return Status(ErrorCode::E0406,
                  "tensor '" + tensor.name + "' has no samples");
  return Status();
}

static DataSourceOr makeArrayData(const std::vector<Input> &inputs,
                                  std::vector<NamedTensor> tensors,
                                  std::shared_ptr<const MappedFile> file) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (Status status = checkTensor(tensors[i], inputs[i]); !status.ok())
      return status;
    if (tensors[i].shape[0] != tensors[0].shape[0])
      return Status(ErrorCode::E0405, "tensor '" + tensors[i].name + "' has " +
                                          std::to_string(tensors[i].shape[0]) +
                                          " samples, tensor '" +
                                          tensors[0].name + "' has " +
                                          std::to_string(tensors[0].shape[0]));
  }
  return std::unique_ptr<DataSource>(
      std::make_unique<ArrayData>(inputs, std::move(tensors), std::move(file)));
}

DataSourceOr openSafetensorsData(const std::string &path,
                                 const std::vector<Input> &inputs) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<format::SafetensorsContent> content =
      format::readSafetensors((*file)->bytes(), path, ErrorCode::E0404);
  if (!content.ok())
    return content.status();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string position = "input" + std::to_string(i);
    const NamedTensor *tensor = content->find(inputs[i].name);
    if (!tensor)
      tensor = content->find(position);
    if (!tensor)
      return Status(ErrorCode::E0405, "'" + path + "' has no tensor '" +
                                          inputs[i].name + "' or '" + position +
                                          "'");
    tensors.push_back(*tensor);
  }
  return makeArrayData(inputs, std::move(tensors), *file);
}

DataSourceOr openNpyData(const std::string &path,
                         const std::vector<Input> &inputs) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<NamedTensor> tensor = readNpy((*file)->bytes(), path);
  if (!tensor.ok())
    return tensor.status();
  if (inputs.size() == 2 && tensor->shape.size() == 1 &&
      isInteger(tensor->dtype))
    return openTokenData(path, inputs);
  if (inputs.size() != 1)
    return Status(ErrorCode::E0405,
                  "'" + path + "' holds one array, the model has " +
                      std::to_string(inputs.size()) + " inputs")
        .setHelp("put one tensor for each input into a safetensors file");
  return makeArrayData(inputs, {std::move(*tensor)}, *file);
}

} // namespace shardc::runtime
