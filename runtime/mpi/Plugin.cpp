//===- Plugin.cpp - Shardrun's door to MPI --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the shared object exports.
//===----------------------------------------------------------------------===//

#include "runtime/mpi/Plugin.h"

#include "runtime/mpi/MpiGroup.h"

namespace shardc::runtime {

static void open(std::chrono::seconds timeout,
                 StatusOr<std::unique_ptr<ProcessGroup>> &result) {
  StatusOr<std::unique_ptr<MpiGroup>> group = MpiGroup::open(timeout);
  if (group.ok())
    result = std::unique_ptr<ProcessGroup>(std::move(*group));
  else
    result = group.status();
}

} // namespace shardc::runtime

extern "C" [[gnu::visibility("default")]]
const shardc::runtime::MpiPlugin shardc_mpi_plugin;
const shardc::runtime::MpiPlugin shardc_mpi_plugin = {SHARDC_VERSION,
                                                      shardc::runtime::open};
