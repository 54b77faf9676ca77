//===- RunningStatistics.h - Statistics of all ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Batch norms that normalize with their rank's samples keep other running
// statistics on each rank. All ranks have seen equally many samples, so that
// they are merged to
//
//   mean      = the mean of the ranks' means
//   variance  = the mean of the ranks' variance + (rank's mean - mean)^2
//
// which is how counts weigh them where counts are equal
// (torch.batch_norm_gather_stats_with_counts). Of one batch these are the
// statistics of all samples. Of running ones the mean is; the variance is an
// estimate: running means are closer together than the means of batches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_RUNNINGSTATISTICS_H
#define SHARDC_RUNTIME_SESSION_RUNNINGSTATISTICS_H

#include "runtime/executor/RankMemory.h"

#include <map>

namespace shardc::runtime {

/// By rank, the elements of one state.
using RankElements = std::vector<std::vector<double>>;

std::vector<double> mergeMeans(const RankElements &means);
std::vector<double> mergeVariances(const RankElements &means,
                                   const RankElements &variances);

/// What a rank tells the others of its buffers: statistics as they are, and
/// digests of the rest, which may be large and is only compared.
std::string summarizeBuffers(const format::Parameters &parameters,
                             const RankMemory &memory);

class RunningStatistics {
public:
  /// Of the summaries of all ranks, in their order. The parameters outlive the
  /// object.
  RunningStatistics(const format::Parameters &parameters,
                    std::vector<std::string> summaries);

  /// Whether state `index` is a running mean or variance, of f32 or f64.
  bool contains(size_t index) const;

  /// Statistic `index` of all ranks: of the first one where all have the same.
  std::vector<std::byte> merge(size_t index) const;

  /// Whether ranks have different values of buffer `index`.
  bool differs(size_t index) const;

  /// The names of the buffers whose values differ between ranks: of
  /// statistics, which are merged, and of others.
  struct Differing {
    std::vector<std::string> statistics, others;
  };
  Differing differing() const;

private:
  format::Bytes summaryOf(size_t rank, size_t index) const;
  RankElements elements(size_t index) const;

  const format::Parameters &parameters;
  std::vector<std::string> summaries;
  /// By state, that of its mean: a mean's is itself.
  std::map<size_t, size_t> meanOf;
  /// By buffer, where a summary has it: from a byte on to another.
  std::map<size_t, std::pair<size_t, size_t>> places;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_RUNNINGSTATISTICS_H
