//===- ArtifactTest.cpp - Writing, reading and damaging artifacts ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is written is read back; what was damaged in any way is refused with a
// number, never with a crash.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/Sha256.h"
#include "runtime/format/StoredZip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
using Entries = std::vector<std::pair<std::string, std::string>>;

/// The tiny model's file, its entries, and a place to write changed files.
class ArtifactTest : public ::testing::Test {
protected:
  ArtifactTest() : model(2), path(folder.file("model.shardc")) {
    EXPECT_TRUE(writeArtifact(path, model.artifact).ok());
    content = readFile(path);
    const auto zip = readStoredZip(bytesOf(content));
    for (const ZipEntry &entry : *zip)
      entries.emplace_back(entry.name, textOf(entry.content));
  }

  Status readContent(const std::string &bytes) {
    writeFile(path, bytes);
    StatusOr<LoadedArtifact> loaded = readArtifact(path);
    return loaded.ok() ? Status() : loaded.status();
  }

  Status readEntries(const Entries &list) {
    const std::string changed = folder.file("changed.shardc");
    OutputFile file(changed);
    StoredZipWriter zip(file);
    for (const auto &[name, text] : list)
      zip.add(name, std::vector{bytesOf(text)});
    zip.finish();
    EXPECT_TRUE(file.commit().ok());
    StatusOr<LoadedArtifact> loaded = readArtifact(changed);
    return loaded.ok() ? Status() : loaded.status();
  }

  std::string &entry(Entries &list, const std::string &name) {
    return std::find_if(list.begin(), list.end(),
                        [&](const auto &one) { return one.first == name; })
        ->second;
  }

  /// Reads the artifact with `from` replaced in an entry whose digest is made
  /// right again.
  Status readWithChange(const std::string &name, const std::string &from,
                        const std::string &to) {
    Entries list = entries;
    std::string &text = entry(list, name);
    const size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
    if (name != "manifest.json") {
      StatusOr<Manifest> manifest =
          parseManifest(bytesOf(entry(list, "manifest.json")));
      manifest->digests[name] = sha256(std::vector{bytesOf(text)});
      entry(list, "manifest.json") = printManifest(*manifest);
    }
    return readEntries(list);
  }

  const TemporaryFolder folder;
  const TinyModel model;
  const std::string path;
  std::string content;
  Entries entries;
};
} // namespace

TEST_F(ArtifactTest, ReadsBackWhatWasWritten) {
  const auto loaded = readArtifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Artifact &artifact = loaded->artifact;
  EXPECT_EQ(artifact.program, model.artifact.program);
  EXPECT_EQ(artifact.parameters, model.artifact.parameters);
  EXPECT_EQ(artifact.summary, model.artifact.summary);
  EXPECT_EQ(artifact.manifest.target, model.artifact.manifest.target);
  EXPECT_EQ(artifact.manifest.mesh, shardMesh(2));
  EXPECT_EQ(textOf(artifact.code.at("kernels.so")),
            textOf(model.artifact.code.at("kernels.so")));
  ASSERT_TRUE(artifact.weights);
  ASSERT_EQ(artifact.weights->size(), 3u);
  EXPECT_EQ((*artifact.weights)[2].name, "linear.weight");
  EXPECT_EQ(textOf((*artifact.weights)[2].data),
            textOf((*model.artifact.weights)[2].data));
}

