//===- StepAgreement.cpp - Whether a step changes parameters --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 decides between two barriers.
//===----------------------------------------------------------------------===//

#include "runtime/train/StepAgreement.h"

namespace shardc::runtime {

Status StepAgreement::meet(Transport &transport, int64_t step,
                           const NonFinite &found, Verdict &verdict) {
  const auto rank = static_cast<size_t>(transport.rank());
  findings[rank] = &found;
  if (Status status = transport.barrier(); !status.ok())
    return status;
  if (rank == 0)
    decide(step);
  if (Status status = transport.barrier(); !status.ok())
    return status;
  verdict = decided;
  return failure;
}

void StepAgreement::decide(int64_t step) {
  NonFinite all;
  for (const NonFinite *found : findings)
    all.merge(*found);
  decided = Verdict::Update;
  if (!all.empty() && onNan == OnNan::Skip)
    decided = Verdict::Skip;
  else if (!all.empty() && onNan == OnNan::Stop)
    failure = all.failure(step, /*isUpdated=*/false);
  else if (!cancellation.beginUpdate(static_cast<int64_t>(findings.size())))
    failure = cancellation.reason();
}

Status StepAgreement::explain(Transport &transport,
                              const NonFiniteSource &source) {
  const auto own = static_cast<size_t>(transport.rank());
  sources[own] = source;
  if (Status status = transport.barrier(); !status.ok())
    return status;
  size_t first = 0;
  for (size_t rank = 1; rank < sources.size(); ++rank)
    if (sources[rank].precedes(sources[first]))
      first = rank;
  Status explained = failure;
  const bool isFound = sources[first].kind != FloatKind::Finite;
  explained.addNote(
      (isFound ? "on rank " + std::to_string(first) + ", " : std::string()) +
      sources[first].text);
  return explained;
}

} // namespace shardc::runtime
