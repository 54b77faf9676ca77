//===- Configuration.h - Options as a file --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A configuration says what `fully_shard` calls, torch.optim and torch.amp say,
// as JSON with comments (docs/Configuration.md):
//
//   {
//     "mesh": {"shard": 4},
//     "wrap": ["blocks", ["norm", "head"]],
//     "modules": [{"match": ".*", "param_dtype": "bf16"},
//                 {"match": "head", "output_dtype": "f32"}],
//     "parameters": [{"match": ".*bias", "weight_decay": 0}],
//     "optimizer": {"name": "adamw", "weight_decay": 0.1},
//     "gradients": {"clip_norm": 1.0}
//   }
//
// Every option of the command line but those of models, targets and dumps is a
// shorthand for a part of it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_CONFIGURATION_H
#define SHARDC_COMPILER_CONFIGURATION_H

#include "compiler/Options.h"
#include "runtime/format/Status.h"

#include <string>

namespace shardc {

/// Reads the file at `path` into `options`; what it does not say stays. Fails
/// with E0004 for a file that cannot be read and E0005 for anything in it that
/// has no meaning; the message has the place as a JSON pointer.
Status readConfiguration(const std::string &path, Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_CONFIGURATION_H
