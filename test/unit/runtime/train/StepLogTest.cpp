//===- StepLogTest.cpp - The lines of a training run ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The exact text of both forms of a line.
//===----------------------------------------------------------------------===//

#include "runtime/train/StepLog.h"
#include "runtime/session/SampleOrder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace shardc;
using namespace shardc::runtime;

TEST(StepLog, WritesAsManyDigitsAsADoubleNeeds) {
  EXPECT_EQ(jsonLine({3, 0.1 + 0.2, 2, 0.5, 128}),
            R"({"step":3,"loss":0.30000000000000004,"gradient_norm":2.0,)"
            R"("seconds":0.5,"tokens_per_second":128.0})");
}

TEST(StepLog, WritesLossScalesAndEvaluations) {
  EXPECT_EQ(jsonLine({3, 0.5, 2, 0.5, {}, 65536}),
            R"({"step":3,"loss":0.5,"gradient_norm":2.0,)"
            R"("seconds":0.5,"loss_scale":65536.0})");
  EXPECT_EQ(jsonLine(EvaluationRecord{3, 0.5, 0.25}),
            R"({"step":3,"evaluation_loss":0.5,"seconds":0.25})");
  EXPECT_EQ(textLine(EvaluationRecord{12, 0.5, 0.25}),
            "step:    12  evaluation_loss: 0.500000000  seconds: 0.2500");
}

TEST(StepLog, WritesNullForWhatIsNotFinite) {
  EXPECT_EQ(jsonLine({1, std::nan(""), INFINITY, 1, {}}),
            R"({"step":1,"loss":null,"gradient_norm":null,"seconds":1.0})");
}

TEST(StepLog, AlignsLinesForPeople) {
  EXPECT_EQ(textLine({12, 4.174387269, 1.5, 0.01234, 9876.5}),
            "step:    12  loss: 4.17438727  grad_norm: 1.50000  "
            "seconds: 0.0123  tokens/s: 9876");
}

TEST(StepLog, HasOneNanForPeople) {
  const double minus = std::copysign(std::nan(""), -1);
  EXPECT_EQ(textLine({1, minus, minus, 1, {}}),
            "step:     1  loss: nan  grad_norm: nan  seconds: 1.0000");
}

TEST(StepLog, FailsOnAFullDevice) {
  auto log = StepLog::create("/dev/full", nullptr);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ((*log)->write({1, 1, 1, 1, {}}).code(), ErrorCode::E0601);
}

// The picture in SampleOrder.h.
TEST(SampleOrder, DealsSlicesToRanksBeforeMicroBatches) {
  const SampleOrder order = {2, 2, 10, false};
  EXPECT_EQ(order.firstSample(0, 0, 0), 0);
  EXPECT_EQ(order.firstSample(0, 0, 1), 10);
  EXPECT_EQ(order.firstSample(0, 1, 0), 20);
  EXPECT_EQ(order.firstSample(1, 1, 1), 70);
}

TEST(SampleOrder, GivesReplicasTheSlicesOfOneRank) {
  const SampleOrder order = {4, 2, 10, true};
  EXPECT_EQ(order.firstSample(0, 1, 0), 10);
  EXPECT_EQ(order.firstSample(1, 0, 3), 20);
}
