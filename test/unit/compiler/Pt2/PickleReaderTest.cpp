//===- PickleReaderTest.cpp - Pickles as data -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pickles made by Python's pickle module (protocol 2), and hand-made ones that
// are damaged or malicious.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/PickleReader.h"

#include "compiler/Pt2/ReadFailure.h"

#include <gtest/gtest.h>
#include <string>

using namespace shardc;
using namespace shardc::pt2;
using namespace std::string_literals;

namespace {

using Kind = PickleValue::Kind;

PickleDocument read(const std::string &pickle) {
  return readPickle(std::as_bytes(std::span(pickle)));
}

ErrorCode errorOf(const std::string &pickle) {
  StatusOr<bool> result = catchFailure<bool>([&] {
    (void)read(pickle);
    return true;
  });
  if (result.ok())
    throw std::runtime_error("the pickle was read");
  return result.status().code();
}

// pickle.dumps({"a": (1, -2, 70000, 2**40), "b": [None, True]}, protocol=2)
TEST(Pt2PickleReader, ReadsContainersAndIntegers) {
  PickleDocument document =
      read("\x80\x02}q\x00(X\x01\x00\x00\x00"
           "aq\x01(K\x01J\xfe\xff\xff\xffJp\x11\x01\x00\x8a\x06\x00\x00\x00\x00"
           "\x00\x01tq\x02X\x01\x00\x00\x00"
           "bq\x03]q\x04(N\x88"
           "eu."s);
  const PickleValue &dict = *document.root;
  ASSERT_EQ(dict.kind, Kind::Dict);
  ASSERT_EQ(dict.items.size(), 4U);
  EXPECT_EQ(dict.items[0]->text, "a");
  const PickleValue &tuple = *dict.items[1];
  ASSERT_EQ(tuple.items.size(), 4U);
  EXPECT_EQ(tuple.items[0]->integer, 1);
  EXPECT_EQ(tuple.items[1]->integer, -2);
  EXPECT_EQ(tuple.items[2]->integer, 70000);
  EXPECT_EQ(tuple.items[3]->integer, int64_t(1) << 40);
  const PickleValue &list = *dict.items[3];
  ASSERT_EQ(list.kind, Kind::List);
  EXPECT_EQ(list.items[0]->kind, Kind::None);
  EXPECT_EQ(list.items[1]->integer, 1);
}

// What unpickling would call is recorded, not called: os.system("true").
TEST(Pt2PickleReader, RecordsCalls) {
  PickleDocument document =
      read("\x80\x02"
           "cposix\nsystem\nX\x04\x00\x00\x00true\x85R."s);
  ASSERT_EQ(document.root->kind, Kind::Call);
  EXPECT_EQ(document.root->items[0]->text, "posix system");
  EXPECT_EQ(document.root->items[1]->items[0]->text, "true");
}

// collections.OrderedDict() can be filled like a dictionary.
TEST(Pt2PickleReader, ReadsOrderedDictionaries) {
  PickleDocument document = read("\x80\x02"
                                 "ccollections\nOrderedDict\n)R(K\x01K\x02u."s);
  ASSERT_EQ(document.root->kind, Kind::Dict);
  EXPECT_EQ(document.root->items.size(), 2U);
}

// A list that contains itself neither leaks nor recurses.
TEST(Pt2PickleReader, SurvivesCycles) {
  PickleDocument document = read("\x80\x02]q\x00h\x00"
                                 "a."s);
  EXPECT_EQ(document.root->items[0], document.root);
}

// Nesting is bounded by memory alone: nothing recurses over it.
TEST(Pt2PickleReader, SurvivesDeepNesting) {
  PickleDocument document =
      read("\x80\x02N" + std::string(1000000, '\x85') + ".");
  EXPECT_EQ(document.root->kind, Kind::Tuple);
}

// Opcodes that build arbitrary objects are not known.
TEST(Pt2PickleReader, RefusesOtherOpcodes) {
  EXPECT_EQ(errorOf("\x80\x02}}b."s), ErrorCode::E0117);
  EXPECT_EQ(errorOf("\x80\x02(ios\nsystem\n."s), ErrorCode::E0117);
  EXPECT_EQ(errorOf("\x80\x04N."s), ErrorCode::E0117);
}

TEST(Pt2PickleReader, RefusesDamage) {
  EXPECT_EQ(errorOf(""s), ErrorCode::E0116);          // No end.
  EXPECT_EQ(errorOf("\x80\x02."s), ErrorCode::E0116); // No value.
  EXPECT_EQ(errorOf("\x80\x02\x86."s), ErrorCode::E0116);
  EXPECT_EQ(errorOf("\x80\x02t."s), ErrorCode::E0116); // No mark.
  EXPECT_EQ(errorOf("\x80\x02h\x07."s), ErrorCode::E0116);
  EXPECT_EQ(errorOf("\x80\x02s."s), ErrorCode::E0116); // No dictionary.
  EXPECT_EQ(errorOf("\x80\x02N(NNu."s), ErrorCode::E0116);
  EXPECT_EQ(errorOf("\x80\x02}(Nu."s), ErrorCode::E0116); // A key alone.
  EXPECT_EQ(errorOf("\x80\x02X\xff\xff\xff\xff."s), ErrorCode::E0116);
  EXPECT_EQ(errorOf("\x80\x02K\x01)R."s), ErrorCode::E0116);
}

} // namespace