TEST_F(ArtifactTest, WritesEveryKindOfMember) {
  TinyModel full(2);
  Artifact &artifact = full.artifact;
  artifact.parameters.inputs.push_back(
      {"labels", Dtype::I64, {TinyModel::batch}, 10, -100});
  artifact.parameters.states.push_back({"optimizer#bias_correction1",
                                        Role::Optimizer,
                                        "bias_correction1",
                                        Dtype::F64,
                                        1,
                                        {},
                                        {}});
  artifact.summary.persistentBytes = {{"parameter", 64}};
  artifact.summary.groups = {{"linear", 15, 64, 2, 64, 1, "always"}};
  artifact.summary.kernels = {{"kernel", "sm_90", 32, 512, 40}};
  artifact.summary.options = {{"wrap", std::string("blocks")},
                              {"flag", true},
                              {"count", int64_t(3)},
                              {"shape", std::vector<int64_t>{1, 2}}};
  ASSERT_TRUE(writeArtifact(path, artifact).ok());
  const auto loaded = readArtifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->artifact.parameters, artifact.parameters);
  EXPECT_EQ(loaded->artifact.program, artifact.program);
  EXPECT_EQ(loaded->artifact.summary, artifact.summary);
}

TEST_F(ArtifactTest, WritesTheSameBytesAgain) {
  const std::string again = folder.file("again.shardc");
  ASSERT_TRUE(writeArtifact(again, model.artifact).ok());
  EXPECT_EQ(readFile(again), content);
}

TEST_F(ArtifactTest, AlignsTheDataOfEntries) {
  const auto zip = readStoredZip(bytesOf(content));
  for (const ZipEntry &entry : *zip)
    EXPECT_EQ((textOf(entry.content).data() - content.data()) % 64, 0)
        << entry.name;
}

// docs/Format.md shows the tiny model's entries.
TEST_F(ArtifactTest, MatchesTheWorkedExampleOfTheFormatPage) {
  const std::string page = readFile("docs/Format.md");
  for (const char *name : {"parameters.json", "program.json"})
    EXPECT_NE(page.find("```json\n" + entry(entries, name) + "```"),
              std::string::npos)
        << name << " is now\n"
        << entry(entries, name);
}

TEST_F(ArtifactTest, RefusesEveryTruncation) {
  for (size_t size = 0; size < content.size(); size += 97) {
    const Status status = readContent(content.substr(0, size));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.code(), size < 2 ? ErrorCode::E0302 : ErrorCode::E0303)
        << size;
  }
}

// A changed byte is noticed, unless it is in what carries no meaning: the
// padding and times of headers.
TEST_F(ArtifactTest, RefusesOrReadsTheSameAfterAnyChangedByte) {
  std::mt19937 generator(1);
  int refused = 0;
  constexpr int changes = 800;
  for (int i = 0; i < changes; ++i) {
    std::string changed = content;
    // Half of the changes hit the small entries and directories.
    const size_t range = i % 2 ? changed.size() : 8000;
    const size_t place = i % 4 == 0 ? changed.size() - 1 - generator() % 400
                                    : generator() % range;
    changed[place] = static_cast<char>(changed[place] ^ (1 << generator() % 8));
    writeFile(path, changed);
    const StatusOr<LoadedArtifact> loaded = readArtifact(path);
    if (!loaded.ok()) {
      ++refused;
      continue;
    }
    EXPECT_EQ(loaded->artifact.program, model.artifact.program) << place;
    EXPECT_EQ(loaded->artifact.parameters, model.artifact.parameters) << place;
    EXPECT_EQ(textOf(loaded->artifact.code.at("kernels.so")),
              textOf(model.artifact.code.at("kernels.so")));
  }
  EXPECT_GT(refused, changes / 2);
}

TEST_F(ArtifactTest, SurvivesRandomBytes) {
  std::mt19937 generator(2);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 ? "PK\5\6" : "PK\3\4";
    for (int j = 0; j < 200; ++j)
      bytes += static_cast<char>(generator());
    if (i % 3 == 0)
      bytes += std::string("PK\5\6") + std::string(18, '\0');
    EXPECT_FALSE(readContent(bytes).ok());
  }
}

TEST_F(ArtifactTest, RefusesWhatIsNoZipArchive) {
  EXPECT_EQ(readContent("safetensors").code(), ErrorCode::E0302);
  EXPECT_EQ(readContent("").code(), ErrorCode::E0302);
}

