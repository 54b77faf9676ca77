//===- VerifyModelTest.cpp - What shardc verify says and leaves -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One model as compiled, and with a mistake put into its artifact.
//===----------------------------------------------------------------------===//

#include "tools/verify/VerifyModel.h"

#include "tools/verify/Verify.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

using namespace shardc;
using namespace shardc::verify;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

constexpr const char *program = R"mlir(
module @small {
  fsdp.parameter @first.weight : tensor<12x8xf32>
  func.func @forward(%x: tensor<4x8xf32> {shardc.name = "x"}) -> tensor<f32> {
    %w = fsdp.read @first.weight : tensor<12x8xf32>
    %h = aten.linear %x, %w {shardc.modules = [{path = "first", type = "Linear"}]} : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<4x12xf32>
    %g = aten.gelu %h {shardc.modules = [{path = "first.act", type = "GELU"}]} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %loss = aten.mean %g [0, 1] {shardc.modules = [{path = "first", type = "Linear"}]} : (tensor<4x12xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
)mlir";

constexpr const char *verdict = "computes what the reference computes";

/// Works in a folder of its own.
class VerifyModelTest : public testing::Test {
protected:
  std::filesystem::path before = std::filesystem::current_path();
  VerifyOptions options;

  void SetUp() override {
    auto folder = std::filesystem::path(testing::TempDir()) / "verify-model";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::current_path(folder);
    std::ofstream("my model.mlir") << program;
    options.compile.worldSize = 2;
    options.compile.wrap = "first";
    options.compile.momentum = 0.9;
    options.steps = 2;
  }
  void TearDown() override { std::filesystem::current_path(before); }
};

std::string readText(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The kernel that computes gelu leaves its last elements as they were.
void shortenGelu(VerifiedProgram &both) {
  for (format::Command &command : both.compiled.artifact.program.commands)
    if (command.callee.find("gelu") != std::string::npos &&
        command.callee.find("backward") == std::string::npos)
      --std::get<int64_t>(command.attributes.at("extent"));
}

} // namespace

TEST_F(VerifyModelTest, ARightModelLeavesNothing) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(verifyModel("my model.mlir", options), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr(verdict));
  EXPECT_FALSE(std::filesystem::exists("shardc-reproducer-small.mlir"));
}

TEST_F(VerifyModelTest, AMistakeNamesItsCommandAndLeavesAReproducer) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(verifyModel("my model.mlir", options, shortenGelu), 6);
  std::string error = testing::internal::GetCapturedStderr();
  EXPECT_THAT(testing::internal::GetCapturedStdout(), Not(HasSubstr(verdict)));
  EXPECT_THAT(error, HasSubstr("error E0703: the compiled step differs"));
  EXPECT_THAT(error, HasSubstr("the first wrong command is number"));
  EXPECT_THAT(error, HasSubstr("kernel_gelu"));
  EXPECT_THAT(error, HasSubstr("in module 'first'"));
  EXPECT_THAT(readText("shardc-reproducer-small.mlir"),
              StartsWith("// shardc verify shardc-reproducer-small.mlir "
                         "--world-size 2 --wrap first --momentum 0.9 "
                         "--steps 2\n"));
  EXPECT_EQ(verifyModel("shardc-reproducer-small.mlir", options), 0)
      << "the compiler makes no mistake here";
}
