//===- StoredZipTest.cpp - Archives that other tools make or break --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A small archive, changed byte by byte in the places that the zip format
// gives a meaning.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/StoredZip.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
std::string
archiveOf(const std::vector<std::pair<std::string, std::string>> &entries) {
  const TemporaryFolder folder;
  OutputFile file(folder.file("a.zip"));
  StoredZipWriter zip(file);
  for (const auto &[name, text] : entries)
    zip.add(name, std::vector{bytesOf(text)});
  zip.finish();
  EXPECT_TRUE(file.commit().ok());
  return readFile(folder.file("a.zip"));
}

std::string codeOf(const std::string &archive) {
  const auto entries = readStoredZip(bytesOf(archive));
  return entries.ok() ? "ok"
                      : std::string(errorNumber(entries.status().code()));
}

/// Where the nth central directory record begins.
size_t directoryRecord(const std::string &archive, int n) {
  size_t place = 0;
  for (int i = 0; i <= n; ++i)
    place = archive.find("PK\1\2", place + 1);
  return place;
}

const std::string archive = archiveOf({{"first", "one"}, {"second", "two"}});
} // namespace

TEST(StoredZip, ListsEntriesInOrder) {
  const auto entries = readStoredZip(bytesOf(archive));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "first");
  EXPECT_EQ(textOf((*entries)[1].content), "two");
  EXPECT_EQ((*entries)[1].crc32,
            crc32Of(std::vector{bytesOf("t"), bytesOf("wo")}));
}

TEST(StoredZip, ReadsAnArchiveWithAComment) {
  std::string commented = archive + "comment";
  commented[archive.size() - 2] = 7;
  EXPECT_EQ(codeOf(commented), "ok");
}

TEST(StoredZip, ReadsAnArchiveWithoutEntries) {
  EXPECT_EQ(codeOf(archiveOf({})), "ok");
}

TEST(StoredZip, RefusesCompressionAndEncryption) {
  std::string changed = archive;
  changed[directoryRecord(archive, 0) + 10] = 8;
  EXPECT_EQ(codeOf(changed), "E0303");
  changed = archive;
  changed[directoryRecord(archive, 1) + 8] |= 1;
  EXPECT_EQ(codeOf(changed), "E0303");
}

TEST(StoredZip, RefusesNamesThatAppearTwice) {
  EXPECT_EQ(codeOf(archiveOf({{"a", "1"}, {"a", "2"}})), "E0303");
}

TEST(StoredZip, RefusesALocalHeaderOfAnotherName) {
  std::string changed = archive;
  changed[changed.find("first")] = 'F';
  EXPECT_EQ(codeOf(changed), "E0303");
}

// Both records of the directory point at the first entry.
TEST(StoredZip, RefusesEntriesThatOverlap) {
  std::string changed = archiveOf({{"name", "one"}, {"Name", "two"}});
  const size_t second = directoryRecord(changed, 1);
  changed.replace(second + 42, 4, std::string(4, '\0'));
  changed.replace(second + 46, 4, "name");
  EXPECT_EQ(codeOf(changed), "E0303");
}

TEST(StoredZip, RefusesOffsetsAndSizesThatLeaveTheArchive) {
  for (const size_t member : {20, 24, 28, 30, 42}) {
    std::string changed = archive;
    changed[directoryRecord(archive, 1) + member + 1] = '\x7f';
    EXPECT_EQ(codeOf(changed), "E0303") << member;
    changed.replace(directoryRecord(archive, 1) + member, 2, "\xff\xff");
    EXPECT_EQ(codeOf(changed), "E0303") << member;
  }
  for (const size_t fromEnd : {6, 10, 12, 14}) {
    std::string changed = archive;
    changed[archive.size() - fromEnd] = '\x7f';
    EXPECT_EQ(codeOf(changed), "E0303") << fromEnd;
  }
}

// Sizes of 2^32 - 1 announce a zip64 field, which is not there.
TEST(StoredZip, RefusesAMissingZip64Field) {
  std::string changed = archive;
  changed.replace(directoryRecord(archive, 1) + 20, 8, std::string(8, '\xff'));
  EXPECT_EQ(codeOf(changed), "E0303");
  changed = archive;
  changed.replace(archive.size() - 6, 4, std::string(4, '\xff'));
  EXPECT_EQ(codeOf(changed), "E0303");
}