TEST_F(ArtifactTest, NamesAFileThatCannotBeRead) {
  const auto missing = readArtifact(folder.file("missing.shardc"));
  EXPECT_EQ(missing.status().code(), ErrorCode::E0301);
  const auto directory = readArtifact("/tmp");
  EXPECT_EQ(directory.status().code(), ErrorCode::E0301);
}

TEST_F(ArtifactTest, RefusesAnotherMajorVersion) {
  const Status status =
      readWithChange("manifest.json", R"("major":7)", R"("major":2)");
  EXPECT_EQ(status.code(), ErrorCode::E0304);
  EXPECT_EQ(status.message(),
            "format version 2.0 is not supported, this program reads version "
            "7.0 and later minor versions");
  EXPECT_EQ(readWithChange("manifest.json", "shardc-artifact", "other").code(),
            ErrorCode::E0304);
}

TEST_F(ArtifactTest, RefusesAnEarlierMinorVersion) {
  EXPECT_FALSE(
      readWithChange("manifest.json", R"("minor":0)", R"("minor":-1)").ok());
}

TEST_F(ArtifactTest, ReadsALaterMinorVersionAndUnknownMembers) {
  EXPECT_TRUE(
      readWithChange("manifest.json", R"("minor":0)", R"("minor":7)").ok());
  EXPECT_TRUE(readWithChange("program.json", R"("arena_bytes")",
                             R"("later": [1], "arena_bytes")")
                  .ok());
}

TEST_F(ArtifactTest, RefusesAWrongDigest) {
  Entries list = entries;
  entry(list, "kernels.so")[100] ^= 1;
  const Status status = readEntries(list);
  EXPECT_EQ(status.code(), ErrorCode::E0306);
  EXPECT_EQ(status.message(), "entry 'kernels.so' does not match its digest");
}

TEST_F(ArtifactTest, RefusesMissingAndAdditionalEntries) {
  Entries fewer(entries.begin(), entries.end() - 1);
  EXPECT_EQ(readEntries(fewer).code(), ErrorCode::E0305);
  Entries more = entries;
  more.emplace_back("kernels2.so", "x");
  EXPECT_EQ(readEntries(more).code(), ErrorCode::E0305);
  EXPECT_EQ(readEntries({}).code(), ErrorCode::E0305);
  EXPECT_EQ(readEntries({{"program.json", "{}"}}).code(), ErrorCode::E0305);
}

TEST_F(ArtifactTest, NamesTheEntryAndThePlaceOfAMalformedMember) {
  const std::tuple<const char *, const char *, const char *, const char *>
      cases[] = {
          {"program.json", R"("event_count": 3)", R"("event_count": "3")",
           "entry 'program.json', '/event_count': expected an integer"},
          {"program.json", R"("kind":"all_gather")", R"("kind":"all_to_all")",
           "entry 'program.json', '/commands/3/kind': unknown kind of command "
           "'all_to_all'"},
          {"program.json", R"("section":"begin")", R"("section":"end")",
           "entry 'program.json', '/commands/0/section': unknown section "
           "'end'"},
          {"program.json", R"("kind":"all_gather")", R"("kind":"gather")",
           "entry 'program.json', '/commands/3/kind': unknown kind of command "
           "'gather'"},
          {"program.json", R"("slot_bytes":32)", R"("slot_bytes":{})",
           "entry 'program.json', '/commands/3/attributes/slot_bytes': "
           "expected an array"},
          {"program.json", R"("index":1,"bytes":32)", R"("index":1,"bytes":-1)",
           "entry 'program.json', '/commands/0/operands/0/bytes': expected an "
           "integer from 0 to 9223372036854775807, got -1"},
          {"program.json", R"("access":"write")", R"("access":"append")",
           "entry 'program.json', '/kernels/0/operands/2/access': unknown "
           "access 'append'"},
          {"parameters.json", R"("role":"buffer")", R"("role":"cache")",
           "entry 'parameters.json', '/states/3/role': unknown role 'cache'"},
          {"parameters.json", R"("dtype":"f32")", R"("dtype":"f8")",
           "entry 'parameters.json', '/inputs/0/dtype': unknown dtype 'f8'"},
          {"summary.json", R"("groups": [])", R"("groups": {})",
           "entry 'summary.json', '/groups': expected an array"},
          {"manifest.json", R"("size":2)", R"("size":0)",
           "entry 'manifest.json', '/mesh/0/size': expected an integer from 1 "
           "to 65536, got 0"},
          {"program.json", R"("rank_strides":[32])",
           R"("rank_strides":[32,0,0,0,0])",
           "entry 'program.json', '/commands/2/operands/1/rank_strides': more "
           "than 4 strides"},
      };
  for (const auto &[name, from, to, message] : cases) {
    const Status status = readWithChange(name, from, to);
    ASSERT_FALSE(status.ok()) << to;
    EXPECT_EQ(status.code(), ErrorCode::E0307) << to;
    EXPECT_EQ(status.message(), message);
  }
}

