//===- FullyShardText.cpp - A plan as calls of fully_shard ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Groups that have the same arguments share a call in a loop.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/FullyShardText.h"

#include "runtime/format/Quantities.h"

#include <algorithm>
#include <map>

namespace shardc {

/// What is not of this plan.
static constexpr const char *helpers = R"(
def find(model, path):
    """The module of an exported path. If the export added the loss, paths begin
    with `model.`; `model` may be the wrapper or the module inside it."""
    try:
        return model.get_submodule(path)
    except AttributeError:
        return model.get_submodule(path.removeprefix("model."))


def replace(model, path, module):
    """Puts `module` in the place of the one at `path`."""
    old = find(model, path)
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if child is old:
                parent.register_module(name, module)
)";

static constexpr const char *selectiveHelper = R"(

# Save the expensive operators: matmuls, convolutions and attention.
KEPT = {getattr(torch.ops.aten, name).default for name in (
    "mm", "bmm", "addmm", "baddbmm", "convolution",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
) if hasattr(torch.ops.aten, name)}


def keep_products(context, operator, *arguments, **keywords):
    return (CheckpointPolicy.MUST_SAVE if operator in KEPT
            else CheckpointPolicy.PREFER_RECOMPUTE)


def selective_contexts():
    return create_selective_checkpoint_contexts(keep_products)
)";

static constexpr const char *alternateHelper = R"(

# Every second `mm` is recomputed.
def alternate_contexts():
    counts = {False: 0, True: 0}  # In forward, and when it is recomputed.

    def keep(context, operator, *arguments, **keywords):
        if operator == torch.ops.aten.mm.default:
            counts[context.is_recompute] += 1
            if counts[context.is_recompute] % 2 == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        return keep_products(context, operator)

    return create_selective_checkpoint_contexts(keep)
)";

/// "torch.bfloat16", or "None".
static std::string dtypeOf(const std::string &word) {
  if (word.empty())
    return "None";
  return word == "bf16"  ? "torch.bfloat16"
         : word == "f16" ? "torch.float16"
         : word == "f64" ? "torch.float64"
                         : "torch.float32";
}

static std::string policyOf(const PlannedUnit &unit) {
  return "MixedPrecisionPolicy(\n        param_dtype=" +
         dtypeOf(unit.paramDtype) +
         ", reduce_dtype=" + dtypeOf(unit.reduceDtype) +
         ",\n        output_dtype=" + dtypeOf(unit.outputDtype) +
         ", cast_forward_inputs=" + (unit.castsInputs ? "True" : "False") + ")";
}

/// What `fully_shard` takes for the same: groups that are gathered once are
/// kept.
static std::string reshardOf(const GroupPlan &group) {
  if (group.reshard.find_first_not_of("0123456789") == std::string::npos)
    return group.reshard;
  return group.reshard == "always" || group.gathers > 1 ? "True" : "False";
}

/// A Python list of texts, over lines of 79 characters.
static std::string listOf(const std::vector<std::string> &texts,
                          const std::string &indentation) {
  std::string lines = "[", line;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string text =
        "\"" + texts[i] + "\"" + (i + 1 < texts.size() ? ", " : "");
    if (indentation.size() + line.size() + text.size() > 78) {
      lines += line.substr(0, line.size() - 1) + "\n" + indentation;
      line.clear();
    }
    line += text;
  }
  return lines + line + "]";
}

/// A group's modules as an argument: one, or a list.
static std::string findText(const std::vector<std::string> &modules) {
  std::string text;
  for (const std::string &module : modules)
    text += (text.empty() ? "" : ", ") + ("find(model, \"" + module + "\")");
  return modules.size() == 1 ? text : "[" + text + "]";
}

