//===- SameRun.cpp - What processes have in common ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By name, as JSON; the names are those that users know.
//===----------------------------------------------------------------------===//

#include "runtime/train/SameRun.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Sha256.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardc::runtime {

using nlohmann::ordered_json;

static constexpr std::string_view contentOf = "the content of ";

/// Of all entries of an artifact.
static std::string digestOf(const format::Artifact &artifact) {
  const std::string digests = ordered_json(artifact.manifest.digests).dump();
  return format::sha256({{format::bytesOf(digests)}});
}

/// The size of each file, and a digest of blocks that are spread over it: all
/// of a file of up to 4 MiB.
static ordered_json sampleOf(const std::vector<std::string> &paths) {
  constexpr size_t blockBytes = 64 << 10, maxBlocks = 64;
  ordered_json samples = ordered_json::array();
  for (const std::string &path : paths) {
    const auto file = format::MappedFile::open(path, ErrorCode::E0403);
    if (!file.ok()) {
      samples.push_back(file.status().message());
      continue;
    }
    const format::Bytes bytes = (*file)->bytes();
    const size_t all = (bytes.size() + blockBytes - 1) / blockBytes;
    const size_t count = std::min(all, maxBlocks);
    std::vector<format::Bytes> blocks;
    for (size_t i = 0; i < count; ++i) {
      const size_t block = count == 1 ? 0 : i * (all - 1) / (count - 1);
      const format::Bytes rest = bytes.subspan(block * blockBytes);
      blocks.push_back(rest.first(std::min(rest.size(), blockBytes)));
    }
    samples.push_back({bytes.size(), format::sha256(blocks)});
  }
  return samples;
}

/// How a rank differs; digests mean nothing to users.
static std::string describe(size_t rank, const std::string &name,
                            const ordered_json &value,
                            const ordered_json &first) {
  const std::string subject = "rank " + std::to_string(rank);
  if (name.starts_with(contentOf))
    return name + " differs between rank 0 and " + subject;
  return subject + " has " + name + " " + value.dump() + ", and rank 0 has " +
         first.dump();
}

Status checkSameRun(ProcessGroup &processes, const format::Artifact &artifact,
                    const TrainOptions &options, const RunInputs &inputs) {
  ordered_json own;
  own["the content of the artifact"] = digestOf(artifact);
  own["--data"] = options.data;
  own["--eval-data"] = options.evalData;
  own["--weights"] = options.weights;
  own["--seed"] = inputs.start.seed;
  own["--lr"] = options.learningRate;
  own["--weight-decay-scale"] = options.weightDecayScale;
  own["--steps"] = options.steps;
  own["--micro-batches"] = options.microBatches;
  own["--replicate-data"] = options.replicateData;
  own["--token-shift"] = options.tokenShift.value_or(-1);
  own["--on-nan"] = static_cast<int>(options.onNan);
  own["--eval-every"] = options.evalEvery;
  own["--eval-batches"] = options.evalBatches;
  own["--restart"] = options.restart;
  own["--weights-prefix"] = options.weightsPrefix.value_or("");
  own["--ignore-unused"] = options.ignoreUnused;
  own["--save"] = options.save;
  own["--save-optimizer"] = options.saveOptimizer;
  own["--save-rank-statistics"] = options.saveRankStatistics;
  own["--names"] = options.saveStateDict;
  own["--device emulated"] = options.emulated.has_value();
  own["the content of --weights"] = sampleOf(inputs.weights);
  own["the content of --data"] = sampleOf(inputs.data.files());
  own["the content of --eval-data"] = sampleOf(
      inputs.evalData ? inputs.evalData->files() : std::vector<std::string>());

  const StatusOr<std::vector<std::string>> all = processes.exchange(
      own.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  if (!all.ok())
    return all.status();
  const auto first = ordered_json::parse(all->front());
  for (size_t rank = 1; rank < all->size(); ++rank) {
    const auto other = ordered_json::parse((*all)[rank]);
    for (const auto &[name, value] : first.items())
      if (other.at(name) != value)
        return Status(ErrorCode::E0509,
                      describe(rank, name, other.at(name), value))
            .setHelp("start all processes with one command line and the same "
                     "files");
  }
  return Status();
}

} // namespace shardc::runtime