TEST_F(ArtifactTest, RefusesJsonThatIsBrokenDeepOrAmbiguous) {
  auto code = [&](const std::string &from, const std::string &to) {
    return readWithChange("summary.json", from, to).code();
  };
  EXPECT_EQ(code("{", "["), ErrorCode::E0307);
  EXPECT_EQ(code(R"("options": {})", R"("options": )" + std::string(5000, '[') +
                                         std::string(5000, ']')),
            ErrorCode::E0307);
  EXPECT_EQ(code(R"("options": {})", R"("options": {"a":1,"a":2})"),
            ErrorCode::E0307);
}

TEST_F(ArtifactTest, LeavesTheOldFileWhenItCannotWrite) {
  TinyModel broken(2);
  broken.artifact.program.arenaBytes = 1;
  EXPECT_EQ(writeArtifact(path, broken.artifact).code(), ErrorCode::E0309);
  EXPECT_EQ(readFile(path), content);
  EXPECT_EQ(
      writeArtifact(folder.file("no/folder.shardc"), model.artifact).code(),
      ErrorCode::E0601);
  EXPECT_EQ(writeArtifact("/dev/full", model.artifact).code(),
            ErrorCode::E0601);
  EXPECT_EQ(writeArtifact("/tmp", model.artifact).code(), ErrorCode::E0601);
}

TEST(Target, AcceptsWhatThisMachineRunsAndNamesWhatItLacks) {
  EXPECT_TRUE(checkTarget({"cpu", "x86_64-unknown-linux-gnu", "x86-64"}).ok());
  for (const Target &target :
       {Target{"cuda", "x86_64-unknown-linux-gnu", "x86-64"},
        Target{"cpu", "aarch64-unknown-linux-gnu", "x86-64"},
        Target{"cpu", "x86_64-apple-darwin", "x86-64"},
        Target{"cpu", "x86_64-unknown-linux-gnu", "x86-64-v9"}})
    EXPECT_EQ(checkTarget(target).code(), ErrorCode::E0308);
}

TEST(Target, NativeIsTheHighestLevelThatThisMachineRuns) {
  std::optional<std::string> native = nativeProcessor();
  ASSERT_TRUE(native);
  bool higher = false;
  for (const char *level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    EXPECT_EQ(checkTarget({"cpu", "x86_64-unknown-linux-gnu", level}).ok(),
              !higher)
        << level;
    higher = higher || level == *native;
  }
  EXPECT_TRUE(higher) << *native;
}

TEST(Sha256, GivesTheDigestOfTheStandard) {
  // FIPS 180-2, appendix B.1, in two pieces.
  EXPECT_EQ(sha256(std::vector{bytesOf("a"), bytesOf("bc")}),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
            "0015ad");
}
