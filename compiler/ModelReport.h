//===- ModelReport.h - What an export holds -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The facts about a `.pt2` file that `shardc inspect` shows: inputs, modules
// with their parameters and costs, operators and which of them have no
// translation. Plain structures; printing is the tool's.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_MODELREPORT_H
#define SHARDC_COMPILER_MODELREPORT_H

#include "compiler/Options.h"

#include <optional>
#include <set>
#include <vector>

namespace shardc {

struct ReportedTensor {
  std::string name;
  /// PyTorch's spelling without `torch.`: "float32".
  std::string dtype;
  std::vector<int64_t> shape;
};

/// What one execution of forward costs. Nothing when some operator of the model
/// has no translation, because then costs are not known.
struct ReportedCost {
  /// A multiply-add counts as two.
  int64_t flops = 0;
  /// Bytes of the results that operators write; views write none.
  int64_t activationBytes = 0;
};

/// One module with everything inside it.
struct ReportedModule {
  /// Fully qualified name; empty for the whole model.
  std::string path;
  /// The Python class; empty for a container without a forward.
  std::string type;
  /// How many modules enclose it; 0 for the whole model.
  int depth = 0;
  /// Elements of parameters. A tied parameter counts where it is first named.
  int64_t parameters = 0;
  int64_t parameterBytes = 0;
  int64_t bufferBytes = 0;
  /// Of parameters.
  std::set<std::string> dtypes;
  std::optional<ReportedCost> cost;
};

struct ReportedOperator {
  /// "aten.linear.default".
  std::string name;
  int64_t count = 0;
  bool isSupported = false;
  /// The first node that calls it, and that node's module path.
  std::string firstNode;
  std::string firstModule;
};

struct ModelReport {
  std::string torchVersion;
  std::string schemaVersion;
  /// Whether the export still has in-place operators and torch.no_grad regions.
  bool isTrainingIr = true;
  bool hasWeights = true;
  std::vector<ReportedTensor> inputs;
  std::vector<ReportedTensor> outputs;
  /// The whole model first, then parents before children in the order of the
  /// first call.
  std::vector<ReportedModule> modules;
  /// The most frequent first.
  std::vector<ReportedOperator> operators;
  /// Whether every operator has a translation and fits its arguments.
  bool isTranslated = false;
};

/// Reads the export at `path`. Prints an error and returns its exit code when
/// it cannot be read; 0 otherwise, also for a model that cannot be translated,
/// whose error is printed too.
int reportModel(const std::string &path, const InputOptions &options,
                ModelReport &report);

} // namespace shardc

#endif // SHARDC_COMPILER_MODELREPORT_H
