//===- PyTorchMemory.h - What FSDP2 holds beside commands -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program of Options::runtime "fsdp2" runs what PyTorch runs; what PyTorch
// holds longer than its commands need it is found here.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_PYTORCHMEMORY_H
#define SHARDC_COMPILER_PLAN_PYTORCHMEMORY_H

#include "passes/CostModel/ArenaUse.h"
#include "runtime/format/Artifact.h"

#include <string>
#include <vector>

namespace shardc {

/// Whether a state takes memory only from backward on: under `runtime` "fsdp2"
/// a gradient, because zero_grad frees it; of several micro-batches one that is
/// reduced in the last alone. Whole ones that are kept until then count always.
bool isLateGradient(const format::State &state,
                    const format::Parameters &parameters,
                    const std::string &runtime, int64_t microBatches);

/// Gradients from the commands on that write them first, of those that run.
/// What a reduction writes takes memory as soon as its input is complete.
std::vector<ArenaRange> rangesOfGradients(const format::Artifact &artifact,
                                          const std::vector<char> &runs);

/// Adds to the program's `ranges` what PyTorch holds longer: parameters until
/// the gradients of their group are complete, and beside the gradient of a
/// cross-entropy that stays one operator, which are nll_loss and log_softmax
/// there, one more tensor of logits.
void holdAsInPyTorch(const format::Program &program,
                     std::vector<ArenaRange> &ranges);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PYTORCHMEMORY_H
