//===- RankTrainer.h - One rank's share of a training run -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that belongs to one rank: its threads, transport, device, memory
// and prepared program; and how it runs a step.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_RANKTRAINER_H
#define SHARDC_RUNTIME_TRAIN_RANKTRAINER_H

#include "runtime/device/DeviceMaker.h"
#include "runtime/executor/Executor.h"
#include "runtime/train/InitialStates.h"
#include "runtime/train/InputFeed.h"
#include "runtime/train/Progress.h"
#include "runtime/train/RestorePoint.h"
#include "runtime/train/StepAgreement.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/transport/InProcessTransport.h"

namespace shardc::runtime {

/// What all ranks of a run share; read-only but for group, cancellation and
/// agreement, which are thread-safe.
struct TrainingRun {
  const format::Artifact &artifact;
  const TrainOptions &options;
  const InitialStates &initial;
  /// Where the run begins.
  const Progress &start;
  const DataSource &data;
  DeviceMaker &devices;
  InProcessGroup &group;
  Cancellation &cancellation;
  StepAgreement &agreement;
  int threadsOfRank;
  SpinPolicy spin;
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

/// Created anywhere, then used by one thread. Its memory lives until the
/// object ends, because other ranks may still read it when this one fails.
class RankTrainer {
public:
  RankTrainer(const TrainingRun &run, int64_t rank) : shared(run), rank(rank) {}

  /// Takes memory, cuts this rank's shards of the weights and prepares the
  /// program.
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
  /// Takes a step back that did not come to its update. All ranks have stopped.
  Status rollBack();

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

  /// What the gradients of the last step were scaled by, where they are.
  std::optional<double> lossScale() const;

  /// Of the steps until now; null unless one was asked for.
  const RankProfile *profile() const { return recorded.get(); }

  MemoryReport memoryReport() const;
  const RankMemory &rankMemory() const { return *memory; }

private:
  /// The sections of a step or of an evaluation, and the samples that they
  /// take.
  struct Series {
    std::vector<format::SectionRun> runs;
    SampleOrder order;
    std::unique_ptr<InputFeed> feed;
    /// How many times it is run on other samples; steps count from 0.
    int64_t steps = 1;
  };

  Status takeDevice();
  Series makeSeries(format::Run kind, const DataSource &data,
                    int64_t microBatches, int64_t steps) const;
  Status run(const Series &series, int64_t step);
  Status runSection(const Series &series, int64_t step,
                    const format::SectionRun &one);
  Status agree(int64_t step, const format::SectionRun &one);
  Status explain(int64_t step);
  Status checkMetrics(int64_t step);
  void readAhead(const Series &series, int64_t step, int64_t microBatch);
  double metric(std::string_view name, size_t element) const;
  template <typename T>
  T read(size_t state, size_t element) const;

  const TrainingRun &shared;
  const int64_t rank;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Device> device;
  std::unique_ptr<RankMemory> memory;
  std::unique_ptr<RankProfile> recorded;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<FiniteCheck> finite;
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
  /// Of the last step: all of it, and with a section on the device.
  RankProfile::Clock::duration lastStep{0}, onDevice{0};
  Series training, evaluation;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_RANKTRAINER_H
