//===- SafetensorsTest.cpp - Strict reading of safetensors ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Round trips, and headers that the reference implementation refuses.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/Safetensors.h"

#include <gtest/gtest.h>

#include <array>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
/// A file of this header and so many bytes of data.
std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string file;
  for (size_t i = 0; i < 8; ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(dataBytes, 'x');
}

Status readText(const std::string &file) {
  StatusOr<SafetensorsContent> content =
      readSafetensors(bytesOf(file), "file", ErrorCode::E0404);
  return content.ok() ? Status() : content.status();
}
} // namespace

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const std::array<int64_t, 1> scalar = {7};
  const std::string path = folder.file("x.safetensors");
  ASSERT_TRUE(
      writeSafetensors(
          path,
          {{"b/ü", Dtype::F32, {2, 3}, std::as_bytes(std::span(values))},
           {"a", Dtype::I64, {}, std::as_bytes(std::span(scalar))},
           {"none", Dtype::BF16, {0, 4}, {}}},
          {{"key", "value"}})
          .ok());
  const std::string file = readFile(path);
  const auto content = readSafetensors(bytesOf(file), "x", ErrorCode::E0404);
  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_EQ(content->metadata, (Metadata{{"key", "value"}}));
  ASSERT_EQ(content->tensors.size(), 3u);
  const NamedTensor *tensor = content->find("b/ü");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(textOf(tensor->data), textOf(std::as_bytes(std::span(values))));
  EXPECT_EQ(content->find("none")->data.size(), 0u);
  EXPECT_EQ(content->find("missing"), nullptr);
  // The data begins at a multiple of 64 bytes.
  EXPECT_EQ((textOf(tensor->data).data() - file.data()) % 64, 0);
}

TEST(Safetensors, AcceptsAFileWithoutTensors) {
  EXPECT_TRUE(readText(fileOf("{}", 0)).ok());
  EXPECT_TRUE(readText(fileOf("{}   ", 0)).ok());
}

TEST(Safetensors, RefusesHeadersThatDoNotFitTheFile) {
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_TRUE(readText(fileOf(good, 8)).ok());
  EXPECT_FALSE(readText("").ok());
  EXPECT_FALSE(readText("1234567").ok());
  EXPECT_FALSE(readText(std::string(8, '\xff')).ok());
  EXPECT_FALSE(readText(fileOf(good, 8).substr(0, 40)).ok());
  EXPECT_FALSE(readText(fileOf(" " + good, 8)).ok());
  EXPECT_FALSE(readText(fileOf("[]", 0)).ok());
  EXPECT_FALSE(readText(fileOf(good + "x", 8)).ok());
}

TEST(Safetensors, RefusesTensorsThatDoNotTileTheData) {
  auto two = [](const std::string &first, const std::string &second) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" + second +
           "}}";
  };
  EXPECT_TRUE(readText(fileOf(two("[0,8]", "[8,16]"), 16)).ok());
  EXPECT_TRUE(readText(fileOf(two("[8,16]", "[0,8]"), 16)).ok());
  EXPECT_FALSE(readText(fileOf(two("[0,8]", "[8,16]"), 17)).ok());
  EXPECT_FALSE(readText(fileOf(two("[0,8]", "[9,17]"), 17)).ok());
  EXPECT_FALSE(readText(fileOf(two("[0,8]", "[0,8]"), 8)).ok());
  EXPECT_FALSE(readText(fileOf(two("[0,8]", "[4,12]"), 12)).ok());
  EXPECT_FALSE(readText(fileOf(two("[0,8]", "[16,8]"), 16)).ok());
  EXPECT_FALSE(
      readText(fileOf(two("[0,8]", "[8,18446744073709551615]"), 16)).ok());
}

TEST(Safetensors, RefusesMalformedTensors) {
  for (
      const char *header :
      {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
       R"({"a":{"dtype":"F32","shape":[2]}})", R"({"a":1})",
       R"({"__metadata__":{"a":1}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
       R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"})
    EXPECT_EQ(readText(fileOf(header, 8)).code(), ErrorCode::E0404) << header;
}

TEST(Safetensors, LeavesTheOldFileWhenItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_EQ(writeSafetensors(folder.file("no/x"), {}, {}).code(),
            ErrorCode::E0601);
  EXPECT_EQ(writeSafetensors("/dev/full", {}, {}).code(), ErrorCode::E0601);
}
