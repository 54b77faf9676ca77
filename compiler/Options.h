//===- Options.h - What a compilation was asked for -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one options structure of the compiler. The command line fills it in, the
// pipeline reads it, and the artifact records it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_OPTIONS_H
#define SHARDC_COMPILER_OPTIONS_H

#include "runtime/format/TargetKinds.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc {

/// How a model is read.
struct InputOptions {
  /// Values of symbolic sizes, by symbol ("s77") or input dimension ("x.0");
  /// "*.0" is the size of a micro-batch (compiler/Pt2/SymbolBindings.h).
  std::map<std::string, int64_t> bindings;
  /// The loss to compute of a model that returns predictions: cross_entropy or
  /// mse; empty for a model that returns its loss.
  std::string loss;
};

struct Options {
  InputOptions input;
  /// All ranks; at least 1.
  int64_t worldSize = 1;
  /// Replicas of the model, as in HSDP: each has worldSize / replicate ranks,
  /// which the parameters are divided over.
  int64_t replicate = 1;
  /// The ranks of a replica, where that is said in place of all ranks; 0
  /// otherwise, and once worldSize is known.
  int64_t shard = 0;
  /// Modules that are groups, separated by commas (passes/Group/Wrapping.h).
  std::string wrap = "blocks";
  /// What some groups have of their own (passes/Group/Rules.h).
  std::string moduleRules;
  /// What ranks make of buffers that each of them writes
  /// (passes/Group/Rules.h).
  std::string bufferRules;
  /// Whether groups say where their values are from.
  bool explainGroups = false;
  /// The dtype that parameters are gathered and used in: f32, bf16 or f16;
  /// empty for the exported one.
  std::string paramDtype;
  /// The dtype that gradients are reduced in: f32, bf16 or f16; empty for the
  /// exported one.
  std::string reduceDtype;
  /// When groups are resharded after forward: always, never, default, the
  /// number of ranks that they are resharded to, or auto (compiler/AutoPlan.h).
  std::string reshard = "default";
  /// Whether the model is one stage of a pipeline: with several micro-batches
  /// in flight a group that is resharded is gathered for each, so that the
  /// default is to reshard none.
  bool pipelineStage = false;
  /// What backward computes again of activations: for the wrapped modules a
  /// word of dialects/Fsdp/Recomputed.h, or patterns of modules, separated by
  /// commas, or auto.
  std::string recompute = "none";
  /// Gathers that run ahead of the one in use, or "auto".
  std::string prefetch = "1";
  /// The machine that `auto` chooses for and plans are for, by name or path,
  /// and the bytes that a rank may take of it, such as "75GiB"; empty for all.
  std::string machine;
  std::string memoryBudget;
  /// What a plan forecasts: the step of shardrun, or the same step under
  /// PyTorch's eager fsdp2, which has one kernel an operator and copies what
  /// collectives communicate. No program for it is written.
  std::string runtime = "shardrun";
  /// Whether kernels are fused. Off gives the same numbers within rounding.
  bool fuse = true;
  /// The dtype that parameters are kept in between steps: bf16; empty for the
  /// exported one.
  std::string masterDtype;

  /// sgd, adam, adamw, lion or muon, with torch.optim's names and defaults.
  std::string optimizer = "sgd";
  /// Below 0: the optimizer's own, 0 or Muon's 0.95.
  double momentum = -1;
  /// What Muon's learning rate is multiplied by: original, match_rms_adamw or
  /// spectral_unclamped.
  std::string adjustLearningRate = "original";
  double dampening = 0.0;
  bool nesterov = false;
  bool amsgrad = false;
  bool maximize = false;
  /// The dtype of what the optimizer keeps of each element: bf16; empty for the
  /// parameter's.
  std::string stateDtype;
  /// How updates of bf16 parameters are rounded: nearest or stochastic.
  std::string rounding = "nearest";
  double weightDecay = 0.0;
  /// Which parameters are frozen or have hyperparameters of their own
  /// (passes/Group/Rules.h).
  std::string paramGroups;
  /// In which micro-batches of a step gradients are reduced: each, or the last
  /// alone, until which every rank adds up whole gradients.
  std::string gradientSync = "each";
  /// What sums of gradients are kept in: f32 (f64 for parameters of f64), or
  /// reduce, the dtype that they are reduced in.
  std::string gradientDtype = "f32";
  /// Gradients whose norm, of all together, is larger are scaled to it; 0:
  /// none.
  double clipGradNorm = 0.0;
  /// Elements of gradients are brought into [-clipGradValue, clipGradValue]; 0:
  /// none.
  double clipGradValue = 0.0;
  /// What the loss is multiplied by for backward: a number, or "dynamic".
  std::string lossScale = "1";
  /// Whether steps whose gradients are not all finite are skipped.
  bool skipNonFinite = false;
  double beta1 = 0.9;
  /// Below 0: the optimizer's own, 0.999 or Lion's 0.99.
  double beta2 = -1;
  double epsilon = 1e-8;

  /// Whose batch and statistics batch norms have: local, sync or broadcast;
  /// empty: sync for modules of SyncBatchNorm, local for others.
  std::string batchNormStats;

  /// Whether the artifact can also evaluate the model.
  bool evaluation = false;

  /// cpu or cuda.
  std::string target = format::cpuTarget;
  /// The chips that a GPU's kernels are compiled for, such as sm_90, or
  /// emulated for the emulator of its threads.
  std::vector<std::string> chips;
  /// What chips execute: cubin, or ptx, which a driver compiles.
  std::string gpuFormat = "cubin";
  /// The target whose limits GPU kernels keep; tests have smaller ones.
  std::string gpu = format::cudaTarget;
  /// The processor level that kernels may use, in LLVM's words. By default not
  /// the compiling machine's: the same input gives the same artifact
  /// everywhere.
  std::string cpu = "x86-64-v3";

  /// The last phase to run; empty for all.
  std::string compileTo;
  /// Where to write the IR after each phase; empty for nowhere.
  std::string snapshots;
  /// Which remarks to print: a regular expression of pass flags; empty for the
  /// few that every user should see, in short.
  std::string remarks;
  /// "execute": run the program before and after each pass in the reference
  /// interpreter and compare; empty for the verifiers alone.
  std::string verifyEach;
  /// Whether programs of the memory phase say what their launches compute, for
  /// the reference interpreter.
  bool keepKernels = false;
  /// Whether the artifact carries the exported weights.
  bool embedWeights = true;
};

/// The same step on one rank.
inline Options onOneRank(Options options) {
  options.worldSize = 1;
  options.replicate = 1;
  return options;
}

} // namespace shardc

#endif // SHARDC_COMPILER_OPTIONS_H
