//===- TorchtitanText.cpp - A plan for torchtitan -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lines of Python, and comments for what is lost.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/TorchtitanText.h"

#include "compiler/Plan/FullyShardText.h"
#include "runtime/format/Quantities.h"

#include <algorithm>
#include <map>

namespace shardc {

namespace {
/// The configuration in progress.
class Writer {
public:
  explicit Writer(const PlanReport &report) : report(report) {}

  std::string print();

private:
  const PlanReport &report;
  std::string lines, lost;

  std::string option(const std::string &name) const;
  void set(const std::string &member, const std::string &value) {
    lines += "    config." + member + " = " + value + "\n";
  }
  void lose(const std::string &what) { lost += "# - " + what + "\n"; }

  std::string mostCommon(std::string GroupPlan::*member, const char *what);
  void writeTraining();
  void writeParallelism();
  void writeRecompute();
  void noteOthers();
};
} // namespace

/// The text of an option that the step was compiled with; empty for none.
std::string Writer::option(const std::string &name) const {
  const auto found = report.options.find(name);
  if (found == report.options.end())
    return "";
  const auto *text = std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

/// What most groups but the root's have; it is lost for the others.
std::string Writer::mostCommon(std::string GroupPlan::*member,
                               const char *what) {
  std::map<std::string, int64_t> counts;
  for (size_t i = report.groups.size() > 1 ? 1 : 0; i < report.groups.size();
       ++i)
    ++counts[report.groups[i].*member];
  if (counts.empty())
    return "";
  const std::string word = std::max_element(counts.begin(), counts.end(),
                                            [](const auto &a, const auto &b) {
                                              return a.second < b.second;
                                            })
                               ->first;
  for (const auto &[other, count] : counts)
    if (other != word)
      lose(std::string(what) + " " + other + " for " + std::to_string(count) +
           (count == 1 ? " group" : " groups") + ": here as for all others, " +
           word);
  return word;
}

void Writer::writeTraining() {
  const std::vector<int64_t> &shape =
      report.inputs.empty() ? std::vector<int64_t>() : report.inputs[0].shape;
  if (shape.size() == 2) {
    set("training.local_batch_size", std::to_string(shape[0]));
    set("training.seq_len", std::to_string(shape[1]));
    set("training.global_batch_size",
        std::to_string(shape[0] * report.microBatches * report.mesh.ranks()));
  } else {
    lose("the inputs, which are no sequences of tokens");
  }
  set("training.mixed_precision_param",
      option("param_dtype") == "bf16" ? "\"bfloat16\"" : "\"float32\"");
  if (option("param_dtype") == "f16")
    lose("parameters in f16: torchtitan gathers bf16 or f32");
  if (const std::string dtype = option("reduce_dtype");
      dtype == "bf16" || dtype == "f16")
    lose("gradients that are reduced in " + dtype +
         ": torchtitan reduces in f32");
  if (option("master_dtype") == "bf16")
    set("training.dtype", "\"bfloat16\"");
}

void Writer::writeParallelism() {
  int64_t shards = 1, replicas = 1;
  for (const format::MeshAxis &axis : report.mesh.axes)
    (axis.name == "replicate" ? replicas : shards) *= axis.size;
  set("parallelism.data_parallel_replicate_degree", std::to_string(replicas));
  set("parallelism.data_parallel_shard_degree", std::to_string(shards));
  std::string reshard = mostCommon(&GroupPlan::reshard, "--reshard");
  // torchtitan's default keeps its last group, which its always reshards.
  if (reshard == "always" && !report.groups.empty() &&
      report.groups[0].reshard == "never")
    reshard = "default";
  if (reshard != "always" && reshard != "never" && reshard != "default") {
    if (!reshard.empty())
      lose("resharding to " + reshard + " ranks: always is nearest");
    reshard = "always";
  }
  set("parallelism.fsdp_reshard_after_forward", "\"" + reshard + "\"");
}

void Writer::writeRecompute() {
  const std::string recompute =
      mostCommon(&GroupPlan::recompute, "--recompute");
  if (recompute == "full") {
    set("activation_checkpoint", "FullAC.Config()");
  } else if (recompute == "alternate") {
    set("activation_checkpoint", "SelectiveAC.Config()");
  } else if (recompute == "selective") {
    set("activation_checkpoint", "SelectiveAC.Config()");
    lose(
        "products that are kept: SelectiveAC computes every second one again, "
        "as --recompute alternate does, which takes less memory and more time");
  } else {
    set("activation_checkpoint", "None");
  }
}

void Writer::noteOthers() {
  if (option("prefetch") != "1" && !option("prefetch").empty())
    lose("--prefetch " + option("prefetch") + ": FSDP2 gathers one ahead");
  if (!option("wrap").empty() && option("wrap") != "blocks")
    lose("--wrap " + option("wrap") +
         ": torchtitan's parallelize function says what is a group");
  lose("the optimizer and its hyperparameters, gradient clipping, and rules "
       "for parameters");
}

std::string Writer::print() {
  writeTraining();
  writeParallelism();
  writeRecompute();
  noteOthers();
  return "# The torchtitan 0.3 configuration closest to shardc's plan for " +
         report.model + " on\n# " + std::to_string(report.mesh.ranks()) +
         " ranks of " + report.machine + ":\n# " + describeForecast(report) +
         "\n#\n# Not covered:\n" + lost +
         "from torchtitan.distributed.activation_checkpoint import FullAC, "
         "SelectiveAC\n\n\ndef apply_plan(config):\n    \"\"\"Changes a "
         "torchtitan.trainer.Trainer.Config, and returns it.\"\"\"\n" +
         lines + "    return config\n";
}

std::string printTorchtitan(const PlanReport &report) {
  return Writer(report).print();
}

} // namespace shardc
