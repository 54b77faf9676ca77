//===- RunningStatistics.cpp - Statistics of all ranks --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In double, rounded once.
//===----------------------------------------------------------------------===//

#include "runtime/session/RunningStatistics.h"
#include "runtime/format/Sha256.h"

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

/// By statistic of f32 or f64, the state of its mean.
static std::map<size_t, size_t>
findMeans(const format::Parameters &parameters) {
  std::map<size_t, size_t> meanOf;
  const std::vector<State> &states = parameters.states;
  for (size_t variance = 0; variance < states.size(); ++variance)
    for (size_t mean = 0; mean < states.size(); ++mean)
      if (states[mean].role == Role::Buffer &&
          states[mean].name == states[variance].mean &&
          (states[mean].dtype == Dtype::F32 ||
           states[mean].dtype == Dtype::F64))
        meanOf[variance] = meanOf[mean] = mean;
  return meanOf;
}

static std::string digestOf(format::Bytes bytes) {
  return format::sha256({{bytes}});
}

std::string summarizeBuffers(const format::Parameters &parameters,
                             const RankMemory &memory) {
  const std::map<size_t, size_t> statistics = findMeans(parameters);
  std::string summary;
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    if (parameters.states[i].role != Role::Buffer)
      continue;
    const std::vector<std::byte> bytes = memory.readState(i);
    summary += statistics.contains(i) ? std::string(format::textOf(bytes))
                                      : digestOf(bytes);
  }
  return summary;
}

RunningStatistics::RunningStatistics(const format::Parameters &parameters,
                                     std::vector<std::string> ofRanks)
    : parameters(parameters), summaries(std::move(ofRanks)),
      meanOf(findMeans(parameters)) {
  size_t end = 0;
  for (size_t i = 0; i < parameters.states.size(); ++i) {
    const State &state = parameters.states[i];
    if (state.role != Role::Buffer)
      continue;
    const size_t begin = end;
    end += contains(i)
               ? static_cast<size_t>(state.elements * byteSize(state.dtype))
               : digestOf({}).size();
    places[i] = {begin, end};
  }
}

bool RunningStatistics::contains(size_t index) const {
  return meanOf.contains(index);
}

format::Bytes RunningStatistics::summaryOf(size_t rank, size_t index) const {
  const auto &[begin, end] = places.at(index);
  return format::bytesOf(summaries[rank]).subspan(begin, end - begin);
}

bool RunningStatistics::differs(size_t index) const {
  for (size_t rank = 1; rank < summaries.size(); ++rank)
    if (!std::ranges::equal(summaryOf(rank, index), summaryOf(0, index)))
      return true;
  return false;
}

template <typename T>
static std::vector<double> elementsIn(format::Bytes bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return {elements.begin(), elements.end()};
}

RankElements RunningStatistics::elements(size_t index) const {
  RankElements elements;
  for (size_t rank = 0; rank < summaries.size(); ++rank) {
    const format::Bytes bytes = summaryOf(rank, index);
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
  if (!differs(index) && !differs(mean)) {
    const format::Bytes first = summaryOf(0, index);
    return {first.begin(), first.end()};
  }
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
