//===- TokenData.cpp - Samples from files of tokens -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Consecutive windows of texts, as nanoGPT and llm.c store them. One input is a
// window; another, its target, the window `shift` tokens later:
//
//   file     t0 t1 t2 t3 t4 t5 t6 …          T = 3, shift = 1
//   sample 0 t0 t1 t2       target t1 t2 t3
//   sample 1          t3 t4 t5      t4 t5 t6
//
// A window does not go from one file into the next.
//===----------------------------------------------------------------------===//

#include "runtime/data/Conversion.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/FileList.h"
#include "runtime/data/NpyFile.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Quantities.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace shardc::runtime {

using format::Dtype;
using format::Input;
using format::MappedFile;
using format::NamedTensor;

namespace {
/// What an input of a sample holds.
enum class Content { Tokens, Target, Ones, Positions };

struct TokenFile {
  NamedTensor tokens;
  std::shared_ptr<const MappedFile> mapped;
  int64_t length() const { return tokens.shape[0]; }
};

class TokenData : public DataSource {
public:
  TokenData(const std::vector<Input> &inputs, std::vector<Content> contents,
            int64_t shift, std::vector<TokenFile> list)
      : inputs(inputs), contents(std::move(contents)), shift(shift),
        length(inputs[0].shape[1]), list(std::move(list)) {
    for (const TokenFile &file : this->list)
      ends.push_back((ends.empty() ? 0 : ends.back()) +
                     (file.length() - shift) / length);
  }

  int64_t samples() const override { return ends.back(); }
  std::string description() const override;
  std::vector<std::string> files() const override;
  Status read(size_t index, int64_t sample, std::byte *target) const override;

private:
  const std::vector<Input> &inputs;
  const std::vector<Content> contents;
  const int64_t shift;
  const int64_t length;
  const std::vector<TokenFile> list;
  /// Samples of each file and those before it.
  std::vector<int64_t> ends;
};
} // namespace

static const Input *find(const std::vector<Input> &inputs,
                         const std::vector<Content> &contents,
                         Content content) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (contents[i] == content)
      return &inputs[i];
  return nullptr;
}

std::vector<std::string> TokenData::files() const {
  std::vector<std::string> paths;
  for (const TokenFile &file : list)
    paths.push_back(file.tokens.name);
  return paths;
}

static std::string tokenText(int64_t later) {
  return later == 0 ? "token i" : "token i + " + std::to_string(later);
}

std::string TokenData::description() const {
  int64_t count = 0;
  for (const TokenFile &file : list)
    count += file.length();
  std::string text = printCount(count) + " " +
                     std::string(dtypeName(list[0].tokens.dtype)) +
                     " tokens in '" + list[0].tokens.name + "'";
  if (list.size() > 1)
    text += " and " + std::to_string(list.size() - 1) + " more";
  text += ", " + printCount(samples()) +
          (samples() == 1 ? " sample of " : " samples of ") +
          std::to_string(length);
  const Input *target = find(inputs, contents, Content::Target);
  if (!target)
    return text;
  const int64_t byModel = target->isShifted ? 1 : 0;
  text += "\n  input '" + target->name + "' at position i is " +
          tokenText(shift + byModel);
  if (target->isShifted)
    text += ", as the model shifts it itself";
  if (byModel + shift != 1)
    text += "\nwarning: language models predict token i + 1; see --token-shift";
  return text;
}

Status TokenData::read(size_t index, int64_t sample, std::byte *target) const {
  const auto number = static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), sample) - ends.begin());
  const TokenFile &file = list[number];
  const Input &input = inputs[index];
  int64_t first = (sample - (number == 0 ? 0 : ends[number - 1])) * length;
  switch (contents[index]) {
  case Content::Ones:
  case Content::Positions: {
    std::vector<int64_t> values(static_cast<size_t>(length), 1);
    if (contents[index] == Content::Positions)
      std::iota(values.begin(), values.end(), 0);
    convertElements(reinterpret_cast<const std::byte *>(values.data()),
                    Dtype::I64, target, input.dtype, length);
    return Status();
  }
  case Content::Target:
    first += shift;
    break;
  case Content::Tokens:
    break;
  }
  convertElements(file.tokens.data.data() + first * byteSize(file.tokens.dtype),
                  file.tokens.dtype, target, input.dtype, length);
  return checkBound(input, target, length, sample);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static uint32_t word(format::Bytes file, size_t index) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(file[4 * index + i]) << (8 * i);
  return value;
}

