//===- TinyModel.h - A hand-made artifact for tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer, y = x W^T + b with four inputs and three outputs, trained on
// the mean squared error by SGD with momentum; and a buffer that keeps a
// running mean of the inputs. Small enough to read as a whole, it uses every
// kind of command, every space and all three streams.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_RUNTIME_TINYMODEL_H
#define SHARDC_TEST_UNIT_RUNTIME_TINYMODEL_H

#include "runtime/format/Artifact.h"
#include "runtime/format/MappedFile.h"

namespace shardc::testing {

/// The artifact and what its borrowed bytes live in. Not copyable, because the
/// artifact points into it.
struct TinyModel {
  /// Made for `worldSize` ranks.
  explicit TinyModel(int64_t worldSize)
      : TinyModel(format::shardMesh(worldSize)) {}
  /// Made for the ranks of a mesh whose last axis is `shard`: gradients are
  /// summed over another one before it on a stream of its own, once a step.
  explicit TinyModel(const format::Mesh &mesh);
  TinyModel(const TinyModel &) = delete;
  TinyModel &operator=(const TinyModel &) = delete;

  static constexpr int64_t batch = 5;

  format::Artifact artifact;
  std::vector<float> weight;
  std::vector<float> bias;
  std::vector<float> mean;
  std::shared_ptr<const format::MappedFile> kernels;
};

/// Changes a TinyModel's program: each rank sums the gradients of its
/// micro-batches, which are reduced once, after the last one. For two ranks.
void reduceOncePerStep(format::Artifact &artifact);

/// The same, with the update in the micro-batch that reduces, behind backward.
void updateInLastMicroBatch(format::Artifact &artifact);

/// Adds its evaluation: the forward of a micro-batch, without the running mean.
void addEvaluation(format::Artifact &artifact);

/// Changes it so that it updates only where a state is true, which is returned.
/// It is false at first.
int64_t updateOnCondition(format::Artifact &artifact);

/// A folder for the files of one test, removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

/// A whole file; empty if it cannot be read.
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &content);

} // namespace shardc::testing

#endif // SHARDC_TEST_UNIT_RUNTIME_TINYMODEL_H
