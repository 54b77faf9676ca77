//===- ArrayData.cpp - Samples from arrays in files -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One tensor for each input of the model: sample i is row i of every tensor. If
// a sample is a whole micro-batch (samplesOfMicroBatch), a row has the shape of
// an input, and a file may also be one sample.
//===----------------------------------------------------------------------===//

#include "runtime/data/Conversion.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/FileList.h"
#include "runtime/data/NpyFile.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Program.h"
#include "runtime/format/Quantities.h"

#include <algorithm>

namespace shardc::runtime {

using format::Input;
using format::MappedFile;
using format::NamedTensor;

namespace {
/// A tensor for each input.
struct ArrayFile {
  std::string path;
  std::vector<NamedTensor> tensors;
  std::shared_ptr<const MappedFile> mapped;
  int64_t samples = 0;
};

class ArrayData : public DataSource {
public:
  ArrayData(const std::vector<Input> &inputs, std::vector<ArrayFile> list)
      : inputs(inputs), list(std::move(list)) {
    for (const ArrayFile &file : this->list)
      ends.push_back((ends.empty() ? 0 : ends.back()) + file.samples);
  }

  int64_t samples() const override { return ends.back(); }

  std::string description() const override {
    std::string text = "'" + list[0].path + "'";
    if (list.size() > 1)
      text += " and " + std::to_string(list.size() - 1) + " more";
    return text + ", " + printCount(samples()) +
           (samples() == 1 ? " sample" : " samples") +
           (format::isSampleWhole(inputs) ? ", each a whole micro-batch" : "");
  }

  std::vector<std::string> files() const override {
    std::vector<std::string> paths;
    for (const ArrayFile &file : list)
      paths.push_back(file.path);
    return paths;
  }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    const auto number = static_cast<size_t>(
        std::upper_bound(ends.begin(), ends.end(), sample) - ends.begin());
    const int64_t row = sample - (number == 0 ? 0 : ends[number - 1]);
    const Input &input = inputs[index];
    const NamedTensor &tensor = list[number].tensors[index];
    const int64_t elements = format::elementsOfSample(inputs, index);
    convertElements(tensor.data.data() +
                        row * elements * byteSize(tensor.dtype),
                    tensor.dtype, target, input.dtype, elements);
    return checkBound(input, target, elements, sample);
  }

private:
  const std::vector<Input> &inputs;
  const std::vector<ArrayFile> list;
  /// Samples of each file and those before it.
  std::vector<int64_t> ends;
};
} // namespace

/// "[first, 3, 4]".
static std::string shapeText(const std::string &first,
                             const std::vector<int64_t> &rest) {
  std::string text = "[" + first;
  for (const int64_t extent : rest)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// Whether the rows of `tensor` can be samples of input `index`, and how many
/// there are.
static StatusOr<int64_t> countSamples(const NamedTensor &tensor,
                                      const std::vector<Input> &inputs,
                                      size_t index) {
  const Input &input = inputs[index];
  const bool isWhole = format::isSampleWhole(inputs);
  std::vector<int64_t> row = input.shape;
  if (!isWhole)
    row.erase(row.begin());
  const bool isOne = isWhole && tensor.shape == row;
  const bool areMany =
      tensor.shape.size() == row.size() + 1 &&
      std::equal(row.begin(), row.end(), tensor.shape.begin() + 1);
  if (!isOne && !areMany)
    return Status(
        ErrorCode::E0405,
        "tensor '" + tensor.name + "' has shape " +
            shapeText("", tensor.shape) + ", input '" + input.name +
            "' needs " + shapeText("samples", row) +
            (isWhole ? ", or " + shapeText("", row) + " for one micro-batch"
                     : ""));
  if (!isConvertible(tensor.dtype, input.dtype))
    return Status(ErrorCode::E0405, "tensor '" + tensor.name + "' has dtype " +
                                        std::string(dtypeName(tensor.dtype)) +
                                        ", input '" + input.name + "' has " +
                                        std::string(dtypeName(input.dtype)));
  if (!isOne && tensor.shape[0] == 0)
    return Status(ErrorCode::E0406,
                  "tensor '" + tensor.name + "' has no samples");
  return isOne ? 1 : tensor.shape[0];
}

static Status checkTensors(ArrayFile &file, const std::vector<Input> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StatusOr<int64_t> samples = countSamples(file.tensors[i], inputs, i);
    if (!samples.ok())
      return samples.status();
    if (i > 0 && *samples != file.samples)
      return Status(ErrorCode::E0405, "tensor '" + file.tensors[i].name +
                                          "' has " + std::to_string(*samples) +
                                          " samples, tensor '" +
                                          file.tensors[0].name + "' has " +
                                          std::to_string(file.samples));
    file.samples = *samples;
  }
  return Status();
}