/// llm.c: 256 words, of which the first three are a magic number, a version and
/// the number of tokens.
static constexpr size_t headerBytes = 256 * 4;
static std::optional<Dtype> dtypeInHeader(format::Bytes file) {
  if (file.size() < headerBytes)
    return std::nullopt;
  if (word(file, 0) == 20240520 && word(file, 1) == 1)
    return Dtype::U16;
  if (word(file, 0) == 20240801 && word(file, 1) == 7)
    return Dtype::U32;
  return std::nullopt;
}

static StatusOr<NamedTensor>
readWithHeader(format::Bytes file, const std::string &path, Dtype dtype) {
  const int64_t tokens = word(file, 2);
  const format::Bytes data = file.subspan(headerBytes);
  if (data.size() != static_cast<size_t>(tokens * byteSize(dtype)))
    return Status(ErrorCode::E0404,
                  "'" + path + "' has " + std::to_string(data.size()) +
                      " bytes of tokens, its header (of llm.c) says " +
                      std::to_string(tokens) + " tokens of " +
                      std::string(dtypeName(dtype)))
        .setHelp("copy the file again; tokens:uint16:FILE reads it without a "
                 "header");
  return NamedTensor{path, dtype, {tokens}, data};
}

static StatusOr<NamedTensor> readRaw(format::Bytes file,
                                     const std::string &path, Dtype dtype) {
  const auto size = static_cast<size_t>(byteSize(dtype));
  if (file.size() % size != 0)
    return Status(ErrorCode::E0404,
                  "'" + path + "' has " + std::to_string(file.size()) +
                      " bytes, expected a multiple of " + std::to_string(size) +
                      ", the size of a token");
  return NamedTensor{
      path, dtype, {static_cast<int64_t>(file.size() / size)}, file};
}

/// Whether the numbers of a file that is read as uint16 are wider: each of the
/// first ones is followed by a zero.
static bool isWider(const NamedTensor &tokens) {
  constexpr size_t looked = 4096;
  const size_t pairs = std::min(looked, tokens.data.size() / 4);
  bool hasToken = false;
  for (size_t i = 0; i < pairs; ++i) {
    uint16_t pair[2];
    std::memcpy(pair, tokens.data.data() + i * sizeof(pair), sizeof(pair));
    if (pair[1] != 0)
      return false;
    hasToken |= pair[0] != 0;
  }
  return hasToken && tokens.data.size() % 4 == 0 && pairs > 1;
}

/// The tokens of a file in `layout`, or, if that is empty, as its first bytes
/// say: a .npy file, one with llm.c's header, or plain uint16 numbers.
static StatusOr<NamedTensor> readTokens(format::Bytes file,
                                        const std::string &path,
                                        const std::string &layout) {
  if (layout.empty() && isNpyFile(file)) {
    StatusOr<NamedTensor> tensor = readNpy(file, path);
    if (tensor.ok() && (tensor->shape.size() != 1 || !isInteger(tensor->dtype)))
      return Status(ErrorCode::E0405, "'" + path +
                                          "' is not an array of "
                                          "integers with one "
                                          "dimension");
    return tensor;
  }
  if (layout == "uint16" || layout == "uint32")
    return readRaw(file, path, layout == "uint16" ? Dtype::U16 : Dtype::U32);
  if (const std::optional<Dtype> dtype = dtypeInHeader(file))
    return readWithHeader(file, path, *dtype);
  if (layout.empty()) {
    StatusOr<NamedTensor> tokens = readRaw(file, path, Dtype::U16);
    if (tokens.ok() && isWider(*tokens))
      return Status(ErrorCode::E0405,
                    "'" + path +
                        "' has a zero after every token, expected uint16: its "
                        "numbers have 32 or 64 bits")
          .setHelp("tokens:uint32:FILE reads 32 bits; write 64-bit ones as "
                   ".astype('uint32'); tokens:uint16:FILE reads the file as "
                   "it is");
    return tokens;
  }
  return Status(ErrorCode::E0404,
                "'" + path +
                    "' has no header of llm.c (20240520 with uint16, "
                    "20240801 with uint32)");
}

static StatusOr<TokenFile> openFile(const std::string &path,
                                    const std::string &layout) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  StatusOr<NamedTensor> tokens = readTokens((*file)->bytes(), path, layout);
  if (!tokens.ok())
    return tokens.status();
  return TokenFile{std::move(*tokens), *file};
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

