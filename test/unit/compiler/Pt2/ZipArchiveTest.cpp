//===- ZipArchiveTest.cpp - Zip files of every form -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The forms of zip files that PyTorch writes, and the ones that are refused.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ZipArchive.h"

#include "compiler/Pt2/ReadFailure.h"
#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::pt2;

namespace {

const std::string stridedPath = "test/models/strided.pt2";

std::shared_ptr<const ZipArchive> open(std::string_view bytes) {
  TemporaryFile file(bytes);
  return ZipArchive::open(MappedFile::open(file.path()));
}

ErrorCode errorOf(std::string_view bytes) {
  StatusOr<bool> result = catchFailure<bool>([&] {
    (void)open(bytes);
    return true;
  });
  if (result.ok())
    throw std::runtime_error("the archive was read");
  return result.status().code();
}

// PyTorch writes sizes in the central directory alone.
TEST(Pt2ZipArchive, ReadsEntriesWithDataDescriptors) {
  auto archive = ZipArchive::open(MappedFile::open(stridedPath));
  std::optional<size_t> index = archive->find("strided/byteorder");
  ASSERT_TRUE(index);
  EXPECT_EQ(asText(archive->read(*index)), "little");
  EXPECT_FALSE(archive->find("byteorder"));
}

// Payloads of more than 4 GiB move sizes and offsets to zip64 records.
TEST(Pt2ZipArchive, ReadsZip64) {
  auto editor = ArchiveEditor::fromFile(stridedPath);
  auto archive = open(editor.bytes({.zip64 = true}));
  auto plain = open(editor.bytes());
  ASSERT_EQ(archive->entries().size(), plain->entries().size());
  for (size_t i = 0; i < archive->entries().size(); ++i)
    EXPECT_EQ(asText(archive->read(i)), asText(plain->read(i)));
}

// A comment after the end record is legal.
TEST(Pt2ZipArchive, ReadsPastAComment) {
  std::string bytes = ArchiveEditor::fromFile(stridedPath).bytes();
  bytes[bytes.size() - 2] = 4;
  EXPECT_EQ(open(bytes + "note")->entries().size(),
            open(ArchiveEditor(bytes + "note").bytes())->entries().size());
}

TEST(Pt2ZipArchive, RefusesWhatIsNoZip) {
  EXPECT_EQ(errorOf(""), ErrorCode::E0101);
  EXPECT_EQ(errorOf("not a zip archive, whatever its name says"),
            ErrorCode::E0101);
}

TEST(Pt2ZipArchive, RefusesTruncatedArchives) {
  std::string bytes = readFile(stridedPath);
  EXPECT_EQ(errorOf(bytes.substr(0, bytes.size() / 2)), ErrorCode::E0102);
  EXPECT_EQ(errorOf(bytes.substr(0, bytes.size() - 1)), ErrorCode::E0102);
}

// The front of the file is missing: every offset is wrong.
TEST(Pt2ZipArchive, RefusesDisplacedArchives) {
  EXPECT_EQ(errorOf(readFile(stridedPath).substr(100)), ErrorCode::E0102);
}

TEST(Pt2ZipArchive, RefusesCompressedEntries) {
  ArchiveEditor editor;
  editor.add("entry", "content");
  EXPECT_EQ(errorOf(editor.bytes({.compressionMethod = 8})), ErrorCode::E0103);
}

// A zip bomb without compression: many entries share one payload. Their local
// headers cannot all have their names, and where they can, their bytes overlap.
TEST(Pt2ZipArchive, RefusesOverlappingEntries) {
  ArchiveEditor editor;
  editor.add("entry", std::string(1000, 'x')).add("other", "");
  EXPECT_EQ(errorOf(editor.bytes({.overlap = true})), ErrorCode::E0102);

  // An entry whose payload is the other one, header and all.
  ArchiveEditor inner;
  inner.add("b", "payload");
  std::string local = inner.bytes();
  local.resize(local.find("PK\x01\x02"));
  ArchiveEditor outer;
  outer.add("a", local).add("b", "payload");
  std::string bytes = outer.bytes();
  size_t innerOffset = 30 + 1; // Behind the header of "a".
  size_t central = bytes.rfind("PK\x01\x02");
  bytes[central + 42] = static_cast<char>(innerOffset);
  EXPECT_EQ(errorOf(bytes), ErrorCode::E0102);
}

// A directory that says less than the local header.
TEST(Pt2ZipArchive, RefusesNamesThatDiffer) {
  ArchiveEditor editor;
  editor.add("entry", "content");
  std::string bytes = editor.bytes();
  bytes[bytes.find("entry")] = 'E';
  EXPECT_EQ(errorOf(bytes), ErrorCode::E0102);
}

// A declared size beyond the file; nothing is allocated for it.
TEST(Pt2ZipArchive, RefusesSizesBeyondTheFile) {
  ArchiveEditor editor;
  editor.add("entry", "content");
  std::string bytes = editor.bytes();
  size_t central = bytes.find("PK\x01\x02");
  for (size_t field : {20, 24})
    bytes[central + field + 3] = 0x7f;
  EXPECT_EQ(errorOf(bytes), ErrorCode::E0102);
}

// Names that would lead out of a folder that the archive is unpacked to.
TEST(Pt2ZipArchive, RefusesUnsafeNames) {
  for (const char *name :
       {"../entry", "model/../../entry", "/etc/passwd", "model/..", "..",
        "model\\entry", "model/\nentry", ""}) {
    ArchiveEditor editor;
    editor.add(name, "content");
    EXPECT_EQ(errorOf(editor.bytes()), ErrorCode::E0121) << name;
  }
  ArchiveEditor harmless;
  harmless.add("model/..weights/a..b", "content");
  EXPECT_EQ(open(harmless.bytes())->entries().size(), 1U);
}

// Two entries of one name could make two readers disagree.
TEST(Pt2ZipArchive, RefusesDuplicateNames) {
  ArchiveEditor editor;
  editor.add("entry", "one").add("entry", "two");
  EXPECT_EQ(errorOf(editor.bytes()), ErrorCode::E0102);
}

} // namespace
