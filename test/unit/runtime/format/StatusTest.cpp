//===- StatusTest.cpp - Errors, their numbers and their text --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How errors are printed, their exit codes, and the table of dtypes.
//===----------------------------------------------------------------------===//

#include "runtime/format/Status.h"
#include "runtime/format/Dtype.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::format;

TEST(Status, RendersNotesAndHelpBelowTheMessage) {
  Status status(ErrorCode::E0306, "entry 'x' does not match its digest");
  status.addNote("expected a, found b").setHelp("copy it again");
  EXPECT_EQ(render(status, "shardrun"),
            "shardrun: error E0306: entry 'x' does not match its digest\n"
            "  note: expected a, found b\n"
            "  help: copy it again\n");
}

TEST(Status, DoesNotShareWhatIsAddedToACopy) {
  const Status status(ErrorCode::E0501, "interrupted");
  Status copy = status;
  copy.addNote("on rank 1");
  EXPECT_TRUE(status.notes().empty());
  EXPECT_EQ(copy.notes().size(), 1u);
}

TEST(Status, IsSuccessWithoutAnError) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(status.addNote("nothing to add to").ok());
}

TEST(Errors, HaveTheExitCodesOfTheirRanges) {
  EXPECT_EQ(exitCode(ErrorCode::E0001), 2);
  EXPECT_EQ(exitCode(ErrorCode::E0101), 4);
  EXPECT_EQ(exitCode(ErrorCode::E0201), 1);
  EXPECT_EQ(exitCode(ErrorCode::E0306), 4);
  EXPECT_EQ(exitCode(ErrorCode::E0401), 4);
  EXPECT_EQ(exitCode(ErrorCode::E0501), 130);
  EXPECT_EQ(exitCode(ErrorCode::E0504), 5);
  EXPECT_EQ(exitCode(ErrorCode::E0601), 1);
}

TEST(Errors, PrintTheirNumberAndValueAlike) {
  for (const ErrorCode code : allErrorCodes()) {
    EXPECT_EQ(errorValue(errorNumber(code)), static_cast<int>(code));
    EXPECT_FALSE(errorTitle(code).empty());
  }
  EXPECT_EQ(errorNumber(ErrorCode::E0306), "E0306");
  EXPECT_EQ(errorTitle(ErrorCode::E0306), "digest mismatch");
}

TEST(Dtype, SpellsItselfForArtifactsAndSafetensors) {
  for (int i = 0; i <= static_cast<int>(Dtype::Bool); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(parseDtype(dtypeName(dtype)), dtype);
    EXPECT_EQ(parseSafetensorsDtype(safetensorsName(dtype)), dtype);
    EXPECT_TRUE(isLossless(dtype, dtype));
  }
  EXPECT_EQ(parseDtype("f8"), std::nullopt);
  EXPECT_EQ(byteSize(Dtype::BF16), 2);
}

TEST(Dtype, KnowsWhichConversionsLoseNothing) {
  EXPECT_TRUE(isLossless(Dtype::F32, Dtype::F64));
  EXPECT_TRUE(isLossless(Dtype::BF16, Dtype::F32));
  EXPECT_TRUE(isLossless(Dtype::U16, Dtype::I64));
  EXPECT_TRUE(isLossless(Dtype::I32, Dtype::F64));
  EXPECT_TRUE(isLossless(Dtype::U8, Dtype::F32));
  EXPECT_FALSE(isLossless(Dtype::F64, Dtype::F32));
  EXPECT_FALSE(isLossless(Dtype::F16, Dtype::BF16));
  EXPECT_FALSE(isLossless(Dtype::BF16, Dtype::F16));
  EXPECT_FALSE(isLossless(Dtype::I32, Dtype::F32));
  EXPECT_FALSE(isLossless(Dtype::I64, Dtype::I32));
  EXPECT_FALSE(isLossless(Dtype::I8, Dtype::U64));
  EXPECT_FALSE(isLossless(Dtype::U64, Dtype::I64));
  EXPECT_FALSE(isLossless(Dtype::F32, Dtype::I64));
}
