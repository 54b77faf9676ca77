//===- CorruptionTest.cpp - Any bytes give an error or a value ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Damages real archives in many places and reads what is left. The result does
// not matter; that there is one does, and under the asan preset also how it
// came about. Damage behind a checksum is made with the checksum corrected, so
// that the readers behind it are reached.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/PickleReader.h"
#include "compiler/Pt2/ProgramReader.h"
#include "compiler/Pt2/ReadFailure.h"
#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gtest/gtest.h>
#include <random>

using namespace shardc;
using namespace shardc::pt2;

namespace {

const char *const paths[] = {"test/models/strided.pt2",
                             "test/models/symbolic.pt2",
                             "test/models/nanogpt-torch-2.6.pt2"};

/// Reads all that can be read.
void exercise(const StatusOr<ExportedModel> &model) {
  if (!model.ok())
    return;
  (void)model->weights.tiedNames();
  for (const auto &[name, entry] : model->weights.entries())
    (void)model->weights.readTensor(name).ok();
}

/// Values of every type, to put where another is expected.
const std::vector<Json> &strangeValues() {
  static const std::vector<Json> values = {
      nullptr,
      true,
      -1,
      0,
      99,
      INT64_MAX,
      INT64_MIN,
      UINT64_MAX,
      1e300,
      "x",
      "",
      Json::array(),
      Json::object(),
      Json::array({1}),
      Json{{"as_int", 1}},
      Json{{"as_expr", {{"expr_str", "s0"}, {"hint", nullptr}}}},
      Json{{"as_name", "x"}},
      Json{{"name", "x"}}};
  return values;
}

/// Every value below `json`.
void collect(Json &json, std::vector<Json *> &values) {
  values.push_back(&json);
  if (json.is_structured())
    for (Json &child : json)
      collect(child, values);
}

/// `document` with one value replaced by a strange one.
Json withStrangeValue(Json document, std::mt19937 &random) {
  std::vector<Json *> values;
  collect(document, values);
  *values[random() % values.size()] =
      strangeValues()[random() % strangeValues().size()];
  return document;
}

// Cutting a file anywhere.
TEST(Pt2Corruption, TruncatedFiles) {
  for (const char *path : paths) {
    std::string bytes = readFile(path);
    for (size_t i = 0; i < 200; ++i)
      exercise(readArchiveBytes(bytes.substr(0, bytes.size() * i / 200)));
  }
}

// Flipping a bit: every byte of the directory, and samples of the rest.
TEST(Pt2Corruption, FlippedBits) {
  std::mt19937 random(1);
  for (const char *path : paths) {
    std::string bytes = readFile(path);
    size_t directory = bytes.size() - std::min<size_t>(bytes.size(), 600);
    for (size_t position = 0; position < bytes.size();
         position += position < directory ? 499 : 1) {
      std::string damaged = bytes;
      damaged[position] ^= static_cast<char>(1U << (random() % 8));
      exercise(readArchiveBytes(damaged));
    }
  }
}

// Zip files with correct checksums but wrong sizes and offsets in their
// directory.
TEST(Pt2Corruption, WrongDirectories) {
  std::mt19937 random(2);
  auto editor = ArchiveEditor::fromFile("test/models/weight-free.pt2");
  for (bool zip64 : {false, true}) {
    std::string bytes = editor.bytes({.zip64 = zip64});
    size_t directory = bytes.find("PK\x01\x02");
    for (size_t position = directory; position < bytes.size(); ++position) {
      std::string damaged = bytes;
      damaged[position] = static_cast<char>(random());
      exercise(readArchiveBytes(damaged));
    }
  }
}

// Programs with one value of another type or size.
TEST(Pt2Corruption, StrangeProgramValues) {
  std::mt19937 random(3);
  for (const char *path : paths) {
    auto archive = ArchiveEditor::fromFile(path);
    bool isOld = std::string_view(path).find("2.6") != std::string_view::npos;
    Json document = parseJson(
        archive.entry(isOld ? "program.json" : "models/model.json"), path);
    for (int i = 0; i < 1000; ++i)
      (void)catchFailure<ExportedProgram>([&] {
        return readProgram(withStrangeValue(document, random));
      }).ok();
  }
}

// Weight configurations with one value of another type or size, behind a
// correct checksum.
TEST(Pt2Corruption, StrangeWeightConfigurations) {
  std::mt19937 random(4);
  auto archive = ArchiveEditor::fromFile("test/models/strided.pt2");
  for (const char *name : {"weights_config.json", "constants_config.json"}) {
    ArchiveEditor damaged = archive;
    Json document = parseJson(archive.entry(name), name);
    for (int i = 0; i < 500; ++i) {
      damaged.entry(name) = withStrangeValue(document, random).dump();
      exercise(damaged.read());
    }
  }
}

// Texts that are hardly JSON any more.
TEST(Pt2Corruption, DamagedJsonTexts) {
  std::mt19937 random(5);
  auto archive = ArchiveEditor::fromFile("test/models/symbolic.pt2");
  std::string text = archive.entry("models/model.json");
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)catchFailure<ExportedProgram>([&] {
      return readProgram(parseJson(damaged, "model.json"));
    }).ok();
  }
}

// Pickles with one wrong byte, both alone and in their archive.
TEST(Pt2Corruption, DamagedPickles) {
  std::mt19937 random(6);
  auto archive = ArchiveEditor::fromFile("test/models/nanogpt-torch-2.6.pt2");
  ArchiveEditor nested(archive.entry("state_dict.pt"));
  std::string pickle = nested.entry("data.pkl");
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = pickle;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)catchFailure<PickleDocument>([&] {
      return readPickle(std::as_bytes(std::span(damaged)));
    }).ok();
  }
  for (int i = 0; i < 300; ++i) {
    std::string damaged = pickle;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    nested.entry("data.pkl") = damaged;
    archive.entry("state_dict.pt") = nested.bytes();
    exercise(archive.read());
  }
}

} // namespace
