//===- WeightsTest.cpp - Tensors of real archives -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors read from archives, held against what PyTorch reads from the same
// files: test/models/reader_values.json, written by export_reader_cases.py.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/Weights.h"

#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

using namespace shardc;
using namespace shardc::pt2;

namespace {

const std::string stridedName = "strided.pt2";
const std::string oldNanogptName = "nanogpt-torch-2.6.pt2";
const std::string folder = "test/models/";

Weights readWeights(const std::string &name) {
  StatusOr<ExportedModel> model = readArchive(folder + name);
  if (!model.ok())
    throw std::runtime_error(render(model.status(), name));
  return model->weights;
}

/// Compares every tensor of `weights` with the values PyTorch found in `name`.
void expectValuesOf(const Weights &weights, const std::string &name) {
  auto expected =
      nlohmann::json::parse(readFile(folder + "reader_values.json")).at(name);
  EXPECT_EQ(weights.entries().size(), expected.size());
  for (const auto &[tensor, values] : expected.items()) {
    const WeightEntry *entry = weights.find(tensor);
    ASSERT_TRUE(entry) << tensor;
    EXPECT_EQ(spelling(entry->dtype), values.at("dtype").get<std::string>());
    EXPECT_EQ(entry->sizes, values.at("sizes").get<std::vector<int64_t>>());
    StatusOr<std::vector<std::byte>> bytes = weights.readTensor(tensor);
    ASSERT_TRUE(bytes.ok()) << render(bytes.status(), tensor);
    EXPECT_EQ(bytes->size(),
              size_t(entry->elementCount() * byteSize(entry->dtype)));
    EXPECT_EQ(crc32_z(0, reinterpret_cast<const Bytef *>(bytes->data()),
                      bytes->size()),
              values.at("crc32").get<uint32_t>())
        << tensor;
  }
}

/// The entries of a torch 2.6 archive arranged as torch 2.8 does.
ArchiveEditor asTorch28(const std::string &name) {
  auto old = ArchiveEditor::fromFile(folder + name);
  ArchiveEditor archive;
  archive.add("m/models/model.json", old.entry("exported_program.json"));
  archive.add("m/data/weights/model.pt", old.entry("state_dict.pt"));
  archive.add("m/data/constants/model.pt", old.entry("constants.pt"));
  return archive;
}

// Views with offsets, transposed, permuted, expanded, scalar and empty tensors
// of seven dtypes come out contiguous.
TEST(Pt2Weights, GathersStridedWindows) {
  expectValuesOf(readWeights(stridedName), stridedName);
}

// Weights pickled by torch 2.6 are the same tensors.
TEST(Pt2Weights, ReadsPickledWeights) {
  expectValuesOf(readWeights(oldNanogptName), oldNanogptName);
}

// torch 2.8 has the new layout and the old pickles.
TEST(Pt2Weights, ReadsPickledWeightsInTheNewLayout) {
  StatusOr<ExportedModel> model = asTorch28(oldNanogptName).read();
  ASSERT_TRUE(model.ok()) << render(model.status(), "");
  expectValuesOf(model->weights, oldNanogptName);
}

// Parameters that are rows of one tensor share its storage without being the
// same tensor.
TEST(Pt2Weights, ReportsViewsOfOneStorage) {
  const Weights weights = readWeights(stridedName);
  EXPECT_THAT(weights.sharedStorages(),
              testing::ElementsAre(testing::ElementsAre("row1", "row2")));
  EXPECT_THAT(weights.tiedNames(), testing::IsEmpty());
}

// Tied weights share their storage and their window, in both formats.
TEST(Pt2Weights, ReportsTiedWeights) {
  for (const std::string &name : {std::string("nanogpt.pt2"), oldNanogptName}) {
    EXPECT_THAT(readWeights(name).tiedNames(),
                testing::ElementsAre(testing::ElementsAre(
                    "lm_head.weight", "transformer.wte.weight")))
        << name;
  }
}

// Parameters are told from buffers.
TEST(Pt2Weights, KnowsParameters) {
  Weights weights = readWeights(stridedName);
  EXPECT_TRUE(weights.find("scale.factors")->isParameter);
  EXPECT_TRUE(weights.find("scale.factors")->requiresGrad);
  EXPECT_FALSE(weights.find("mask")->isParameter);
  EXPECT_TRUE(readWeights(oldNanogptName).find("lm_head.weight")->isParameter);
}

// An export under FakeTensorMode has sizes but no bytes, and says so. Its
// tensors all name one storage, which is no sign of aliasing.
TEST(Pt2Weights, SaysWhenThereAreNoWeights) {
  Weights weights = readWeights("weight-free.pt2");
  EXPECT_TRUE(weights.isWeightFree());
  EXPECT_FALSE(weights.isSharingKnown());
  EXPECT_TRUE(weights.sharedStorages().empty());
  EXPECT_EQ(weights.find("weight")->sizes, (std::vector<int64_t>{2, 3}));
  StatusOr<std::vector<std::byte>> bytes = weights.readTensor("weight");
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), ErrorCode::E0115);
}

// What the export helper recorded tells which of its tensors are tied.
TEST(Pt2Weights, ReadsWhatIsTiedWithoutWeights) {
  Weights weights = readWeights("tied-weight-free.pt2");
  EXPECT_TRUE(weights.isWeightFree());
  EXPECT_TRUE(weights.isSharingKnown());
  EXPECT_THAT(weights.tiedNames(), testing::ElementsAre(testing::ElementsAre(
                                       "embedding.weight", "output.weight")));
}

// A tensor without elements has no bytes either, but lacks nothing.
TEST(Pt2Weights, ReadsTensorsWithoutElements) {
  Weights weights = readWeights(stridedName);
  EXPECT_FALSE(weights.isWeightFree());
  EXPECT_TRUE(weights.readTensor("empty")->empty());
}

TEST(Pt2Weights, RefusesUnknownNames) {
  StatusOr<std::vector<std::byte>> bytes =
      readWeights(stridedName).readTensor("absent");
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), ErrorCode::E0113);
  EXPECT_EQ(bytes.status().message(), "the archive has no tensor 'absent'");
}

// A flipped bit in a payload is found when the tensor is read.
TEST(Pt2Weights, ChecksPayloads) {
  std::string bytes = readFile(folder + stridedName);
  std::string row = ArchiveEditor(bytes).entry("weight_0");
  bytes[bytes.find(row) + 30] ^= 1;
  StatusOr<ExportedModel> model = readArchiveBytes(bytes);
  ASSERT_TRUE(model.ok()) << render(model.status(), "");
  StatusOr<std::vector<std::byte>> tensor = model->weights.readTensor("row1");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), ErrorCode::E0102);
}

} // namespace