static std::string printMesh(const format::Mesh &mesh) {
  std::string sizes, names;
  // Parts of the shards' axis are FSDP2's own affair.
  std::map<bool, int64_t> ranks = {{false, 1}, {true, 1}};
  for (const format::MeshAxis &axis : mesh.axes)
    ranks[axis.name == "replicate"] *= axis.size;
  if (ranks[true] > 1) {
    sizes = std::to_string(ranks[true]) + ", ";
    names = "\"replicate\", ";
  }
  return "        mesh = init_device_mesh(\"cuda\", (" + sizes +
         std::to_string(ranks[false]) + ",), mesh_dim_names=(" + names +
         "\"shard\",))\n";
}

/// Checkpoints of the modules with each form: those of groups in their order,
/// and before them others, which may be inside.
static std::string
printCheckpoints(const std::vector<PlannedUnit> &units,
                 std::map<std::string, std::string> recomputed) {
  std::map<std::string, std::vector<std::string>> ofGroups, modules;
  for (const PlannedUnit &unit : units)
    for (const std::string &module : unit.modules)
      if (const auto found = recomputed.extract(module))
        ofGroups[found.mapped()].push_back(module);
  for (const auto &[module, form] : recomputed)
    modules[form].push_back(module);
  for (const auto &[form, paths] : ofGroups)
    modules[form].insert(modules[form].end(), paths.begin(), paths.end());
  std::string text;
  for (const auto &[form, arguments] :
       {std::pair("full", ""),
        {"selective", ", context_fn=selective_contexts"},
        {"alternate", ", context_fn=alternate_contexts"}})
    if (!modules[form].empty())
      text +=
          "    for path in " + listOf(modules[form], "                 ") +
          ":\n        replace(model, path, checkpoint_wrapper(\n            "
          "find(model, path)" +
          std::string(arguments) + "))\n";
  return text;
}

/// The groups, what is inside of others first, and the root last.
static std::vector<const PlannedUnit *>
orderOf(const std::vector<PlannedUnit> &units) {
  std::vector<const PlannedUnit *> order;
  for (const PlannedUnit &unit : units)
    order.push_back(&unit);
  auto depth = [](const PlannedUnit *unit) {
    const std::vector<std::string> &modules = unit->modules;
    return modules.empty()
               ? std::ptrdiff_t(-1)
               : std::count(modules[0].begin(), modules[0].end(), '.');
  };
  std::sort(order.begin(), order.end(),
            [&](const PlannedUnit *a, const PlannedUnit *b) {
              return std::pair(-depth(a), a) < std::pair(-depth(b), b);
            });
  return order;
}

/// Calls of fully_shard for groups with the same arguments: a loop where there
/// are several, or where one module is the group.
static std::string
printLoop(const std::vector<std::vector<std::string>> &groups,
          const std::string &arguments) {
  const std::string indentation = "                 ";
  if (groups.front().size() == 1) {
    std::vector<std::string> paths;
    for (const std::vector<std::string> &group : groups)
      paths.push_back(group.front());
    return "    for path in " + listOf(paths, indentation) +
           ":\n        fully_shard(find(model, path),\n                    " +
           arguments;
  }
  if (groups.size() == 1)
    return "    fully_shard(" +
           (groups.front().empty() ? "model" : findText(groups.front())) +
           ",\n                " + arguments;
  std::string rows;
  for (const std::vector<std::string> &group : groups)
    rows += (rows.empty() ? "" : ",\n" + indentation + " ") +
            listOf(group, indentation + "  ");
  return "    for paths in [" + rows +
         "]:\n        fully_shard([find(model, path) for path in paths],\n"
         "                    " +
         arguments;
}

