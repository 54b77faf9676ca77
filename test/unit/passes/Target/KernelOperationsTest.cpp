//===- KernelOperationsTest.cpp - Tests of what kernels compute -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small kernels whose operations are counted by hand.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelOperations.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using shardc::target::OperationCount;

namespace {

/// The operations of a block of `threads` threads that run `body`, which has
/// %x, %y : f32, %z : f64 and %n : index; on a processor without `threads`.
OperationCount count(const std::string &body, int threads = 0) {
  MLIRContext context;
  context
      .loadDialect<affine::AffineDialect, arith::ArithDialect,
                   func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                   scf::SCFDialect, vector::VectorDialect>();
  const std::string attributes =
      threads == 0 ? ""
                   : " attributes {exec.threads = " + std::to_string(threads) +
                         " : i64}";
  auto module = parseSourceString<ModuleOp>(
      "func.func @kernel(%x: f32, %y: f32, %z: f64, %n: index)" + attributes +
          " {\n"
          "  %c0 = arith.constant 0 : index\n"
          "  %c1 = arith.constant 1 : index\n"
          "  %c3 = arith.constant 3 : index\n"
          "  %c10 = arith.constant 10 : index\n" +
          body + "\n  return\n}",
      &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  auto counts = shardc::target::countOperations(*module);
  EXPECT_EQ(counts.size(), 1u);
  return counts.lookup("kernel");
}

TEST(KernelOperations, EveryThreadComputesItsBody) {
  const OperationCount counted = count("%a = arith.mulf %x, %y : f32\n"
                                       "%b = arith.addf %a, %y : f32\n"
                                       "%c = math.fma %a, %b, %x : f32\n"
                                       "%d = arith.addf %z, %z : f64",
                                       /*threads=*/256);
  EXPECT_EQ(counted.f32, 256 * 4);
  EXPECT_EQ(counted.f64, 256);
}

TEST(KernelOperations, WhatIsNoArithmeticOfFloatsCostsNothing) {
  const OperationCount counted = count("%a = arith.addi %n, %n : index\n"
                                       "%b = arith.bitcast %x : f32 to i32\n"
                                       "%c = arith.truncf %x : f32 to bf16\n"
                                       "%d = arith.cmpi slt, %n, %c3 : index\n"
                                       "%e = arith.select %d, %x, %y : f32");
  EXPECT_EQ(counted.f32, 0);
  EXPECT_EQ(counted.f64, 0);
}

TEST(KernelOperations, ConversionsOfF64AreItsUnits) {
  EXPECT_EQ(count("%a = arith.extf %x : f32 to f64").f64, 1);
  EXPECT_EQ(count("%a = arith.truncf %z : f64 to f32").f64, 1);
}

// 0, 3, 6, 9: four iterations, each with a loop of ten.
TEST(KernelOperations, LoopsMultiply) {
  const OperationCount counted = count("scf.for %i = %c0 to %c10 step %c3 {\n"
                                       "  scf.for %j = %c0 to %c10 step %c1 {\n"
                                       "    %a = arith.mulf %x, %y : f32\n  }\n"
                                       "  %b = arith.mulf %z, %z : f64\n}",
                                       /*threads=*/2);
  EXPECT_EQ(counted.f32, 2 * 4 * 10);
  EXPECT_EQ(counted.f64, 2 * 4);
}

// 0, 4, 8 of 10, with vectors of 4.
TEST(KernelOperations, LoopsOfProcessorsMultiply) {
  const OperationCount counted =
      count("%v = vector.broadcast %x : f32 to vector<4xf32>\n"
            "affine.for %i = 0 to 10 step 4 {\n"
            "  %a = arith.mulf %v, %v : vector<4xf32>\n}");
  EXPECT_EQ(counted.f32, 3 * 4);
}

TEST(KernelOperations, AnOpenBoundIsOneIteration) {
  EXPECT_EQ(count("scf.for %i = %c0 to %n step %c1 {\n"
                  "  %a = arith.mulf %x, %y : f32\n}")
                .f32,
            1);
}

TEST(KernelOperations, OfABranchTheLongerSideCounts) {
  const OperationCount counted =
      count("%c = arith.cmpf olt, %x, %y : f32\n"
            "%r = scf.if %c -> f32 {\n"
            "  %a = arith.mulf %x, %y : f32\n"
            "  %b = arith.mulf %a, %y : f32\n  scf.yield %b : f32\n"
            "} else {\n  scf.yield %x : f32\n}");
  EXPECT_EQ(counted.f32, 1 + 2);
}

TEST(KernelOperations, AFunctionIsItsArithmetic) {
  EXPECT_GT(count("%a = math.exp %x : f32").f32, 8);
  EXPECT_EQ(count("%a = math.exp %z : f64").f64, 1);
}

} // namespace
