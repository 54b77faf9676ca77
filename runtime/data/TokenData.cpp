//===- TokenData.cpp - samples from a file of tokens ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Consecutive windows of a text, as nanoGPT stores it: the first input is a
// window, the second the same window one token later.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Conversion.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/NpyFile.h"
#include "runtime/format/MappedFile.h"

namespace shardc::runtime {

using format::Dtype;
using format::Input;
using format::MappedFile;
using format::NamedTensor;

namespace {
class TokenData : public DataSource {
public:
  TokenData(const std::vector<Input> &inputs, NamedTensor tokens,
            std::shared_ptr<const MappedFile> file)
      : inputs(inputs), tokens(std::move(tokens)), file(std::move(file)),
        length(inputs[0].shape[1]) {}

  int64_t samples() const override { return (tokens.shape[0] - 1) / length; }

  Status read(size_t index, int64_t sample, std::byte *target) const override {
    const int64_t first = sample * length + static_cast<int64_t>(index);
    convertElements(tokens.data.data() + first * byteSize(tokens.dtype),
                    tokens.dtype, target, inputs[index].dtype, length);
    return checkBound(inputs[index], target, length, sample);
  }

private:
  const std::vector<Input> &inputs;
  const NamedTensor tokens;
  const std::shared_ptr<const MappedFile> file;
  const int64_t length;
};
} // namespace

/// The tokens of a .npy file, or of a file without any header.
static StatusOr<NamedTensor> readTokens(format::Bytes file,
                                        const std::string &path) {
  if (isNpyFile(file)) {
    StatusOr<NamedTensor> tensor = readNpy(file, path);
    if (tensor.ok() && (tensor->shape.size() != 1 || !isInteger(tensor->dtype)))
      return Status(ErrorCode::E0405, "'" + path +
                                          "' is not an array of "
                                          "integers with one "
                                          "dimension");
    return tensor;
  }
  if (file.size() % 2 != 0)
    return Status(ErrorCode::E0404, "'" + path + "' has " +
                                        std::to_string(file.size()) +
                                        " bytes, expected two for each token");
  return NamedTensor{
      path, Dtype::U16, {static_cast<int64_t>(file.size() / 2)}, file};
}

static Status checkInputs(const std::vector<Input> &inputs, Dtype tokens) {
  const bool areWindows = inputs.size() == 2 && inputs[0].shape.size() == 2 &&
                          inputs[1].shape == inputs[0].shape &&
                          isInteger(inputs[0].dtype) &&
                          isInteger(inputs[1].dtype);
  if (!areWindows)
    return Status(ErrorCode::E0405,
                  "a file of tokens fits models with two integer inputs of "
                  "one shape [batch, time]")
        .setHelp("put one tensor for each input into a safetensors file");
  for (const Input &input : inputs)
    if (!isConvertible(tokens, input.dtype))
      return Status(ErrorCode::E0405, "tokens have dtype " +
                                          std::string(dtypeName(tokens)) +
                                          ", input '" + input.name + "' has " +
                                          std::string(dtypeName(input.dtype)));
  return Status();
}

DataSourceOr openTokenData(const std::string &path,
                           const std::vector<Input> &inputs) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<NamedTensor> tokens = readTokens((*file)->bytes(), path);
  if (!tokens.ok())
    return tokens.status();
  if (Status status = checkInputs(inputs, tokens->dtype); !status.ok())
    return status;
  const int64_t needed = inputs[0].shape[1] + 1;
  if (tokens->shape[0] < needed)
    return Status(ErrorCode::E0406,
                  "'" + path + "' has " + std::to_string(tokens->shape[0]) +
                      " tokens, a sample needs " + std::to_string(needed));
  return std::unique_ptr<DataSource>(
      std::make_unique<TokenData>(inputs, std::move(*tokens), *file));
}

} // namespace shardc::runtime
