//===- CommandKindsTest.cpp - Kinds of commands and library calls ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each kind has its place on the format page, and a call whose attributes
// describe no computation is refused.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/CommandKinds.h"
#include "runtime/format/LibraryCalls.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
Command libraryCall(const std::string &name, Attributes attributes,
                    std::vector<TensorReference> operands) {
  Command command;
  command.kind = CommandKind::Call;
  command.callee = name;
  command.attributes = std::move(attributes);
  command.operands = std::move(operands);
  return command;
}
} // namespace

// A window whose positions are further apart than the plane is wide can lie
// beside it altogether: its first one in the padding, the next one behind the
// end.
TEST(LibraryCalls, RefuseAPoolWhoseWindowsMissTheInput) {
  auto pool = [](int64_t height, int64_t dilation, int64_t padding) {
    const int64_t output = height + 2 * padding - dilation;
    const auto pair = [](int64_t value) {
      return std::vector<int64_t>{value, value};
    };
    auto tensor = [](Dtype dtype, int64_t extent) {
      return TensorReference{{}, dtype, {1, 1, extent, extent}, {}};
    };
    return checkLibraryCall(
        libraryCall("max_pool2d",
                    {{"kernel", pair(2)},
                     {"stride", pair(1)},
                     {"padding", pair(padding)},
                     {"dilation", pair(dilation)}},
                    {tensor(Dtype::F32, height), tensor(Dtype::F32, output),
                     tensor(Dtype::I64, output)}));
  };
  EXPECT_TRUE(pool(4, 4, 1).ok());
  EXPECT_TRUE(pool(6, 5, 0).ok());
  EXPECT_EQ(pool(4, 5, 1).message(), "library call 'max_pool2d': the window "
                                     "does not fit the input");
}

// The product of channels and groups would not fit an integer.
TEST(LibraryCalls, RefuseMoreGroupsThanAnyConvolutionHas) {
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  auto tensor = [](std::vector<int64_t> shape) {
    return TensorReference{{}, Dtype::F32, std::move(shape), {}};
  };
  const Status status = checkLibraryCall(
      libraryCall("convolution",
                  {{"stride", one},
                   {"padding", none},
                   {"dilation", one},
                   {"groups", int64_t(1) << 62}},
                  {tensor({1, 1, 2, 2}), tensor({0, 1 << 20, 1, 1}),
                   tensor({1, 0, 2, 2})}));
  EXPECT_EQ(status.message(),
            "library call 'convolution': channels do not fit the groups");
}

// Every kind of command is described on the format page.
TEST(CommandKinds, AreThoseOfTheFormatPage) {
  const std::string page = readFile("docs/Format.md");
  for (const CommandKindInfo &kind : commandKinds()) {
    EXPECT_NE(page.find("| `" + std::string(kind.name) + "` |"),
              std::string::npos)
        << kind.name;
    EXPECT_EQ(&infoOf(kind.kind), &kind);
  }
}

// Every library call of the table is described on the format page.
TEST(LibraryCalls, AreThoseOfTheFormatPage) {
  const std::string page = readFile("docs/Format.md");
  for (const LibraryCallKind *kind : libraryCallKinds())
    EXPECT_NE(page.find("| `" + std::string(kind->name()) + "` |"),
              std::string::npos)
        << kind->name();
}
