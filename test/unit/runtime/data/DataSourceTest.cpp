//===- DataSourceTest.cpp - Samples from files and generators -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every kind of data: the right samples, and an error that names what does not
// fit.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/data/Conversion.h"
#include "runtime/data/DataSource.h"
#include "runtime/data/NpyFile.h"
#include "runtime/format/Philox.h"
#include "runtime/format/Safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Dtype;
using format::Input;

namespace {
template <typename T>
format::Bytes bytesOf(const std::vector<T> &values) {
  return std::as_bytes(std::span(values));
}

template <typename T>
std::string textOf(const std::vector<T> &values) {
  return std::string(format::textOf(bytesOf(values)));
}

/// `count` elements of input `index` from sample `first` on.
template <typename T>
std::vector<T> readSamples(const DataSource &data, size_t index, int64_t first,
                           int64_t count, int64_t elements) {
  std::vector<T> values(size_t(count * elements));
  const Status status =
      data.readRange(index, first, count, elements * int64_t(sizeof(T)),
                     reinterpret_cast<std::byte *>(values.data()));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

/// A .npy file as NumPy writes it.
std::string npy(const std::string &description, const std::string &shape,
                const std::string &data, const std::string &order = "False") {
  std::string header = "{'descr': '" + description +
                       "', 'fortran_order': " + order + ", 'shape': " + shape +
                       ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  return std::string("\x93NUMPY\1\0", 8) +
         std::string{static_cast<char>(header.size() & 0xFF),
                     static_cast<char>(header.size() >> 8)} +
         header + data;
}

const std::vector<Input> tokenInputs = {
    {"idx", Dtype::I64, {2, 3}, 10, {}},
    {"targets", Dtype::I64, {2, 3}, 10, -1}};

ErrorCode codeOf(const DataSourceOr &data) {
  EXPECT_FALSE(data.ok());
  return data.status().code();
}

class DataTest : public ::testing::Test {
protected:
  const TemporaryFolder folder;
};
} // namespace

TEST_F(DataTest, TokensAreWindowsAndTheSameOneFurther) {
  const std::string path = folder.file("tokens.bin");
  writeFile(path, textOf(std::vector<uint16_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  const auto data = openData("tokens:" + path, tokenInputs, 0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  // Nine tokens have two windows of three with a token behind.
  EXPECT_EQ((*data)->samples(), 2);
  EXPECT_EQ(readSamples<int64_t>(**data, 0, 0, 2, 3),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(readSamples<int64_t>(**data, 1, 0, 2, 3),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  // The data starts over at its end.
  EXPECT_EQ(readSamples<int64_t>(**data, 0, 3, 2, 3),
            (std::vector<int64_t>{3, 4, 5, 0, 1, 2}));
}

TEST_F(DataTest, TokensMayBeAnArrayOfNumpy) {
  const std::string path = folder.file("tokens.npy");
  writeFile(path, npy("<i4", "(7,)",
                      textOf(std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7})));
  for (const std::string &name : {"tokens:" + path, path}) {
    const auto data = openData(name, tokenInputs, 0);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ(readSamples<int64_t>(**data, 1, 1, 1, 3),
              (std::vector<int64_t>{5, 6, 7}));
  }
}

TEST_F(DataTest, TokensThatDoNotFitAreRefused) {
  const std::string path = folder.file("tokens.bin");
  writeFile(path, "abc");
  EXPECT_EQ(codeOf(openTokenData(path, tokenInputs)), ErrorCode::E0404);
  writeFile(path, textOf(std::vector<uint16_t>{1, 2, 3}));
  EXPECT_EQ(codeOf(openTokenData(path, tokenInputs)), ErrorCode::E0406);
  EXPECT_EQ(codeOf(openTokenData(folder.file("missing"), tokenInputs)),
            ErrorCode::E0403);
  EXPECT_EQ(codeOf(openTokenData(path, {tokenInputs[1]})), ErrorCode::E0405);
  const std::vector<Input> narrow = {{"a", Dtype::U8, {2, 3}, {}, {}},
                                     {"b", Dtype::U8, {2, 3}, {}, {}}};
  EXPECT_EQ(codeOf(openTokenData(path, narrow)), ErrorCode::E0405);
  writeFile(path, npy("<f4", "(1,)", "1234"));
  EXPECT_EQ(codeOf(openTokenData(path, tokenInputs)), ErrorCode::E0405);
}

TEST_F(DataTest, ATokenBeyondTheVocabularyIsNamed) {
  const std::string path = folder.file("tokens.bin");
  writeFile(path, textOf(std::vector<uint16_t>{1, 2, 3, 4, 11, 6, 7}));
  const auto data = openTokenData(path, tokenInputs);
  EXPECT_EQ(codeOf(data), ErrorCode::E0407);
  EXPECT_EQ(data.status().message(),
            "token 11 at position 4 of '" + path +
                "': input 'idx' takes values from 0 to 9");
}

TEST_F(DataTest, TokensAreBoundByNames) {
  const std::string path = folder.file("tokens.bin");
  writeFile(path, textOf(std::vector<uint16_t>{0, 1, 2, 3, 4, 5, 6}));
  const std::vector<Input> inputs = {
      {"labels", Dtype::I64, {2, 3}, 10, -100},
      {"attention_mask", Dtype::I64, {2, 3}, {}, {}},
      {"position_ids", Dtype::I64, {2, 3}, 3, {}},
      {"input_ids", Dtype::I64, {2, 3}, 10, {}}};
  const auto data = openTokenData(path, inputs);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const std::vector<std::vector<int64_t>> expected = {
      {4, 5, 6}, {1, 1, 1}, {0, 1, 2}, {3, 4, 5}};
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(readSamples<int64_t>(**data, i, 1, 1, 3), expected[i]);
  const std::vector<Input> only = {{"x", Dtype::I64, {2, 3}, 10, {}}};
  const auto text = openTokenData(path, only);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ((*text)->samples(), 2);
}

// Twice shifted, a model would learn the token after the next.
TEST_F(DataTest, TokensAreShiftedOnce) {
  const std::string path = folder.file("tokens.bin");
  writeFile(path, textOf(std::vector<uint16_t>{0, 1, 2, 3, 4, 5, 6}));
  std::vector<Input> inputs = {{"input_ids", Dtype::I64, {2, 3}, 10, {}},
                               {"labels", Dtype::I64, {2, 3}, 10, -100}};
  const auto has = [](const DataSourceOr &data, const std::string &text) {
    return (*data)->description().find(text) != std::string::npos;
  };
  const auto plain = openTokenData(path, inputs);
  EXPECT_EQ(readSamples<int64_t>(**plain, 1, 0, 1, 3)[0], 1);
  EXPECT_TRUE(has(plain, "input 'labels' at position i is token i + 1"));
  inputs[1].isShifted = true;
  const auto byModel = openTokenData(path, inputs);
  EXPECT_EQ(readSamples<int64_t>(**byModel, 1, 0, 1, 3)[0], 0);
  EXPECT_TRUE(has(byModel, "is token i + 1, as the model shifts it itself"));
  EXPECT_FALSE(has(byModel, "warning"));
  const auto twice = openTokenData(path, inputs, 1);
  EXPECT_EQ(readSamples<int64_t>(**twice, 1, 0, 1, 3)[0], 1);
  EXPECT_TRUE(has(twice, "is token i + 2"));
  EXPECT_TRUE(has(twice, "warning: language models predict token i + 1"));
}

// numpy's integers have 64 bits.
TEST_F(DataTest, WiderTokensAreNotReadAsUint16) {
  const std::vector<Input> inputs = {{"tokens", Dtype::I64, {1, 2}, 10, {}},
                                     {"targets", Dtype::I64, {1, 2}, 10, {}}};
  const std::string path = folder.file("tokens.bin");
  writeFile(path, textOf(std::vector<int64_t>{5, 6, 0, 7, 8}));
  EXPECT_EQ(openTokenData(path, inputs).status().code(), ErrorCode::E0405);
  writeFile(path, textOf(std::vector<int32_t>{5, 6, 0, 7, 8}));
  const Status status = openTokenData(path, inputs).status();
  EXPECT_EQ(status.code(), ErrorCode::E0405);
  EXPECT_NE(status.help().find("tokens:uint32:FILE"), std::string::npos);
  writeFile(path, textOf(std::vector<uint16_t>{5, 0, 6, 0, 7, 1}));
  EXPECT_TRUE(openTokenData(path, inputs).ok());
}

TEST_F(DataTest, TokensMayBeInSeveralFilesOfAnyLayout) {
  const std::string a = folder.file("a.bin"), b = folder.file("b.bin");
  // A window does not go from one file into the next.
  writeFile(a, textOf(std::vector<uint16_t>{0, 1, 2, 3, 9, 9}));
  writeFile(b, textOf(std::vector<uint16_t>{4, 5, 6, 7}));
  const auto two = openData("tokens:" + a + "," + b, tokenInputs, 0);
  ASSERT_TRUE(two.ok()) << two.status().message();
  EXPECT_EQ((*two)->samples(), 2);
  EXPECT_EQ((*two)->files(), (std::vector<std::string>{a, b}));
  EXPECT_EQ(readSamples<int64_t>(**two, 1, 0, 2, 3),
            (std::vector<int64_t>{1, 2, 3, 5, 6, 7}));

  writeFile(a, textOf(std::vector<uint32_t>{0, 1, 2, 3}));
  const auto wide = openData("tokens:uint32:" + a, tokenInputs, 0);
  ASSERT_TRUE(wide.ok()) << wide.status().message();
  EXPECT_EQ(readSamples<int64_t>(**wide, 0, 0, 1, 3),
            (std::vector<int64_t>{0, 1, 2}));

  std::vector<uint32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 4;
  const std::string tokens = textOf(std::vector<uint16_t>{5, 6, 7, 8});
  writeFile(a, textOf(header) + tokens);
  for (const std::string &name : {"tokens:" + a, "tokens:bin-header:" + a}) {
    const auto data = openData(name, tokenInputs, 0);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ(readSamples<int64_t>(**data, 0, 0, 1, 3),
              (std::vector<int64_t>{5, 6, 7}));
  }
  header[2] = 5;
  writeFile(a, textOf(header) + tokens);
  for (const std::string &name : {"tokens:" + a, "tokens:bin-header:" + a})
    EXPECT_EQ(codeOf(openData(name, tokenInputs, 0)), ErrorCode::E0404);
  // Read plainly, the header's numbers are beyond the vocabulary.
  EXPECT_EQ(codeOf(openData("tokens:uint16:" + a, tokenInputs, 0)),
            ErrorCode::E0407);
}

// A graph's nodes and edges, and a number that changes from step to step.
TEST_F(DataTest, SamplesMayBeWholeMicroBatches) {
  const std::vector<Input> inputs = {{"nodes", Dtype::F32, {3, 1}, {}, {}},
                                     {"edges", Dtype::I64, {2, 2}, 3, {}},
                                     {"weight", Dtype::F32, {}, {}, {}}};
  EXPECT_EQ(format::samplesOfMicroBatch(inputs), 1);
  const std::vector<float> nodes = {0, 1, 2, 3, 4, 5}, weights = {0.5, 0.25};
  const std::vector<int64_t> edges = {0, 1, 1, 2, 2, 2, 0, 0};
  const std::string both = folder.file("0.safetensors");
  ASSERT_TRUE(format::writeSafetensors(
                  both,
                  {{"nodes", Dtype::F32, {2, 3, 1}, bytesOf(nodes)},
                   {"edges", Dtype::I64, {2, 2, 2}, bytesOf(edges)},
                   {"weight", Dtype::F32, {2}, bytesOf(weights)}},
                  {})
                  .ok());
  const auto expectSecond = [&](const DataSource &data, int64_t sample) {
    EXPECT_EQ(readSamples<float>(data, 0, sample, 1, 3),
              (std::vector<float>{3, 4, 5}));
    EXPECT_EQ(readSamples<int64_t>(data, 1, sample, 1, 4),
              (std::vector<int64_t>{2, 2, 0, 0}));
    EXPECT_EQ(readSamples<float>(data, 2, sample, 1, 1)[0], 0.25f);
  };
  const auto file = openData(both, inputs, 0);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->samples(), 2);
  expectSecond(**file, 1);

  // One more micro-batch in a file of its own, the third of the folder.
  ASSERT_TRUE(format::writeSafetensors(
                  folder.file("1.safetensors"),
                  {{"nodes", Dtype::F32, {3, 1}, bytesOf(nodes).subspan(12)},
                   {"edges", Dtype::I64, {2, 2}, bytesOf(edges).subspan(32)},
                   {"weight", Dtype::F32, {}, bytesOf(weights).subspan(4)}},
                  {})
                  .ok());
  const std::string path = both.substr(0, both.rfind('/'));
  const auto all = openData(path, inputs, 0);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ((*all)->samples(), 3);
  expectSecond(**all, 1);
  expectSecond(**all, 2);
  const auto random = openData("random", inputs, 1);
  ASSERT_TRUE(random.ok());
  EXPECT_NE(readSamples<float>(**random, 2, 0, 2, 1)[0],
            readSamples<float>(**random, 2, 0, 2, 1)[1]);
}

TEST_F(DataTest, AValueBeyondItsBoundIsFoundAtOnce) {
  const std::string path = folder.file("data.safetensors");
  const std::vector<int32_t> labels = {7, 8, 9};
  ASSERT_TRUE(format::writeSafetensors(
                  path, {{"labels", Dtype::I32, {3}, bytesOf(labels)}}, {})
                  .ok());
  const auto data = openData(path, {{"labels", Dtype::I64, {4}, 9, -1}}, 0);
  EXPECT_EQ(codeOf(data), ErrorCode::E0407);
  EXPECT_EQ(data.status().message(),
            "input 'labels' has value 9 in sample 2, expected values from 0 to "
            "8, or -1");
}

TEST_F(DataTest, SafetensorsAreFoundByNameOrPositionAndWidened) {
  const std::string path = folder.file("data.safetensors");
  const std::vector<uint8_t> images = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> labels = {7, 8, -1};
  ASSERT_TRUE(
      format::writeSafetensors(path,
                               {{"input0", Dtype::U8, {3, 2}, bytesOf(images)},
                                {"labels", Dtype::I32, {3}, bytesOf(labels)}},
                               {})
          .ok());
  const std::vector<Input> inputs = {{"x", Dtype::F32, {4, 2}, {}, {}},
                                     {"labels", Dtype::I64, {4}, 9, -1}};
  const auto data = openData(path, inputs, 0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->samples(), 3);
  EXPECT_EQ(readSamples<float>(**data, 0, 2, 2, 2),
            (std::vector<float>{5, 6, 1, 2}));
  EXPECT_EQ(readSamples<int64_t>(**data, 1, 0, 3, 1),
            (std::vector<int64_t>{7, 8, -1}));
}

TEST_F(DataTest, SafetensorsThatDoNotFitAreRefused) {
  const std::string path = folder.file("data.safetensors");
  const std::vector<float> values(6);
  std::vector<Input> inputs = {{"x", Dtype::F32, {4, 2}, {}, {}}};
  auto open = [&](std::vector<int64_t> shape, Dtype dtype, size_t elements) {
    const auto data = format::Bytes(bytesOf(values)).first(elements * 4);
    EXPECT_TRUE(
        format::writeSafetensors(path, {{"x", Dtype::F32, shape, data}}, {})
            .ok());
    inputs[0].dtype = dtype;
    return openData(path, inputs, 0);
  };
  const auto wrongShape = open({2, 3}, Dtype::F32, 6);
  EXPECT_EQ(wrongShape.status().code(), ErrorCode::E0405);
  EXPECT_EQ(wrongShape.status().message(),
            "tensor 'x' has shape [2, 3], input 'x' needs [samples, 2]");
  EXPECT_EQ(codeOf(open({}, Dtype::F32, 1)), ErrorCode::E0405);
  const auto wrongDtype = open({3, 2}, Dtype::I64, 6);
  EXPECT_EQ(wrongDtype.status().code(), ErrorCode::E0405);
  EXPECT_EQ(wrongDtype.status().message(),
            "tensor 'x' has dtype f32, input 'x' has i64");
  EXPECT_EQ(codeOf(open({0, 2}, Dtype::F32, 0)), ErrorCode::E0406);
  const std::vector<Input> other = {{"y", Dtype::F32, {4, 2}, {}, {}}};
  EXPECT_EQ(codeOf(openData(path, other, 0)), ErrorCode::E0405);
  writeFile(path, "not a safetensors file");
  EXPECT_EQ(codeOf(openData(path, other, 0)), ErrorCode::E0404);
}

TEST_F(DataTest, SafetensorsWithDifferentNumbersOfSamplesAreRefused) {
  const std::string path = folder.file("data.safetensors");
  const std::vector<float> values(5);
  const auto data = format::Bytes(bytesOf(values));
  ASSERT_TRUE(
      format::writeSafetensors(path,
                               {{"x", Dtype::F32, {2}, data.first(8)},
                                {"y", Dtype::F32, {3}, data.subspan(8)}},
                               {})
          .ok());
  const std::vector<Input> inputs = {{"x", Dtype::F32, {1}, {}, {}},
                                     {"y", Dtype::F32, {1}, {}, {}}};
  const auto opened = openData(path, inputs, 0);
  EXPECT_EQ(opened.status().message(),
            "tensor 'y' has 3 samples, tensor 'x' has 2");
}

TEST_F(DataTest, NumpyArraysGiveRowsToTheOnlyInput) {
  const std::string path = folder.file("x.npy");
  writeFile(path, npy("<f4", "(2, 2)", textOf(std::vector<float>{1, 2, 3, 4})));
  const std::vector<Input> inputs = {{"x", Dtype::F64, {1, 2}, {}, {}}};
  const auto data = openData(path, inputs, 0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(readSamples<double>(**data, 0, 1, 1, 2),
            (std::vector<double>{3, 4}));
  EXPECT_EQ(codeOf(openData(path, tokenInputs, 0)), ErrorCode::E0405);
}

TEST(NpyFile, RefusesWhatNumpyWouldNotWriteOrWeCannotUse) {
  auto code = [](const std::string &file) {
    const auto tensor = readNpy(format::bytesOf(file), "x.npy");
    return tensor.ok() ? std::string("ok")
                       : std::string(errorNumber(tensor.status().code()));
  };
  EXPECT_EQ(code(npy("<f4", "(2,)", "12345678")), "ok");
  EXPECT_EQ(code(npy("<f4", "()", "1234")), "ok");
  EXPECT_EQ(code(npy("<f4", "(0, 7)", "")), "ok");
  EXPECT_EQ(code(""), "E0404");
  EXPECT_EQ(code("\x93NUMPY"), "E0404");
  EXPECT_EQ(code(npy("<f4", "(2,)", "12345678").substr(0, 40)), "E0404");
  EXPECT_EQ(code(npy("<f4", "(3,)", "12345678")), "E0404");
  EXPECT_EQ(code(npy(">f4", "(2,)", "12345678")), "E0404");
  EXPECT_EQ(code(npy("<c8", "(1,)", "12345678")), "E0404");
  EXPECT_EQ(code(npy("<f4", "(2,)", "12345678", "True")), "E0404");
  EXPECT_EQ(code(npy("<f4", "(-2,)", "12345678")), "E0404");
  EXPECT_EQ(code(npy("<f4", "(4611686018427387904, 4)", "")), "E0404");
  EXPECT_EQ(code(npy("<f4", "2", "12345678")), "E0404");
}

TEST(RandomData, GivesASampleTheSameNumbersWhoeverAsks) {
  const std::vector<Input> inputs = {{"x", Dtype::F32, {2, 5}, {}, {}},
                                     {"y", Dtype::I64, {2}, 7, -1}};
  const auto data = openData("random", inputs, 3);
  ASSERT_TRUE(data.ok());
  const auto all = readSamples<float>(**data, 0, 0, 6, 5);
  const auto some = readSamples<float>(**data, 0, 4, 2, 5);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 20));
  const auto other = openRandomData(inputs, 4);
  EXPECT_NE(readSamples<float>(**other, 0, 0, 6, 5), all);
}

TEST(RandomData, IsNormalOrUniformBelowTheBound) {
  const std::vector<Input> inputs = {{"x", Dtype::F64, {1, 1000}, {}, {}},
                                     {"y", Dtype::U8, {1, 1000}, 7, {}},
                                     {"z", Dtype::Bool, {1, 1000}, {}, {}}};
  const auto data = openRandomData(inputs, 0);
  ASSERT_TRUE(data.ok());
  double sum = 0, squares = 0;
  for (const double value : readSamples<double>(**data, 0, 0, 20, 1000)) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 20'000, 0, 0.03);
  EXPECT_NEAR(squares / 20'000, 1, 0.05);
  std::array<int, 7> counts = {};
  for (const uint8_t value : readSamples<uint8_t>(**data, 1, 0, 7, 1000))
    ++counts.at(value);
  for (const int count : counts)
    EXPECT_NEAR(count, 1000, 150);
  int ones = 0;
  for (const uint8_t value : readSamples<uint8_t>(**data, 2, 0, 1, 1000)) {
    ASSERT_LE(value, 1);
    ones += value;
  }
  EXPECT_NEAR(ones, 500, 80);
}

// A bound that comes from a large table says nothing about a small dtype.
TEST(RandomData, StaysBelowTheBoundAndInsideTheDtype) {
  const std::vector<Input> inputs = {{"signed", Dtype::I8, {1, 400}, 1000, {}},
                                     {"byte", Dtype::U8, {1, 400}, 256, {}}};
  const auto data = openRandomData(inputs, 0);
  ASSERT_TRUE(data.ok());
  const auto values = readSamples<int8_t>(**data, 0, 0, 1, 400);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 100);
  const auto bytes = readSamples<uint8_t>(**data, 1, 0, 1, 400);
  EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), 200);
}

TEST(RandomData, NeedsABoundForIntegers) {
  const std::vector<Input> inputs = {{"y", Dtype::I64, {2}, {}, {}}};
  const auto data = openRandomData(inputs, 0);
  EXPECT_EQ(codeOf(data), ErrorCode::E0405);
  EXPECT_EQ(data.status().message(), "random data cannot be made for input "
                                     "'y' of dtype i64 without an upper bound");
}

TEST(Data, OfAnUnknownKindIsAUsageError) {
  const auto data = openData("images.zip", tokenInputs, 0);
  EXPECT_EQ(codeOf(data), ErrorCode::E0001);
}

// The known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(
      format::philox({0, 0, 0, 0}, {0, 0}),
      (format::PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      format::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                     {0xffffffff, 0xffffffff}),
      (format::PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      format::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
      (format::PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}