template <size_t N>
static bool isOneOf(const std::string &name,
                    const std::array<const char *, N> &names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What each input holds by its name; the first of two that have none of these
/// names is the tokens. Nothing if they are not those of a language model.
static std::optional<std::vector<Content>>
bind(const std::vector<Input> &inputs) {
  constexpr std::array tokenNames = {"input_ids", "inputs", "input",
                                     "idx",       "tokens", "x"};
  constexpr std::array targetNames = {"labels", "label", "targets", "target",
                                      "y"};
  std::vector<Content> contents;
  std::vector<size_t> unnamed;
  std::array<int, 2> count = {0, 0};
  for (const Input &input : inputs) {
    if (input.shape.size() != 2 || input.shape != inputs[0].shape ||
        !isInteger(input.dtype))
      return std::nullopt;
    Content content = Content::Tokens;
    if (input.name == "attention_mask")
      content = Content::Ones;
    else if (input.name == "position_ids")
      content = Content::Positions;
    else if (isOneOf(input.name, targetNames))
      content = Content::Target;
    else if (!isOneOf(input.name, tokenNames))
      unnamed.push_back(contents.size());
    contents.push_back(content);
    if (content == Content::Tokens || content == Content::Target)
      ++count[content == Content::Target];
  }
  // The last without a name is the target of the others.
  if (count[0] == 2 && count[1] == 0 && !unnamed.empty()) {
    contents[unnamed.back()] = Content::Target;
    count = {1, 1};
  }
  if (count[0] != 1 || count[1] > 1)
    return std::nullopt;
  return contents;
}

static Status checkInputs(const std::vector<Input> &inputs, Dtype tokens) {
  for (const Input &input : inputs)
    if (!isConvertible(tokens, input.dtype))
      return Status(ErrorCode::E0405, "tokens have dtype " +
                                          std::string(dtypeName(tokens)) +
                                          ", input '" + input.name + "' has " +
                                          std::string(dtypeName(input.dtype)));
  return Status();
}

/// Looks at every token of a file: one beyond the vocabulary should not end a
/// run of days.
static Status checkRange(const Input &input, const NamedTensor &tokens) {
  if (!input.upperBound)
    return Status();
  std::array<int64_t, 4096> values = {};
  const auto max = static_cast<int64_t>(values.size());
  for (int64_t first = 0; first < tokens.shape[0]; first += max) {
    const int64_t count = std::min(max, tokens.shape[0] - first);
    convertElements(tokens.data.data() + first * byteSize(tokens.dtype),
                    tokens.dtype, reinterpret_cast<std::byte *>(values.data()),
                    Dtype::I64, count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t value = values[static_cast<size_t>(i)];
      if ((value < 0 || value >= *input.upperBound) &&
          value != input.ignoreIndex)
        return Status(ErrorCode::E0407,
                      "token " + std::to_string(value) + " at position " +
                          std::to_string(first + i) + " of '" + tokens.name +
                          "': input '" + input.name +
                          "' takes values from 0 to " +
                          std::to_string(*input.upperBound - 1));
    }
  }
  return Status();
}

/// Splits "uint32:a.bin,b.bin" at its first colon, if a layout is before it.
static std::pair<std::string, std::string>
splitLayout(const std::string &text) {
  for (const char *layout : {"uint16", "uint32", "bin-header"})
    if (text.starts_with(std::string(layout) + ":"))
      return {layout, text.substr(std::strlen(layout) + 1)};
  return {"", text};
}

DataSourceOr openTokenData(const std::string &text,
                           const std::vector<Input> &inputs,
                           std::optional<int64_t> tokenShift) {
  const auto [layout, paths] = splitLayout(text);
  const std::optional<std::vector<Content>> contents = bind(inputs);
  if (!contents)
    return Status(ErrorCode::E0405,
                  "token files need a model with one integer input [batch, "
                  "time] and at most one target of that shape (attention_mask "
                  "and position_ids are allowed, too)")
        .setHelp("put one tensor for each input into a safetensors file");
  const Input *target = find(inputs, *contents, Content::Target);
  const int64_t shift =
      target ? tokenShift.value_or(target->isShifted ? 0 : 1) : 0;
  const int64_t needed = inputs[0].shape[1] + shift;
  std::vector<TokenFile> files;
  for (const std::string &path : splitList(paths)) {
    StatusOr<TokenFile> file = openFile(path, layout);
    if (!file.ok())
      return file.status();
    if (Status status = checkInputs(inputs, file->tokens.dtype); !status.ok())
      return status;
    for (size_t i = 0; i < inputs.size(); ++i)
      if ((*contents)[i] == Content::Tokens ||
          (*contents)[i] == Content::Target)
        if (Status status = checkRange(inputs[i], file->tokens); !status.ok())
          return status;
    if (file->length() < needed)
      return Status(ErrorCode::E0406,
                    "'" + path + "' has " + std::to_string(file->length()) +
                        " tokens, a sample needs " + std::to_string(needed));
    files.push_back(std::move(*file));
  }
  return std::unique_ptr<DataSource>(
      std::make_unique<TokenData>(inputs, *contents, shift, std::move(files)));
}

} // namespace shardc::runtime