/// Reads every integer that has a bound: a sample that is refused should not
/// cost the training before it.
static Status checkBounds(const ArrayData &data,
                          const std::vector<Input> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].upperBound)
      continue;
    std::vector<std::byte> sample(static_cast<size_t>(
        format::elementsOfSample(inputs, i) * byteSize(inputs[i].dtype)));
    for (int64_t number = 0; number < data.samples(); ++number)
      if (Status status = data.read(i, number, sample.data()); !status.ok())
        return status;
  }
  return Status();
}

static DataSourceOr makeArrayData(const std::vector<Input> &inputs,
                                  std::vector<ArrayFile> files) {
  for (ArrayFile &file : files)
    if (Status status = checkTensors(file, inputs); !status.ok())
      return status;
  auto data = std::make_unique<ArrayData>(inputs, std::move(files));
  if (Status status = checkBounds(*data, inputs); !status.ok())
    return status;
  return std::unique_ptr<DataSource>(std::move(data));
}

static StatusOr<ArrayFile> openSafetensors(const std::string &path,
                                           const std::vector<Input> &inputs) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<format::SafetensorsContent> content =
      format::readSafetensors((*file)->bytes(), path, ErrorCode::E0404);
  if (!content.ok())
    return content.status();
  ArrayFile opened = {path, {}, *file, 0};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string position = "input" + std::to_string(i);
    const NamedTensor *tensor = content->find(inputs[i].name);
    if (!tensor)
      tensor = content->find(position);
    if (!tensor)
      return Status(ErrorCode::E0405, "'" + path + "' has no tensor '" +
                                          inputs[i].name + "' or '" + position +
                                          "'")
          .addNote(content->describeNames());
    opened.tensors.push_back(*tensor);
  }
  return opened;
}

DataSourceOr openSafetensorsData(const std::vector<std::string> &paths,
                                 const std::vector<Input> &inputs) {
  std::vector<ArrayFile> files;
  for (const std::string &path : paths) {
    StatusOr<ArrayFile> file = openSafetensors(path, inputs);
    if (!file.ok())
      return file.status();
    files.push_back(std::move(*file));
  }
  return makeArrayData(inputs, std::move(files));
}

DataSourceOr openNpyData(const std::string &path,
                         const std::vector<Input> &inputs,
                         std::optional<int64_t> tokenShift) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<NamedTensor> tensor = readNpy((*file)->bytes(), path);
  if (!tensor.ok())
    return tensor.status();
  if (inputs.size() > 1 && tensor->shape.size() == 1 &&
      isInteger(tensor->dtype))
    return openTokenData(path, inputs, tokenShift);
  if (inputs.size() != 1)
    return Status(ErrorCode::E0405,
                  "'" + path + "' holds one array, the model has " +
                      std::to_string(inputs.size()) + " inputs")
        .setHelp("put one tensor for each input into a safetensors file");
  std::vector<ArrayFile> files = {{path, {std::move(*tensor)}, *file, 0}};
  return makeArrayData(inputs, std::move(files));
}

} // namespace shardc::runtime
