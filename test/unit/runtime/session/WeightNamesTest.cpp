//===- WeightNamesTest.cpp - Tests for names of weights -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prefixes, nearest names, and the files that Hugging Face writes.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/NearestName.h"
#include "runtime/session/InitialStates.h"
#include "runtime/train/WeightFiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::testing;
using format::Dtype;

static NamePrefix found(const std::vector<TensorNames> &model,
                        const std::vector<std::string> &file,
                        const std::optional<std::string> &given = {}) {
  const StatusOr<NamePrefix> prefix = findPrefix(model, file, given);
  EXPECT_TRUE(prefix.ok());
  return prefix.ok() ? *prefix : NamePrefix();
}

TEST(NamePrefix, IsEmptyWhereNamesAreTheSame) {
  EXPECT_EQ(
      found({{"a.weight"}, {"b.a.weight"}}, {"a.weight", "b.a.weight"}).text,
      "");
}

TEST(NamePrefix, IsTheWrappersAroundTheModel) {
  const NamePrefix prefix =
      found({{"model.model.embed.weight", "model.lm_head.weight"},
             {"model.model.norm.weight"}},
            {"model.embed.weight", "model.norm.weight"});
  EXPECT_EQ(prefix.text, "model.");
  EXPECT_TRUE(prefix.inModel);
  EXPECT_EQ(prefix.toModel("exp_avg/norm.weight"), "exp_avg/model.norm.weight");
  EXPECT_EQ(prefix.toFile("other.weight"), std::nullopt);
}

TEST(NamePrefix, IsTheWrappersAroundWhatWasSaved) {
  const NamePrefix prefix = found({{"fc.weight"}, {"fc.bias"}},
                                  {"module.fc.weight", "module.fc.bias"});
  EXPECT_EQ(prefix.text, "module.");
  EXPECT_FALSE(prefix.inModel);
  EXPECT_EQ(prefix.toModel("module.fc.bias"), "fc.bias");
}

TEST(NamePrefix, IsAskedForWhereTwoFit) {
  const StatusOr<NamePrefix> prefix =
      findPrefix({{"fc.weight"}}, {"a.fc.weight", "b.fc.weight"}, {});
  EXPECT_EQ(prefix.status().code(), ErrorCode::E0402);
  EXPECT_EQ(prefix.status().message(),
            "weights fit the model with more than one prefix: 'a.', 'b.'");
  EXPECT_EQ(found({{"fc.weight"}}, {"a.fc.weight", "b.fc.weight"}, "b.").text,
            "b.");
}

TEST(NearestName, FindsTypingErrorsAndChangedComponents) {
  const std::vector<std::string> options = {"--steps", "--seed", "--save"};
  EXPECT_EQ(format::nearestName("--stepz", options), "--steps");
  EXPECT_EQ(format::nearestName("--stpes", options), "--steps");
  EXPECT_EQ(format::nearestName("--tokenizer", options), std::nullopt);
  EXPECT_EQ(format::nearestName("layers.0.q.weight",
                                {"layers.1.k.bias", "layers.0.query.weight"}),
            "layers.0.query.weight");
  const std::vector<std::string> none;
  EXPECT_EQ(format::nearestName("x", none), std::nullopt);
}

TEST(NearestName, FindsNamesThatArePartsButNoUnlikeOnes) {
  const std::vector<std::string> keys = {"beta1", "epsilon", "lr_scale",
                                         "reshard_after_forward"};
  EXPECT_EQ(format::nearestName("eps", keys), "epsilon");
  EXPECT_EQ(format::nearestName("lr", keys), "lr_scale");
  EXPECT_EQ(format::nearestName("reshard", keys), "reshard_after_forward");
  EXPECT_EQ(format::nearestName("world_size", keys), std::nullopt);
  const std::vector<std::string> machines = {"b200", "h100-sxm"};
  EXPECT_EQ(format::nearestName("H100", machines), "h100-sxm");
  EXPECT_EQ(format::nearestName("v100", machines), std::nullopt);
  const std::vector<std::string> weights = {"model.bn1.weight"};
  EXPECT_EQ(format::nearestName("fc1.weight", weights), std::nullopt);
  EXPECT_EQ(format::nearestName("bn1.weight", weights), "model.bn1.weight");
}

/// Writes the tensors of the tiny model into two files and an index.
static void writeSplit(const TinyModel &model, const TemporaryFolder &folder,
                       const std::string &prefix) {
  std::vector<format::NamedTensor> tensors = *model.artifact.weights;
  std::string map;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = prefix + tensors[i].name;
    const std::string file = "model-" + std::to_string(i % 2) + ".safetensors";
    map += (map.empty() ? "\"" : ", \"") + tensors[i].name + "\": \"" + file +
           "\"";
  }
  for (const size_t part : {0, 1}) {
    std::vector<format::NamedTensor> some;
    for (size_t i = part; i < tensors.size(); i += 2)
      some.push_back(tensors[i]);
    ASSERT_TRUE(
        format::writeSafetensors(
            folder.file("model-" + std::to_string(part) + ".safetensors"), some,
            {{"format", "pt"}})
            .ok());
  }
  writeFile(folder.file("model.safetensors.index.json"),
            "{\"metadata\": {\"total_size\": 64}, \"weight_map\": {" + map +
                "}}");
}