/// A call for each group; those that follow each other with the same arguments
/// are a loop.
static std::string printCalls(const PlanReport &report,
                              const std::vector<PlannedUnit> &units) {
  std::map<std::string, std::string> policies;
  std::string text, calls;
  std::vector<std::vector<std::string>> groups;
  std::string before;
  auto end = [&] {
    if (!groups.empty())
      calls += printLoop(groups, before);
    groups.clear();
  };
  for (const PlannedUnit *unit : orderOf(units)) {
    const auto group = std::find_if(
        report.groups.begin(), report.groups.end(),
        [&](const GroupPlan &each) { return each.name == unit->group; });
    if (group == report.groups.end())
      continue;
    const auto [policy, isNew] = policies.try_emplace(
        policyOf(*unit), "policy_" + std::to_string(policies.size()));
    if (isNew)
      text += "    " + policy->second + " = " + policy->first + "\n";
    const std::string arguments =
        "mesh=mesh, mp_policy=" + policy->second +
        ", reshard_after_forward=" + reshardOf(*group) + ")\n";
    auto kindOf = [](const std::vector<std::string> &modules) {
      return std::min<size_t>(modules.size(), 2);
    };
    if (!groups.empty() &&
        (arguments != before || kindOf(unit->modules) != kindOf(groups.back())))
      end();
    before = arguments;
    groups.push_back(unit->modules);
  }
  end();
  return text + calls;
}

/// More than one gather ahead is said for each group; one is what FSDP2 does.
static std::string printPrefetch(const std::vector<PlannedUnit> &units,
                                 int64_t prefetch) {
  if (prefetch <= 1)
    return "";
  std::vector<std::string> firsts;
  for (const PlannedUnit &unit : units)
    if (!unit.modules.empty())
      firsts.push_back(unit.modules[0]);
  const std::string count = std::to_string(prefetch);
  return "    groups = [find(model, path) for path in " +
         listOf(firsts, "              ") +
         "]\n    for i, group in enumerate(groups):\n"
         "        group.set_modules_to_forward_prefetch(groups[i + 1:i + 1 + " +
         count +
         "])\n        group.set_modules_to_backward_prefetch(\n"
         "            groups[max(0, i - " +
         count + "):i][::-1])\n";
}

std::string describeForecast(const PlanReport &report) {
  return printBytes(report.memory.bytes) + " per rank and " +
         printSeconds(report.time.seconds) + " per step " +
         (report.runtime == "fsdp2"
              ? "under FSDP2, by shardc's forecast."
              : "in shardrun. To forecast PyTorch, add --runtime fsdp2.");
}

std::string
printFullyShard(const PlanReport &report, const std::vector<PlannedUnit> &units,
                const std::map<std::string, std::string> &recomputed,
                int64_t prefetch) {
  auto hasForm = [&](const std::string &form) {
    return std::any_of(
        recomputed.begin(), recomputed.end(),
        [&](const auto &module) { return module.second == form; });
  };
  const bool isSelective = hasForm("selective") || hasForm("alternate");
  std::string text = "# The plan of shardc for " + report.model + " on " +
                     std::to_string(report.mesh.ranks()) + " ranks of " +
                     report.machine + ":\n# " + describeForecast(report) + "\n";
  if (std::any_of(units.begin(), units.end(), [](const PlannedUnit &unit) {
        return !unit.paramDtype.empty() && unit.reduceDtype.empty();
      }))
    text += "# reduce_dtype=None reduces in the dtype of the model's "
            "parameters.\n"
            "# PyTorch before 2.15 reduces in param_dtype: set reduce_dtype "
            "there.\n";
  text +=
      "import torch\n"
      "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import "
      "(\n"
      "    checkpoint_wrapper)\n"
      "from torch.distributed.device_mesh import init_device_mesh\n"
      "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard\n";
  if (isSelective)
    text += "from torch.utils.checkpoint import (\n    CheckpointPolicy, "
            "create_selective_checkpoint_contexts)\n";
  text += "\n";
  text += helpers;
  if (isSelective)
    text += selectiveHelper;
  if (hasForm("alternate"))
    text += alternateHelper;
  text += "\n\ndef apply_plan(model, mesh=None):\n"
          "    \"\"\"Shards `model` in place, and returns it.\"\"\"\n"
          "    if mesh is None:\n";
  text += printMesh(report.mesh);
  return text + printCheckpoints(units, recomputed) +
         printCalls(report, units) + printPrefetch(units, prefetch) +
         "    return model\n";
}

} // namespace shardc
