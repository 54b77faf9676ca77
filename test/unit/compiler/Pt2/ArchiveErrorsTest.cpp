//===- ArchiveErrorsTest.cpp - Archives that cannot be read ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One defect a case, made in an archive that PyTorch wrote: the number, the
// message and the place that the user is told.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const std::string weightsConfig = "model_weights_config.json";

ArchiveEditor strided() {
  return ArchiveEditor::fromFile("test/models/strided.pt2");
}

ArchiveEditor oldNanogpt() {
  return ArchiveEditor::fromFile("test/models/nanogpt-torch-2.6.pt2");
}

Status errorOf(const StatusOr<ExportedModel> &model) {
  if (model.ok())
    throw std::runtime_error("the archive was read");
  return model.status();
}

/// An old archive after `from` became `to` in the pickle of its weights.
ArchiveEditor withPickle(std::string_view from, std::string_view to) {
  ArchiveEditor archive = oldNanogpt();
  ArchiveEditor nested(archive.entry("state_dict.pt"));
  nested.replace("data.pkl", from, to);
  archive.entry("state_dict.pt") = nested.bytes();
  return archive;
}

TEST(Pt2ArchiveErrors, MissingFile) {
  Status error = errorOf(readArchive("test/models/absent.pt2"));
  EXPECT_EQ(error.code(), ErrorCode::E0120);
  EXPECT_EQ(error.message(),
            "cannot read 'test/models/absent.pt2': No such file or directory");
}

TEST(Pt2ArchiveErrors, FolderInsteadOfAFile) {
  Status error = errorOf(readArchive("test/models"));
  EXPECT_EQ(error.code(), ErrorCode::E0120);
}

TEST(Pt2ArchiveErrors, NotAZip) {
  Status error = errorOf(readArchive("test/models/export_reader_cases.py"));
  EXPECT_EQ(error.code(), ErrorCode::E0101);
}

TEST(Pt2ArchiveErrors, NoProgram) {
  Status error = errorOf(strided().remove("models/model.json").read());
  EXPECT_EQ(error.code(), ErrorCode::E0104);
  EXPECT_THAT(error.help(), HasSubstr("torch.export.save"));
}

// A checkpoint has weights but no program.
TEST(Pt2ArchiveErrors, TorchSaveFile) {
  Status error = errorOf(readArchiveBytes(oldNanogpt().entry("state_dict.pt")));
  EXPECT_EQ(error.code(), ErrorCode::E0104);
  EXPECT_THAT(error.message(), HasSubstr("torch.save"));
}

// package_pt2 can put several programs into an archive.
TEST(Pt2ArchiveErrors, SeveralPrograms) {
  ArchiveEditor archive = strided();
  std::string program = archive.entry("models/model.json");
  archive.remove("models/model.json");
  archive.add("strided/models/first.json", program);
  archive.add("strided/models/second.json", program);
  EXPECT_EQ(errorOf(archive.read()).code(), ErrorCode::E0104);
}

TEST(Pt2ArchiveErrors, MalformedJson) {
  Status error =
      errorOf(strided().replace("model.json", "\"nodes\"", "nodes").read());
  EXPECT_EQ(error.code(), ErrorCode::E0105);
  EXPECT_THAT(error.message(), HasSubstr("at byte"));
}

TEST(Pt2ArchiveErrors, JsonNestedTooDeeply) {
  ArchiveEditor archive = strided();
  archive.entry("model.json") = std::string(100000, '[');
  EXPECT_EQ(errorOf(archive.read()).code(), ErrorCode::E0106);
}

TEST(Pt2ArchiveErrors, JsonTooLong) {
  ArchiveEditor archive = strided();
  archive.entry("model.json").resize((size_t(128) << 20) + 1, ' ');
  EXPECT_EQ(errorOf(archive.read()).code(), ErrorCode::E0106);
}

// Few bytes of text can be many values.
TEST(Pt2ArchiveErrors, JsonWithTooManyValues) {
  ArchiveEditor archive = strided();
  std::string &json = archive.entry("model.json");
  json = "[[]";
  while (json.size() < size_t(60) << 20)
    json += ",[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]";
  json += "]";
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0106);
  EXPECT_THAT(error.message(), HasSubstr("16777216 values"));
}

TEST(Pt2ArchiveErrors, OtherSchemaVersion) {
  Status error = errorOf(
      strided().replace("model.json", "\"major\": 8", "\"major\": 9").read());
  EXPECT_EQ(error.code(), ErrorCode::E0107);
  EXPECT_THAT(error.message(),
              HasSubstr("expected export schema version 8.x, got 9."));
}

