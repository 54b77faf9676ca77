//===- StepAgreement.cpp - Whether a step changes parameters --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One meeting for what was found and one for requests to stop; words are
// exchanged only when there is something to say.
//===----------------------------------------------------------------------===//

#include "runtime/train/StepAgreement.h"
#include "runtime/transport/ProcessGroup.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

using nlohmann::json;

static std::string encode(const NonFinite &found) {
  return json{found.loss, found.norm, found.gradients}.dump();
}

static NonFinite decodeNonFinite(const std::string &text) {
  const json fields = json::parse(text);
  return {fields[0], fields[1], fields[2].get<PlacedNames>()};
}

static std::string encode(const NonFiniteSource &source) {
  return json{static_cast<int>(source.kind), source.place, source.text}.dump();
}

static NonFiniteSource decodeSource(const std::string &text) {
  const json fields = json::parse(text);
  return {static_cast<FloatKind>(fields[0].get<int>()),
          fields[1].get<std::pair<int64_t, int64_t>>(), fields[2]};
}

Status StepAgreement::meet(Transport &transport, bool isFirstHere, int64_t step,
                           const NonFinite &found, Verdict &verdict) {
  uint64_t anyFound = 0, anyStop = 0;
  if (Status status = transport.anyOf(found.empty() ? 0 : 1, anyFound);
      !status.ok())
    return status;
  if (anyFound != 0 && onNan == OnNan::Stop)
    return stopForNumbers(transport, step, found);
  if (anyFound != 0 && onNan == OnNan::Skip) {
    verdict = Verdict::Skip;
    return Status();
  }
  if (isFirstHere)
    hasBegun = cancellation.beginUpdate(ranksHere);
  if (Status status =
          transport.anyOf(isFirstHere && !hasBegun ? 1 : 0, anyStop);
      !status.ok())
    return status;
  if (anyStop != 0)
    return stopOnRequest(transport, hasBegun);
  verdict = Verdict::Update;
  return Status();
}

Status StepAgreement::stopForNumbers(Transport &transport, int64_t step,
                                     const NonFinite &found) {
  const StatusOr<std::vector<std::string>> findings =
      transport.exchange(encode(found));
  if (!findings.ok())
    return findings.status();
  NonFinite all;
  for (const std::string &text : *findings)
    all.merge(decodeNonFinite(text));
  agreed = true;
  return all.failure(step, /*isUpdated=*/false);
}

Status StepAgreement::checkStop(Transport &transport, bool isFirstHere) {
  uint64_t anyStop = 0;
  Status status =
      transport.anyOf(isFirstHere && cancellation.hasStop() ? 1 : 0, anyStop);
  return status.ok() && anyStop != 0
             ? stopOnRequest(transport, /*endsUpdate=*/false)
             : status;
}

/// The first rank's reason that has one.
Status StepAgreement::stopOnRequest(Transport &transport, bool endsUpdate) {
  if (endsUpdate)
    cancellation.endUpdate();
  const json own = {cancellation.signalNumber(), encode(cancellation.reason())};
  const StatusOr<std::vector<std::string>> reasons =
      transport.exchange(own.dump());
  if (!reasons.ok())
    return reasons.status();
  agreed = true;
  for (const std::string &text : *reasons) {
    const json fields = json::parse(text);
    const Status reason = decodeStatus(fields[1].get<std::string>());
    if (reason.ok())
      continue;
    if (const int number = fields[0].get<int>())
      cancellation.interrupt(number);
    return reason;
  }
  return cancellation.reason();
}

Status StepAgreement::explain(Transport &transport, Status failure,
                              const NonFiniteSource &source) {
  const StatusOr<std::vector<std::string>> texts =
      transport.exchange(encode(source));
  if (!texts.ok())
    return texts.status();
  std::vector<NonFiniteSource> sources;
  for (const std::string &text : *texts)
    sources.push_back(decodeSource(text));
  size_t first = 0;
  for (size_t rank = 1; rank < sources.size(); ++rank)
    if (sources[rank].precedes(sources[first]))
      first = rank;
  const bool isFound = sources[first].kind != FloatKind::Finite;
  return failure.addNote(
      (isFound ? "on rank " + std::to_string(first) + ", " : std::string()) +
      sources[first].text);
}

} // namespace shardc::runtime
