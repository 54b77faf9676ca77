//===- WeightViolations.h - Weights that do not fit a model ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects all that is wrong with a file of weights and makes one error of it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_WEIGHTVIOLATIONS_H
#define SHARDC_RUNTIME_SESSION_WEIGHTVIOLATIONS_H

#include "runtime/format/Status.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Whether a tensor of this name is what an optimizer keeps, or a single
/// rank's.
bool isOptimizerName(const std::string &name);

struct WeightViolations {
  /// Names of the model, and of the file.
  std::vector<std::string> missing, unused;
  /// Whole sentences about dtypes and shapes, and about the values of names of
  /// one tensor.
  std::vector<std::string> misfits, conflicts;

  /// E0402 with a note for each name and the nearest one of the other side;
  /// success if there is none. States of an optimizer are counted by their key
  /// where there are many.
  Status status() const;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_WEIGHTVIOLATIONS_H
