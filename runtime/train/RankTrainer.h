//===- RankTrainer.h - One rank's share of a training run -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How a rank of a session trains: what it agrees on with the others before an
// update, what it takes back, and the numbers of its steps.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_RANKTRAINER_H
#define SHARDC_RUNTIME_TRAIN_RANKTRAINER_H

#include "runtime/session/Session.h"
#include "runtime/session/StepSeries.h"
#include "runtime/train/FiniteCheck.h"
#include "runtime/train/Progress.h"
#include "runtime/train/RestorePoint.h"
#include "runtime/train/StepAgreement.h"
#include "runtime/train/TrainOptions.h"

namespace shardc::runtime {

/// What all ranks of a run share; read-only but for the agreement, which is
/// thread-safe.
struct TrainingRun {
  const Session &session;
  const format::Artifact &artifact;
  const TrainOptions &options;
  const InitialStates &initial;
  /// Where the run begins.
  const Progress &start;
  const DataSource &data;
  StepAgreement &agreement;
  /// What is evaluated, and how many micro-batches of each rank; null: nothing.
  const DataSource *evalData = nullptr;
  int64_t evalBatches = 0;
  /// Where the time of profiles begins.
  RankProfile::Clock::time_point zero = RankProfile::Clock::now();
};

/// The sizes of a rank's memory in bytes.
struct MemoryReport {
  size_t arena = 0;
  size_t states = 0;
  size_t inputs = 0;
  size_t scratch = 0;
};

/// Created anywhere, then used by the rank's thread.
class RankTrainer {
public:
  RankTrainer(const TrainingRun &run, RankSession &rank)
      : shared(run), rank(rank) {}

  /// Opens the rank, loads its states and prepares its program.
  Status prepare();

  /// Runs step `step` of this run, counted from 1.
  Status runStep(int64_t step);

  /// How many steps are finished.
  int64_t finishedSteps() const { return finished; }
  /// Whether a failure came in the middle of an update: parameters are those of
  /// no step.
  bool isUpdating() const { return phase == Phase::Updating; }
  /// Whether a step that is finished made parameters that are no numbers.
  bool isRuined() const { return ruined; }
  /// Whether the last step was left out.
  bool wasSkipped() const { return skipped; }
  /// Waits for what the device has been told.
  Status synchronize() const { return rank.device().synchronize(); }
  /// Takes a step back that did not come to its update. All ranks have stopped.
  Status rollBack();
  /// Parameters of which this rank's shard has become NaN or infinite since the
  /// run began; none where nobody looks (OnNan::Continue). For any thread, when
  /// the rank's has ended.
  PlacedNames findRuined() const;

  /// Runs the evaluation of the parameters as they are.
  Status evaluate();

  /// The mean loss of the last evaluation; the same on every rank.
  double evaluationLoss() const;

  /// The mean loss and the norm of the mean gradient of the last step; the
  /// same on every rank.
  double loss() const;
  double gradientNorm() const;

  /// The time of the last step in which the device had nothing to do, because
  /// the host had not told it: all but what it took from one section's issue to
  /// its end. Of a device that runs late.
  std::optional<double> hostSeconds() const;

  std::optional<double> lossScale() const { return rank.lossScale(); }

  /// Of the steps until now; null unless one was asked for.
  const RankProfile *profile() const { return recorded.get(); }

  MemoryReport memoryReport() const;

private:
  class StepObserver;
  class SearchObserver;
  class EvaluationObserver;

  std::unique_ptr<StepSeries> makeSeries(format::Run kind,
                                         const DataSource &data,
                                         int64_t microBatches,
                                         int64_t steps) const;
  format::ScalarValues numbersOf(int64_t step) const;
  Status checkStop(const format::SectionRun &one);
  Status beginSection(int64_t step, const format::SectionRun &one);
  Status agree(int64_t step, const format::SectionRun &one);
  Status explain(int64_t step, Status failure);
  Status checkMetrics(int64_t step);

  const TrainingRun &shared;
  RankSession &rank;
  std::unique_ptr<RankProfile> recorded;
  std::unique_ptr<FiniteCheck> finite;
  /// Parameters that are not finite when the run begins.
  PlacedNames notFiniteAtStart;
  /// Null where nobody would need it.
  std::unique_ptr<RestorePoint> restorePoint;
  /// By section, whether it updates parameters.
  std::vector<bool> updates;
  /// Whether the gradients' norm is known before the update.
  bool normIsKnown = false;
  /// Within a step, what its parameters are.
  enum class Phase { Outside, Computing, Updating };
  Phase phase = Phase::Outside;
  int64_t finished = 0;
  bool skipped = false;
  bool ruined = false;
  NonFinite found;
  RankProfile::Clock::duration lastStep{0};
  std::unique_ptr<StepSeries> training, evaluation;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_RANKTRAINER_H
