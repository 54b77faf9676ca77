//===- Inspect.h - What shardc inspect can look at ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function a kind of file. Each prints and returns the exit code.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_INSPECT_H
#define SHARDC_TOOLS_SHARDC_INSPECT_H

#include "compiler/Options.h"

#include <string>

namespace shardc {

/// How the report on a model is printed.
enum class ReportForm {
  /// For people; neighbours that are alike become one line.
  Short,
  /// For people, every module.
  Long,
  Json,
};

/// What else is printed of an artifact, or how: every command, what every
/// kernel of a GPU takes, or nothing but the PTX or the machine code of a
/// kernel.
struct ArtifactReport {
  bool json = false;
  bool program = false;
  bool kernels = false;
  std::string ptx;
  std::string sass;
  /// The machine to forecast a step on; empty for none.
  std::string timeline;
};

/// Prints what the artifact at `path` holds.
int inspectArtifact(const std::string &path, const ArtifactReport &report);

/// Prints what the export at `path` holds.
int inspectModel(const std::string &path, const InputOptions &options,
                 ReportForm form);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_INSPECT_H
