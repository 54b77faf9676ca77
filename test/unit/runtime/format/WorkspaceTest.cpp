//===- WorkspaceTest.cpp - The memory that library calls work in ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a call gets, and rule F23, on a tiny model for a GPU.
// DeviceCallsTest holds the bytes of the runtime's kernels to what they take.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/JsonDocuments.h"
#include "runtime/format/LibraryCalls.h"
#include "runtime/format/TiledProduct.h"
#include "runtime/format/Validator.h"

#include <gtest/gtest.h>

#include <functional>

using namespace shardc;
using namespace shardc::format;
using namespace shardc::testing;

namespace {
constexpr int64_t mebibyte = 1 << 20;

Command call(const std::string &name, std::vector<TensorReference> operands,
             Attributes attributes = {}) {
  Command command;
  command.kind = CommandKind::Call;
  command.callee = name;
  command.operands = std::move(operands);
  command.attributes = std::move(attributes);
  return command;
}

TensorReference tensor(Dtype dtype, std::vector<int64_t> shape) {
  return {{}, dtype, std::move(shape), {}};
}

Command product(Dtype dtype, int64_t rows, int64_t columns, int64_t depth) {
  return call("matmul",
              {tensor(dtype, {rows, depth}), tensor(dtype, {depth, columns}),
               tensor(dtype, {rows, columns})});
}

Command convolution(int64_t batch, int64_t channels, int64_t extent) {
  const std::vector<int64_t> one = {1, 1};
  const TensorReference image =
      tensor(Dtype::BF16, {batch, channels, extent, extent});
  return call("convolution",
              {image, tensor(Dtype::BF16, {channels, channels, 3, 3}), image},
              {{"stride", one},
               {"padding", one},
               {"dilation", one},
               {"groups", int64_t(1)}});
}

Command &find(Artifact &artifact, const std::string &label) {
  for (Command &command : artifact.program.commands)
    if (command.label == label)
      return command;
  throw std::runtime_error("no command " + label);
}

/// The tiny model for a GPU; its sum of squares works at the end of the arena.
Artifact artifactOfGpu() {
  Artifact artifact = TinyModel(2).artifact;
  artifact.manifest.target.kind = "cuda";
  artifact.manifest.target.chips = {"sm_90"};
  const int64_t begin = (artifact.program.arenaBytes + 255) / 256 * 256;
  artifact.program.arenaBytes = begin + 512;
  find(artifact, "norm").workspace = {Space::Arena, 0, begin, 256, {}};
  return artifact;
}

void expectBroken(const std::string &rule,
                  const std::function<void(Artifact &)> &change) {
  Artifact artifact = artifactOfGpu();
  change(artifact);
  const Status status = validate(artifact);
  EXPECT_EQ(status.code(), ErrorCode::E0309);
  EXPECT_NE(status.message().find("breaks rule " + rule + ":"),
            std::string::npos)
      << status.message();
}
} // namespace

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

TEST(CallWorkspace, SmallProductsGetFourTimesTheirTensors) {
  // 4 * 4 * (16 * 64 + 64 * 32 + 16 * 32) bytes, and 256 for next to nothing.
  EXPECT_EQ(callWorkspaceBytes(product(Dtype::F32, 16, 32, 64)), 57344);
  EXPECT_EQ(callWorkspaceBytes(product(Dtype::F32, 1, 1, 1)), 256);
}

TEST(CallWorkspace, LargeCallsGetWhatALibraryIsAdvised) {
  EXPECT_EQ(callWorkspaceBytes(product(Dtype::BF16, 8192, 4096, 4096)),
            32 * mebibyte);
  EXPECT_EQ(callWorkspaceBytes(convolution(256, 64, 56)), 256 * mebibyte);
}

TEST(CallWorkspace, ConvolutionsBetweenFollowTheirTensors) {
  // 4 * 2 * (2 * 8 * 16 * 14 * 14 + 16 * 16 * 9) bytes.
  EXPECT_EQ(callWorkspaceBytes(convolution(8, 16, 14)), 419840);
}

