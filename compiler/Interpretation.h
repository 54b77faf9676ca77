//===- Interpretation.h - Running a program in the interpreter ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `shardc interpret` does, behind plain structures.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_INTERPRETATION_H
#define SHARDC_COMPILER_INTERPRETATION_H

#include "compiler/Options.h"

#include <optional>

namespace shardc {

struct InterpretOptions {
  InputOptions input;
  /// A safetensors file of the model's inputs, by name or as input0, input1, …;
  /// empty for numbers drawn from `seed`.
  std::string inputs;
  /// A safetensors file of parameters and buffers by name, instead of the
  /// export's; a program without either draws them from `seed`.
  std::string weights;
  uint64_t seed = 0;
  /// Simulated ranks of a program that is not sharded yet: each gets its part
  /// of the inputs' first dimension. A sharded program has its mesh's.
  std::optional<int64_t> ranks;
  /// Executions, one micro-batch each, on the same inputs.
  int64_t steps = 1;
  double learningRate = 0.01;
  /// Where to write the outputs as safetensors; empty for nowhere.
  std::string outputs;
  /// A safetensors file of expected outputs, by name or as expected0,
  /// expected1, …; empty for no comparison.
  std::string expected;
  /// Allowed difference relative to an element; nothing for the dtype's.
  std::optional<double> tolerance;
};

/// Executes the program at `path` and prints its outputs. Returns the process's
/// exit code: 6 when an output differs from the expected one.
int interpret(const std::string &path, const InterpretOptions &options);

} // namespace shardc

#endif // SHARDC_COMPILER_INTERPRETATION_H
