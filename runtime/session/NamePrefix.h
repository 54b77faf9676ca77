//===- NamePrefix.h - Names of a model and of its weights -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A model is often exported inside of a module that computes its loss, so that
// its names begin with one component more than those of its checkpoints, or
// one less (a checkpoint of a wrapped model):
//
//   model    model.layers.0.weight      layers.0.weight
//   file           layers.0.weight      module.layers.0.weight
//
// One prefix that only one side has explains the difference, or nothing does.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_NAMEPREFIX_H
#define SHARDC_RUNTIME_SESSION_NAMEPREFIX_H

#include "runtime/format/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct NamePrefix {
  std::string text;
  /// The model's names begin with it, not the file's; or else the other way
  /// round.
  bool inModel = false;

  /// The model's name of what is called `name` in the file. In "exp_avg/NAME"
  /// and "rank0/NAME" the prefix belongs to NAME.
  std::string toModel(const std::string &name) const;
  /// The file's name; none where the model's lacks the prefix.
  std::optional<std::string> toFile(const std::string &name) const;
};

/// All names of one tensor of a model: more than one if it is tied.
using TensorNames = std::vector<std::string>;

/// The prefix `given`, on the side where it fits, or else the only one with
/// which the file has every tensor of the model; where there is none, that with
/// which it has most. Fails with E0402 if several fit.
StatusOr<NamePrefix> findPrefix(const std::vector<TensorNames> &model,
                                const std::vector<std::string> &file,
                                const std::optional<std::string> &given);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_NAMEPREFIX_H