TEST(CallWorkspace, ADeepProductHasRoomForItsParts) {
  const Command deep = product(Dtype::F32, 8, 8, 4096);
  EXPECT_EQ(cutDepth(tiledProductOf(deep)).parts, 16);
  EXPECT_EQ(kernelWorkspaceBytes(deep), 16 * 8 * 8 * 8);
  EXPECT_GE(callWorkspaceBytes(deep), kernelWorkspaceBytes(deep));
}

TEST(CallWorkspace, CallsThatKeepNothingGetNone) {
  const TensorReference row = tensor(Dtype::F32, {4, 1024});
  EXPECT_EQ(
      callWorkspaceBytes(call("sort", {row, row, tensor(Dtype::I64, {4, 1024})},
                              {{"descending", false}})),
      0);
  const TensorReference plane = tensor(Dtype::F32, {1, 1, 4, 4});
  EXPECT_EQ(callWorkspaceBytes(call("max_pool2d", {plane, plane, plane})), 0);
}

TEST(CallWorkspace, TensorsWithoutElementsNeedNothing) {
  EXPECT_EQ(
      callWorkspaceBytes(call("sum_of_squares", {tensor(Dtype::F32, {0}),
                                                 tensor(Dtype::F64, {2})})),
      0);
}

//===----------------------------------------------------------------------===//
// Rule F23
//===----------------------------------------------------------------------===//

TEST(Validator, F23AcceptsAWorkspaceThatSuffices) {
  Artifact artifact = artifactOfGpu();
  EXPECT_TRUE(validate(artifact).ok()) << validate(artifact).message();
  find(artifact, "norm").workspace->bytes = 512;
  EXPECT_TRUE(validate(artifact).ok());
  // A product of our own kernels needs none; a library may have some.
  BufferReference of = *find(artifact, "norm").workspace;
  find(artifact, "weight gradient").workspace = of;
  EXPECT_TRUE(validate(artifact).ok());
}

TEST(Validator, F23RejectsWorkspacesThatNoCallCanWorkIn) {
  auto workspace = [](const std::string &rule,
                      const std::function<void(BufferReference &)> &change) {
    expectBroken(rule,
                 [&](Artifact &a) { change(*find(a, "norm").workspace); });
  };
  workspace("F23", [](BufferReference &r) { r.bytes = 255; });
  workspace("F23", [](BufferReference &r) { r.bytes = -256; });
  workspace("F5", [](BufferReference &r) { r.offset += 64; });
  workspace("F5", [](BufferReference &r) { r.offset += 512; });
  workspace("F5", [](BufferReference &r) { r.offset = -256; });
  workspace("F5", [](BufferReference &r) { r.index = 1; });
  workspace("F23", [](BufferReference &r) { r.rankStrides[0] = 256; });
  expectBroken("F23", [](Artifact &a) { find(a, "norm").workspace.reset(); });
  // A product needs none, and has it in the arena.
  expectBroken("F6", [](Artifact &a) {
    find(a, "weight gradient").workspace = {Space::Input, 1, 0, 60, {}};
  });
  expectBroken("F23", [](Artifact &a) {
    find(a, "weight gradient").workspace = {Space::State, 2, 0, 32, {}};
  });
}

TEST(Validator, F23RejectsWorkspacesOfWhatHasNone) {
  expectBroken("F23", [](Artifact &a) {
    find(a, "padding").workspace = find(a, "norm").workspace;
  });
  expectBroken("F23", [](Artifact &a) {
    a.manifest.target.kind = "cpu";
    a.manifest.target.chips.clear();
  });
}

TEST(Validator, F17RejectsAWorkspaceThatIsAnOperands) {
  expectBroken("F17", [](Artifact &a) {
    Command &product = find(a, "weight gradient");
    product.workspace = {Space::Arena, 0, 0, 256, {}};
  });
}

TEST(ProgramJson, KeepsWorkspaces) {
  const Program program = artifactOfGpu().program;
  const std::string text = printProgram(program);
  const StatusOr<Program> again = parseProgram(
      {reinterpret_cast<const std::byte *>(text.data()), text.size()});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, program);
}