TEST(WeightFiles, AreReadByIndexOrFolder) {
  const TinyModel model(1);
  const TemporaryFolder folder;
  writeSplit(model, folder, "");
  const std::string index = folder.file("model.safetensors.index.json");
  for (const std::string &path :
       {index, std::filesystem::path(index).parent_path().string()}) {
    const StatusOr<Weights> weights = openWeights(path);
    ASSERT_TRUE(weights.ok()) << weights.status().message();
    EXPECT_EQ(weights->tensors.size(), model.artifact.weights->size());
    EXPECT_TRUE(matchWeights(weights->tensors, model.artifact, {}).ok());
  }
}

TEST(WeightFiles, AreRefusedWhereIndexAndFilesDisagree) {
  const TinyModel model(1);
  const TemporaryFolder folder;
  const std::string index = folder.file("model.safetensors.index.json");
  const auto messageFor = [&](const std::string &text) {
    writeSplit(model, folder, "");
    writeFile(index, text);
    return openWeights(index).status().message();
  };
  EXPECT_NE(messageFor(R"({"weight_map": {"a": "model-0.safetensors"}})")
                .find("model-0.safetensors' lacks 'a'"),
            std::string::npos);
  EXPECT_NE(messageFor(R"({"weight_map": {"a": "../m.safetensors"}})")
                .find("expected a file in the folder of the index"),
            std::string::npos);
  EXPECT_NE(messageFor("{}").find("weight_map"), std::string::npos);
  EXPECT_EQ(openWeights(folder.file("none")).status().code(), ErrorCode::E0403);
}

// What PyTorch does not save, the artifact has.
TEST(InitialStates, TakeBuffersThatAreNotPersistentFromTheArtifact) {
  TinyModel model(1);
  std::vector<format::NamedTensor> saved = *model.artifact.weights;
  std::erase_if(saved, [](const format::NamedTensor &tensor) {
    return tensor.name == "linear.mean";
  });
  const StatusOr<InitialStates> missing =
      matchWeights(saved, model.artifact, {});
  EXPECT_EQ(missing.status().message(), "weights lack 'linear.mean'");
  for (format::State &state : model.artifact.parameters.states)
    state.isPersistent = state.role != format::Role::Buffer;
  EXPECT_TRUE(matchWeights(saved, model.artifact, {}).ok());
  model.artifact.weights.reset();
  EXPECT_FALSE(matchWeights(saved, model.artifact, {}).ok());
}

TEST(InitialStates, RefuseWhatNoStateTakes) {
  const TinyModel model(1);
  std::vector<format::NamedTensor> saved = *model.artifact.weights;
  saved.push_back({"extra", Dtype::F32, {0}, {}});
  const StatusOr<InitialStates> unused =
      matchWeights(saved, model.artifact, {});
  EXPECT_EQ(unused.status().message(),
            "weights have 'extra', which the model does not");
  MatchRules rules;
  rules.ignoresUnused = true;
  EXPECT_TRUE(matchWeights(saved, model.artifact, rules).ok());
}

TEST(MatchWeights, NamesOfOneTensorHaveTheSameValues) {
  TinyModel model(1);
  format::Artifact &artifact = model.artifact;
  format::SegmentParameter &parameter =
      artifact.parameters.segments[0].parameters[0];
  std::vector<format::NamedTensor> weights = *artifact.weights;
  const auto own =
      std::find_if(weights.begin(), weights.end(), [&](const auto &tensor) {
        return tensor.name == parameter.name;
      });
  ASSERT_NE(own, weights.end());
  parameter.aliases = {"other.name"};
  std::vector<std::byte> bytes(own->data.begin(), own->data.end());
  weights.push_back({"other.name", own->dtype, own->shape, bytes});
  EXPECT_TRUE(matchWeights(weights, artifact, {}).ok());
  bytes[0] ^= std::byte(1);
  const Status status = matchWeights(weights, artifact, {}).status();
  EXPECT_EQ(status.code(), ErrorCode::E0402);
  EXPECT_EQ(status.message(),
            "weights have '" + parameter.name +
                "' and 'other.name', which are one tied tensor in the model, "
                "with different values");
  weights.back().shape = {1};
  EXPECT_FALSE(matchWeights(weights, artifact, {}).ok());
}
