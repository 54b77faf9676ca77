//===- SectionsTest.cpp - Training steps and evaluations ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which sections a run takes, and the rules of an evaluation.
//===----------------------------------------------------------------------===//

#include "runtime/format/Sections.h"
#include "runtime/format/JsonDocuments.h"
#include "runtime/format/Validator.h"
#include "test/unit/runtime/TinyModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

using namespace shardc::format;
using shardc::Status;
using namespace shardc::testing;

namespace {
const std::vector<Section> sections = {
    {"begin", Repeat::Once, {}},
    {"micro_batch", Repeat::MicroBatches, {}},
    {"update", Repeat::Once, {}},
    {"evaluate_begin", Repeat::Once, {}, Run::Evaluation},
    {"evaluate_first", Repeat::FirstMicroBatch, {}, Run::Evaluation},
    {"evaluate_only", Repeat::OnlyMicroBatch, {}, Run::Evaluation},
    {"evaluate_middle", Repeat::MiddleMicroBatches, {}, Run::Evaluation},
    {"evaluate_last", Repeat::LastMicroBatch, {}, Run::Evaluation}};
} // namespace

TEST(Sections, BelongToOneKindOfRun) {
  EXPECT_EQ(checkRuns(sections), "");
  EXPECT_TRUE(hasEvaluation(sections));
  EXPECT_EQ(runsOfSections(sections, 2),
            (std::vector<SectionRun>{{0, {}}, {1, 0}, {1, 1}, {2, {}}}));
  EXPECT_EQ(runsOfSections(sections, 1, Run::Evaluation),
            (std::vector<SectionRun>{{3, {}}, {5, 0}}));
  EXPECT_EQ(runsOfSections(sections, 3, Run::Evaluation),
            (std::vector<SectionRun>{{3, {}}, {4, 0}, {6, 1}, {7, 2}}));
}

TEST(Sections, TellMicroBatch0FromAllOthers) {
  std::vector<Section> two = {{"initial", Repeat::InitialMicroBatch, {}},
                              {"later", Repeat::LaterMicroBatches, {}}};
  EXPECT_EQ(checkRuns(two), "");
  EXPECT_EQ(runsOfSections(two, 1), (std::vector<SectionRun>{{0, 0}}));
  EXPECT_EQ(runsOfSections(two, 3),
            (std::vector<SectionRun>{{0, 0}, {1, 1}, {1, 2}}));
  std::swap(two[0], two[1]);
  EXPECT_EQ(checkRuns(two),
            "the first, middle and last micro-batches are in this order");
}

TEST(Sections, OfEachKindTakeEveryMicroBatch) {
  std::vector<Section> few = sections;
  few.pop_back();
  EXPECT_EQ(checkRuns(few), "sections of evaluation take 1 micro-batches of 2");
  few.resize(3);
  EXPECT_EQ(checkRuns(few), "");
  EXPECT_FALSE(hasEvaluation(few));
  EXPECT_TRUE(runsOfSections(few, 2, Run::Evaluation).empty());
  few[1].run = Run::Evaluation;
  EXPECT_EQ(checkRuns(few), "sections of training take 0 micro-batches of 1");
}

TEST(Sections, F19LetsAnEvaluationChangeMetricsAlone) {
  TinyModel model(2);
  addEvaluation(model.artifact);
  EXPECT_TRUE(validate(model.artifact).ok());
  Program &program = model.artifact.program;
  Command mean = *std::find_if(
      program.commands.begin(), program.commands.end(),
      [](const Command &command) { return command.label == "mean"; });
  mean.section = 4;
  program.commands.push_back(mean);
  const Status status = validate(model.artifact);
  EXPECT_NE(
      status.message().find("F19: an evaluation changes state 'linear.mean'"),
      std::string::npos)
      << status.message();
}

// With a kernel for blocks of threads, which no processor has.
TEST(Sections, AreReadBackAsTheyWereWritten) {
  TinyModel model(2);
  addEvaluation(model.artifact);
  Program &program = model.artifact.program;
  program.sections[2].condition = 3;
  program.kernels[0].threads = 32;
  program.kernels[0].sharedBytes = 64;
  const std::string text = printProgram(program);
  const auto read = parseProgram(std::as_bytes(std::span(text)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, program);
  EXPECT_FALSE(validate(model.artifact).ok());
}
