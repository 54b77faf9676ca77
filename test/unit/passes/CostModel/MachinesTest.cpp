//===- MachinesTest.cpp - Tests of machine files --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every machine that is known by name is a valid file; what is wrong with one
// is named by line and key.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"

#include "passes/CostModel/EmbeddedFiles.h"
#include "passes/CostModel/GpuChip.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>
#include <set>

using namespace shardc;
using testing::HasSubstr;

namespace {

std::string h100() {
  for (const EmbeddedFile &file : embeddedMachines())
    if (file.name == "h100-sxm")
      return std::string(file.text);
  return "";
}

/// The complaint about the H100's file with `from` replaced by `to`.
std::string complaint(const std::string &from, const std::string &to) {
  std::string text = h100();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const StatusOr<format::Machine> machine =
      format::parseMachine(format::bytesOf(text), "my.json");
  EXPECT_FALSE(machine.ok());
  if (machine.ok())
    return "";
  EXPECT_EQ(machine.status().code(), ErrorCode::E0408);
  return machine.status().message();
}

/// The line of the H100's file that has `text`.
std::string lineOf(const std::string &text) {
  const std::string file = h100();
  return "line " +
         std::to_string(1 + std::count(file.begin(),
                                       file.begin() + file.find(text), '\n'));
}

TEST(Machines, EveryFileIsAMachineOfItsName) {
  std::set<std::string> names;
  for (const EmbeddedFile &file : embeddedMachines()) {
    const StatusOr<format::Machine> machine =
        format::parseMachine(format::bytesOf(file.text), "a machine");
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    EXPECT_EQ(machine->name, file.name);
    if (machine->isGpu())
      EXPECT_TRUE(findGpuChip(machine->processor.chip));
    names.insert(machine->name);
  }
  for (const char *name :
       {"h100-sxm", "h200", "a100-40gb", "a100-80gb", "b200"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Machines, APrintedMachineIsTheSame) {
  std::vector<format::Machine> machines = knownMachines();
  machines.push_back(machines.front());
  machines.back().memory.depthwise = machines.back().memory.efficiency;
  for (const format::Machine &machine : machines) {
    const std::string text = format::printMachine(machine);
    const StatusOr<format::Machine> again =
        format::parseMachine(format::bytesOf(text), "printed");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, machine);
  }
}

TEST(Machines, ComplaintsNameLineAndKey) {
  const std::string units =
      R"("units": {"value": 132, "source": "architecture"})";
  EXPECT_EQ(complaint(units, R"("units": {"value": -1, "source": "estimate"})"),
            "'my.json', " + lineOf(units) +
                ", /processor/units/value: expected a number from 1.0 to "
                "1e+18, got -1.0");
  EXPECT_THAT(complaint(units, R"("units": {"value": 0, "source": "nccl"})"),
              HasSubstr("expected a number from 1.0 to 1e+18, got 0.0"));
  EXPECT_THAT(complaint(units, R"("units": {"value": 1, "source": "me"})"),
              HasSubstr("'me' is none of the file's sources"));
  EXPECT_THAT(complaint(units, R"("unit": {"value": 1, "source": "nccl"})"),
              HasSubstr("/processor/unit: unknown member 'unit'"));
  EXPECT_THAT(complaint(units + ",", ""),
              HasSubstr("/processor: expected a member 'units'"));
  EXPECT_THAT(complaint("0.8]", "1.8]"),
              HasSubstr("expected a share above 0 and at most 1, got 1.8"));
  EXPECT_THAT(complaint(R"("context_bytes": {"value": 629145600)",
                        R"("context_bytes": {"value": 1e19)"),
              HasSubstr("expected a number from 0.0 to 1e+15"));
  EXPECT_THAT(complaint(R"("bf16": {)", R"("bfloat": {)"),
              HasSubstr("'bfloat' is no floating-point dtype"));
  EXPECT_THAT(complaint(R"("name": "h100-sxm")", R"("name": "h\n100")"),
              HasSubstr("expected a name on one line"));
  EXPECT_THAT(complaint(R"("target": "cuda")", R"("target": "tpu")"),
              HasSubstr("expected 'cpu' or 'cuda', got 'tpu'"));
  EXPECT_THAT(complaint(R"("target": "cuda")", R"("target": "cpu")"),
              HasSubstr("a processor has no member 'chip'"));
  EXPECT_THAT(complaint(R"("ranks": 8,)", R"("ranks": 1,)"),
              HasSubstr("expected at least 2 ranks"));
  EXPECT_THAT(complaint(R"("ranks": 8,)", ""),
              HasSubstr("connects any number of ranks"));
  EXPECT_THAT(complaint(R"("target")", R"("target)"),
              HasSubstr("'my.json': parse error at line "));
}

TEST(Machines, ARuntimeReachesAShareOfTheRates) {
  format::Machine machine =
      *format::parseMachine(format::bytesOf(h100()), "a machine");
  machine.runtimes["fsdp2"] = {
      {0.5, "estimate"}, {4, "estimate"}, {0.9, "nccl"}};
  const std::string path = testing::TempDir() + "/machine.json";
  std::ofstream(path) << format::printMachine(machine);
  const StatusOr<format::Machine> scaled = findMachine(path, "fsdp2");
  ASSERT_TRUE(scaled.ok()) << scaled.status().message();
  const format::Processor &whole = machine.processor;
  const format::Processor &part = scaled->processor;
  for (const double size : {1e6, 3e9, 1e13}) {
    EXPECT_DOUBLE_EQ(part.products.curve.at(size),
                     0.5 * whole.products.curve.at(size));
    EXPECT_DOUBLE_EQ(part.convolutions.curve.at(size),
                     0.5 * whole.convolutions.curve.at(size));
    EXPECT_DOUBLE_EQ(scaled->memory.efficiency.curve.at(size),
                     0.9 * machine.memory.efficiency.curve.at(size));
    // Nothing is faster than its peak.
    EXPECT_DOUBLE_EQ(part.attention.curve.at(size), 1);
  }
  EXPECT_EQ(part.productRates, whole.productRates);
  machine.runtimes.erase("fsdp2");
  std::ofstream(path) << format::printMachine(machine);
  EXPECT_EQ(*findMachine(path, "fsdp2"), machine);
}

TEST(Machines, ComplaintsAboutRuntimes) {
  const std::string runtime = R"("fsdp2": {)";
  EXPECT_THAT(complaint(runtime, R"("ddp": {)"),
              HasSubstr("/runtimes/ddp: unknown member 'ddp'"));
  EXPECT_THAT(complaint(runtime, R"("fsdp2": {"convolutions": 1,)"),
              HasSubstr("/runtimes/fsdp2/convolutions: unknown member"));
  EXPECT_THAT(complaint(R"({"value": 0.786)", R"({"value": 0)"),
              HasSubstr("/runtimes/fsdp2/products/value: expected a number "
                        "from 0.01 to 10.0, got 0.0"));
}

TEST(Machines, AnUnknownNameGetsTheList) {
  const StatusOr<format::Machine> machine = findMachine("h100");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.status().code(), ErrorCode::E0409);
  EXPECT_EQ(machine.status().message(),
            "unknown machine 'h100'; did you mean 'h100-sxm'?");
  ASSERT_EQ(machine.status().notes().size(), 1u);
  EXPECT_THAT(machine.status().notes()[0], HasSubstr("a100-40gb, a100-80gb"));
  EXPECT_EQ(findMachine("no/such.json").status().message(),
            "'no/such.json': no such file");
  EXPECT_EQ(findMachine("/dev/zero").status().message(),
            "'/dev/zero': not a regular file");
}

TEST(Machines, CurvesAreStraightOverTheLogarithm) {
  const format::Curve curve{{{10, 0.2}, {1000, 0.6}}};
  EXPECT_DOUBLE_EQ(curve.at(1), 0.2);
  EXPECT_DOUBLE_EQ(curve.at(100), 0.4);
  EXPECT_DOUBLE_EQ(curve.at(1e6), 0.6);
}

} // namespace