TEST(Pt2ArchiveErrors, MissingMember) {
  Status error =
      errorOf(strided().replace("model.json", "\"nodes\"", "\"knots\"").read());
  EXPECT_EQ(error.code(), ErrorCode::E0108);
  EXPECT_EQ(error.message(), "expected a member 'nodes'");
}

// Errors in a node name the argument, the node, its operator and its module.
TEST(Pt2ArchiveErrors, MemberOfTheWrongType) {
  Status error = errorOf(
      strided()
          .replace("model.json",
                   "\"self\", \"arg\": {\"as_tensor\": {\"name\": \"to_1\"}}",
                   "\"self\", \"arg\": {\"as_tensor\": {\"name\": 1}}")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0108);
  EXPECT_EQ(error.message(),
            "expected a tensor name to be a string, got number");
  EXPECT_THAT(error.notes(),
              ElementsAre("in argument 'self'",
                          "at node 'sum_5' (torch.ops.aten.sum.default)",
                          "in module 'scale'"));
}

TEST(Pt2ArchiveErrors, UnknownKindOfArgument) {
  Status error = errorOf(
      strided().replace("model.json", "as_optional_tensors", "as_tree").read());
  EXPECT_EQ(error.code(), ErrorCode::E0109);
  EXPECT_EQ(error.message(), "unknown kind of argument 'as_tree'");
  EXPECT_THAT(error.notes(),
              ElementsAre("in argument 'indices'",
                          "at node 'index_1' (torch.ops.aten.index.Tensor)"));
}

TEST(Pt2ArchiveErrors, UnknownKindOfInput) {
  Status error = errorOf(
      strided().replace("model.json", "{\"buffer\":", "{\"bucket\":").read());
  EXPECT_EQ(error.code(), ErrorCode::E0109);
}

TEST(Pt2ArchiveErrors, ObjectAsArgument) {
  Status error =
      errorOf(strided()
                  .replace("model.json", "{\"as_float\": \"-Infinity\"}",
                           "{\"as_custom_obj\": {\"name\": \"o\", "
                           "\"class_fqn\": \"lib.Queue\"}}")
                  .read());
  EXPECT_EQ(error.code(), ErrorCode::E0110);
  EXPECT_THAT(error.message(), HasSubstr("lib.Queue"));
}

TEST(Pt2ArchiveErrors, PickledPayload) {
  Status error = errorOf(strided()
                             .replace(weightsConfig, "\"use_pickle\": false",
                                      "\"use_pickle\": true")
                             .read());
  EXPECT_EQ(error.code(), ErrorCode::E0110);
  EXPECT_THAT(error.notes(), ElementsAre("in tensor 'row1'"));
}

TEST(Pt2ArchiveErrors, SparseTensor) {
  Status error =
      errorOf(strided()
                  .replace("model.json", "\"layout\": 7}", "\"layout\": 1}")
                  .read());
  EXPECT_EQ(error.code(), ErrorCode::E0111);
  EXPECT_EQ(error.message(),
            "expected a tensor of strided layout, got sparse_coo");
  EXPECT_THAT(error.notes(),
              ElementsAre("in tensor 'b_rotation'", "in subgraph 'submod_1'",
                          "in argument 1",
                          HasSubstr("higher_order.wrap_with_set_grad")));
}

TEST(Pt2ArchiveErrors, UnknownDtype) {
  Status error = errorOf(strided()
                             .replace("model.json", "{\"as_scalar_type\": 7}",
                                      "{\"as_scalar_type\": 99}")
                             .read());
  EXPECT_EQ(error.code(), ErrorCode::E0112);
  EXPECT_EQ(error.message(), "unknown dtype 99");
}

TEST(Pt2ArchiveErrors, MissingPayload) {
  Status error = errorOf(strided().remove("weight_1").read());
  EXPECT_EQ(error.code(), ErrorCode::E0113);
  EXPECT_EQ(error.message(),
            "the archive has no entry 'strided/data/weights/weight_1'");
}

TEST(Pt2ArchiveErrors, MissingWeights) {
  Status error =
      errorOf(strided().replace(weightsConfig, "\"row1\"", "\"row9\"").read());
  EXPECT_EQ(error.code(), ErrorCode::E0113);
  EXPECT_EQ(error.message(), "the archive has no weights for 'row1'");
}

TEST(Pt2ArchiveErrors, ShortPayload) {
  ArchiveEditor archive = strided();
  archive.entry("weight_0").resize(70);
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0114);
  EXPECT_EQ(error.message(), "expected a payload of at least 72 bytes, got 70");
  EXPECT_THAT(error.notes(), ElementsAre("in tensor 'row2'"));
}

