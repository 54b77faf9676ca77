//===- RunningStatistics.cpp - Statistics of all ranks --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In double, rounded once.
//===----------------------------------------------------------------------===//

#include "runtime/session/RunningStatistics.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

using format::Dtype;
using format::Role;
using format::State;

std::vector<double> mergeMeans(const RankElements &means) {
  std::vector<double> merged(means[0].size(), 0);
  for (const std::vector<double> &ofRank : means)
    for (size_t i = 0; i < merged.size(); ++i)
      merged[i] += ofRank[i] / static_cast<double>(means.size());
  return merged;
}

std::vector<double> mergeVariances(const RankElements &means,
                                   const RankElements &variances) {
  const std::vector<double> mean = mergeMeans(means);
  RankElements around = variances;
  for (size_t rank = 0; rank < means.size(); ++rank)
    for (size_t i = 0; i < mean.size(); ++i) {
      const double distance = means[rank][i] - mean[i];
      around[rank][i] += distance * distance;
    }
  return mergeMeans(around);
}

RunningStatistics::RunningStatistics(
    const format::Parameters &parameters,
    const std::vector<const RankMemory *> &ranks)
    : parameters(parameters), ranks(ranks) {
  const std::vector<State> &states = parameters.states;
  for (size_t variance = 0; variance < states.size(); ++variance)
    for (size_t mean = 0; mean < states.size(); ++mean)
      if (states[mean].role == Role::Buffer &&
          states[mean].name == states[variance].mean &&
          (states[mean].dtype == Dtype::F32 ||
           states[mean].dtype == Dtype::F64))
        meanOf[variance] = meanOf[mean] = mean;
}

bool RunningStatistics::contains(size_t index) const {
  return meanOf.find(index) != meanOf.end();
}

bool RunningStatistics::differs(size_t index) const {
  const std::vector<std::byte> first = ranks[0]->readState(index);
  return std::any_of(
      ranks.begin() + 1, ranks.end(),
      [&](const RankMemory *rank) { return rank->readState(index) != first; });
}

template <typename T>
static std::vector<double> elementsIn(const std::vector<std::byte> &bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return {elements.begin(), elements.end()};
}

RankElements RunningStatistics::elements(size_t index) const {
  RankElements elements;
  for (const RankMemory *rank : ranks) {
    const std::vector<std::byte> bytes = rank->readState(index);
    elements.push_back(parameters.states[index].dtype == Dtype::F64
                           ? elementsIn<double>(bytes)
                           : elementsIn<float>(bytes));
  }
  return elements;
}

template <typename T>
static std::vector<std::byte> bytesOf(const std::vector<double> &elements) {
  const std::vector<T> rounded(elements.begin(), elements.end());
  std::vector<std::byte> bytes(rounded.size() * sizeof(T));
  std::memcpy(bytes.data(), rounded.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> RunningStatistics::merge(size_t index) const {
  const size_t mean = meanOf.at(index);
  if (!differs(index) && !differs(mean))
    return ranks[0]->readState(index);
  const std::vector<double> merged =
      index == mean ? mergeMeans(elements(mean))
                    : mergeVariances(elements(mean), elements(index));
  return parameters.states[index].dtype == Dtype::F64 ? bytesOf<double>(merged)
                                                      : bytesOf<float>(merged);
}

RunningStatistics::Differing RunningStatistics::differing() const {
  Differing names;
  for (size_t i = 0; i < parameters.states.size(); ++i)
    if (parameters.states[i].role == Role::Buffer && differs(i))
      (contains(i) ? names.statistics : names.others)
          .push_back(parameters.states[i].name);
  return names;
}

} // namespace shardc::runtime
