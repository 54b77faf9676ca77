//===- RankSession.cpp - One rank of a session ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a rank takes, in order, and the numbers that it reads back.
//===----------------------------------------------------------------------===//

#include "runtime/session/RankSession.h"
#include "runtime/session/Session.h"

#include <cmath>

namespace shardc::runtime {

using format::Dtype;
using format::State;

Status RankSession::open() {
  if (Status status = assign(
          pool, WorkerPool::create(session.threadsOfRank(), session.spin()));
      !status.ok())
    return status;
  if (Status status = assign(connection, session.connect(number)); !status.ok())
    return status;
  if (Status status =
          assign(target, session.devices().make(
                             {*connection, *pool, session.options().poison}));
      !status.ok())
    return status;
  return assign(ranges, RankMemory::take(session.artifact(), number, *target));
}

Status RankSession::load(const InitialStates &initial) {
  return initializeStates(initial, session.artifact(), number, *ranges);
}

Status RankSession::prepare(RankProfile *profile) {
  Status status = assign(
      program, Executor::create(session.artifact(),
                                {*target, *ranges, session.cancellation(),
                                 session.options().poison, profile}));
  return status.ok() ? connection->barrier() : status;
}

double RankSession::readNumber(size_t state, size_t element) const {
  const auto read = [&](auto value) {
    target->copyToHost(reinterpret_cast<std::byte *>(&value),
                       ranges->state(state) +
                           static_cast<int64_t>(element * sizeof(value)),
                       sizeof(value));
    return static_cast<double>(value);
  };
  return session.artifact().parameters.states[state].dtype == Dtype::F64
             ? read(double())
             : read(float());
}

double RankSession::metric(std::string_view name, size_t element) const {
  const std::vector<State> &states = session.artifact().parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].role == format::Role::Metric && states[i].name == name)
      return readNumber(i, element);
  return std::nan("");
}

std::optional<double> RankSession::lossScale() const {
  const std::vector<State> &states = session.artifact().parameters.states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].key == format::lossScaleKey)
      return readNumber(i, 0);
  return std::nullopt;
}

} // namespace shardc::runtime