// A tensor of stride 0 cannot blow up to more memory than there is.
TEST(Pt2ArchiveErrors, ExpandedBeyondReason) {
  Status error = errorOf(
      strided()
          .replace("constants_config.json",
                   "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 3}",
                   "\"sizes\": [{\"as_int\": 200000000000}, {\"as_int\": 3}")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0106);
}

TEST(Pt2ArchiveErrors, SizeOverflow) {
  Status error = errorOf(
      strided()
          .replace(
              "constants_config.json",
              "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 3}",
              "\"sizes\": [{\"as_int\": 9223372036854775807}, {\"as_int\": 3}")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
}

// An operator's result is too large to count: the node is named.
TEST(Pt2ArchiveErrors, SizeOverflowInTheGraph) {
  Status error = errorOf(
      ArchiveEditor::fromFile("test/models/weight-free.pt2")
          .replace("model.json",
                   "\"linear\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}",
                   "\"linear\": {\"dtype\": 7, \"sizes\": [{\"as_int\": "
                   "4611686018427387904}")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_EQ(error.message(), "the size of tensor 'linear' overflows 64 bits");
  EXPECT_THAT(error.notes(),
              ElementsAre("at node 'linear' (torch.ops.aten.linear.default)"));
}

// Each tensor alone may look at a whole storage; thousands of different
// windows on it may not.
TEST(Pt2ArchiveErrors, ManyWindowsOnOnePayload) {
  ArchiveEditor archive = strided();
  archive.entry("weights/weight_0") = std::string(size_t(4) << 20, '\0');
  std::string windows;
  for (int i = 0; i < 1000; ++i)
    windows += "\"w" + std::to_string(i) +
               "\": {\"path_name\": \"weight_0\", \"is_param\": false, "
               "\"use_pickle\": false, \"tensor_meta\": {\"dtype\": 1, "
               "\"sizes\": [{\"as_int\": 4000000}], \"requires_grad\": false, "
               "\"device\": {\"type\": \"cpu\", \"index\": null}, "
               "\"strides\": [{\"as_int\": 1}], \"storage_offset\": "
               "{\"as_int\": " +
               std::to_string(i) + "}, \"layout\": 7}}, ";
  archive.replace(weightsConfig, "{\"config\": {", "{\"config\": {" + windows);
  EXPECT_EQ(errorOf(archive.read()).code(), ErrorCode::E0106);
}

TEST(Pt2ArchiveErrors, TooManyDimensions) {
  std::string ones;
  for (int i = 0; i < 70; ++i)
    ones += "{\"as_int\": 1}, ";
  ArchiveEditor archive = strided();
  for (const char *list : {"\"sizes\": [", "\"strides\": ["})
    archive.replace(weightsConfig, list, list + ones);
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0106);
  EXPECT_EQ(error.message(), "the tensor has 72 dimensions, the limit is 64");
}

// A payload whose bytes changed after the export is noticed when it is read.
TEST(Pt2ArchiveErrors, DamagedPayload) {
  std::string bytes = readFile("test/models/strided.pt2");
  StatusOr<ExportedModel> intact = readArchiveBytes(bytes);
  ASSERT_TRUE(intact.ok());
  std::vector<std::byte> row = *intact->weights.readTensor("row1");
  size_t place = bytes.find(
      std::string_view(reinterpret_cast<const char *>(row.data()), row.size()));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 1;
  StatusOr<ExportedModel> damaged = readArchiveBytes(bytes);
  ASSERT_TRUE(damaged.ok());
  StatusOr<std::vector<std::byte>> payload =
      damaged->weights.readTensor("row1");
  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.status().code(), ErrorCode::E0102);
  EXPECT_THAT(payload.status().message(), HasSubstr("checksum"));
}

