//===- SameRun.cpp - What processes have in common ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By name, as JSON; the names are those that users know.
//===----------------------------------------------------------------------===//

#include "runtime/train/SameRun.h"
#include "runtime/format/Sha256.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using nlohmann::ordered_json;

/// Of all entries of an artifact.
static std::string digestOf(const format::Artifact &artifact) {
  const std::string digests = ordered_json(artifact.manifest.digests).dump();
  return format::sha256({{format::bytesOf(digests)}});
}

static ordered_json describe(const DataSource *data) {
  if (!data)
    return nullptr;
  return {data->description(), data->samples()};
}

Status checkSameRun(ProcessGroup &processes, const format::Artifact &artifact,
                    const TrainOptions &options, const Progress &start,
                    const DataSource &data, const DataSource *evalData) {
  ordered_json own;
  own["the artifact"] = digestOf(artifact);
  own["--data"] = describe(&data);
  own["--eval-data"] = describe(evalData);
  own["--weights of step"] = start.step;
  own["--weights of sample"] = start.samples;
  own["--seed"] = start.seed;
  own["--lr"] = options.learningRate;
  own["--weight-decay-scale"] = options.weightDecayScale;
  own["--steps"] = options.steps;
  own["--micro-batches"] = options.microBatches;
  own["--replicate-data"] = options.replicateData;
  own["--on-nan"] = static_cast<int>(options.onNan);
  own["--eval-every"] = options.evalEvery;
  own["--eval-batches"] = options.evalBatches;
  own["--save"] = options.save;
  own["--save-optimizer"] = options.saveOptimizer;
  own["--save-rank-statistics"] = options.saveRankStatistics;
  own["--names"] = options.saveStateDict;

  const StatusOr<std::vector<std::string>> all = processes.exchange(
      own.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  if (!all.ok())
    return all.status();
  const auto first = ordered_json::parse(all->front());
  for (size_t rank = 1; rank < all->size(); ++rank) {
    const auto other = ordered_json::parse((*all)[rank]);
    for (const auto &[name, value] : first.items())
      if (other.at(name) != value)
        return Status(ErrorCode::E0509, "rank " + std::to_string(rank) +
                                            " has " + name + " " +
                                            other.at(name).dump() +
                                            ", and rank 0 has " + value.dump())
            .setHelp("start all processes with one command line and the same "
                     "files");
  }
  return Status();
}

} // namespace shardc::runtime