TEST(Pt2ArchiveErrors, NegativeStride) {
  Status error =
      errorOf(strided()
                  .replace(weightsConfig, "\"strides\": [{\"as_int\": 6}",
                           "\"strides\": [{\"as_int\": -6}")
                  .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
}

TEST(Pt2ArchiveErrors, DamagedPickle) {
  Status error = errorOf(withPickle("storage", "storege").read());
  EXPECT_EQ(error.code(), ErrorCode::E0116);
  EXPECT_THAT(error.notes(),
              ElementsAre("in tensor 'transformer.wte.weight'",
                          "in entry 'serialized_state_dict.pt'"));
}

TEST(Pt2ArchiveErrors, PickleThatCallsOtherFunctions) {
  Status error = errorOf(
      withPickle("torch._utils\n_rebuild_parameter", "posix\nsystem").read());
  EXPECT_EQ(error.code(), ErrorCode::E0117);
  EXPECT_EQ(error.message(),
            "the tensor is made by 'posix system', which is not executed");
}

TEST(Pt2ArchiveErrors, PickleOfAnotherStorage) {
  Status error = errorOf(withPickle("FloatStorage", "QInt8Storage").read());
  EXPECT_EQ(error.code(), ErrorCode::E0112);
}

TEST(Pt2ArchiveErrors, BigEndianPayloads) {
  ArchiveEditor archive = strided();
  archive.entry("/byteorder") = "big";
  EXPECT_EQ(errorOf(archive.read()).code(), ErrorCode::E0118);

  ArchiveEditor old = oldNanogpt();
  ArchiveEditor nested(old.entry("state_dict.pt"));
  nested.entry("/byteorder") = "big";
  old.entry("state_dict.pt") = nested.bytes();
  EXPECT_EQ(errorOf(old.read()).code(), ErrorCode::E0118);
}

TEST(Pt2ArchiveErrors, ValueUsedBeforeItIsDefined) {
  Status error = errorOf(
      strided()
          .replace("model.json",
                   "{\"name\": \"other\", \"arg\": {\"as_tensor\": {\"name\": "
                   "\"sum_1\"}}",
                   "{\"name\": \"other\", \"arg\": {\"as_tensor\": {\"name\": "
                   "\"sum_9\"}}")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_EQ(error.message(), "value 'sum_9' is used before it is defined");
  EXPECT_THAT(error.notes(),
              ElementsAre("at node 'add' (torch.ops.aten.add.Tensor)"));
}

TEST(Pt2ArchiveErrors, ValueDefinedTwice) {
  Status error = errorOf(
      strided()
          .replace("model.json",
                   "\"outputs\": [{\"as_tensor\": {\"name\": \"sub\"}}]",
                   "\"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}]")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_EQ(error.message(), "value 'add' is defined twice");
}

TEST(Pt2ArchiveErrors, TensorWithoutAType) {
  Status error = errorOf(
      strided()
          .replace("model.json", "\"sub\": {\"dtype\"", "\"b\": {\"dtype\"")
          .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_EQ(error.message(), "tensor 'sub' has no type");
}

TEST(Pt2ArchiveErrors, SignatureOfAnotherGraph) {
  Status error =
      errorOf(strided()
                  .replace("model.json",
                           "{\"parameter\": {\"arg\": {\"name\": \"p_row1\"}",
                           "{\"parameter\": {\"arg\": {\"name\": \"p_row2\"}")
                  .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
}

TEST(Pt2ArchiveErrors, WeightsOfAnotherShape) {
  Status error =
      errorOf(strided()
                  .replace(weightsConfig,
                           "\"sizes\": [{\"as_int\": 1}, {\"as_int\": 6}]",
                           "\"sizes\": [{\"as_int\": 1}, {\"as_int\": 5}]")
                  .read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_THAT(error.message(), HasSubstr("'row1'"));
}

// What the export helper recorded of calls of modules.
TEST(Pt2ArchiveErrors, NotesOfAnotherForm) {
  ArchiveEditor archive = strided();
  archive.add("strided/extra/shardc.json", R"({"captured": {"m@1": "x"}})");
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0108);
  EXPECT_THAT(error.message(), HasSubstr("captured tensors"));
}

TEST(Pt2ArchiveErrors, NotesOfUnknownTensors) {
  ArchiveEditor archive = strided();
  archive.add("strided/extra/shardc.json", R"({"shared": [["row1", "row3"]]})");
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_THAT(error.message(), HasSubstr("'row3'"));
}

TEST(Pt2ArchiveErrors, NotesThatNameATensorTwice) {
  ArchiveEditor archive = strided();
  archive.add("strided/extra/shardc.json",
              R"({"shared": [["row1", "row2"], ["row1"]]})");
  Status error = errorOf(archive.read());
  EXPECT_EQ(error.code(), ErrorCode::E0119);
  EXPECT_THAT(error.message(), HasSubstr("'row1' twice"));
}

TEST(Pt2ArchiveErrors, NotesAreRead) {
  ArchiveEditor archive = strided();
  archive.add("strided/extra/shardc.json",
              R"({"captured": {"m@1": ["x", "y"]}, "evaluation": "no",
                  "draws": "mean", "later": 1})");
  StatusOr<ExportedModel> model = archive.read();
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(model->notes.captured.has_value());
  EXPECT_THAT(model->notes.captured->at("m@1"), ElementsAre("x", "y"));
  EXPECT_EQ(model->notes.evaluation, "no");
  EXPECT_TRUE(model->notes.hasMeansOfDraws);
}

} // namespace
