//===- PlanSearch.cpp - The fastest plan that fits ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Equal units are one class: how many of them have which decision is all that a
// plan says of them.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/PlanSearch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

namespace shardc {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What the relaxed problem sees of a decision about a unit.
struct RelaxedChoice {
  UnitDecision decision;
  /// Seconds of what computes, and of what is communicated by level of links.
  double computing = 0;
  std::vector<double> communicating;
  /// Bytes at the turn from forward to backward.
  int64_t held = 0;
};

/// Equal units that follow each other, by their numbers: [begin, end).
struct UnitClass {
  size_t begin = 0, end = 0;
  /// By bytes that are held: the fewest first.
  std::vector<RelaxedChoice> choices;

  size_t size() const { return end - begin; }
};

/// The least that a step takes: `offset + Σ cost` of each unit's decision.
struct Relaxation {
  double offset = 0;
  std::function<double(const RelaxedChoice &)> cost;
};

class PlanSearch {
public:
  PlanSearch(const StepGraph &graph, int64_t budget, const SearchLimits &limits)
      : graph(graph), budget(budget), limits(limits) {
    for (size_t i = 0; i < graph.visits.size(); ++i)
      if (!graph.visits[i].isBackward)
        turn = i;
    findClasses();
  }

  PlanSearchResult run();

private:
  const StepGraph &graph;
  const int64_t budget;
  const SearchLimits &limits;
  /// The last visit of forward.
  size_t turn = 0;
  std::vector<UnitClass> classes;
  PlanSearchResult best;
  bool hasAny = false;

  void findClasses();
  RelaxedChoice relax(size_t unit, UnitDecision decision) const;

  bool mayForecast() const { return best.forecasts < limits.forecasts; }
  bool consider(const StepPlan &plan);

  double countPlans() const;
  void tryAll(size_t number, StepPlan &plan);

  std::vector<Relaxation> relaxations() const;
  double solve(const Relaxation &relaxation);
  void improve();
  void polish();
};

} // namespace

//===----------------------------------------------------------------------===//
// Classes of equal units
//===----------------------------------------------------------------------===//

static bool isEqual(const StepUnit &a, const StepUnit &b) {
  auto backwardVisits = [](const StepUnit &unit) {
    return unit.backward ? unit.backwardEnd - *unit.backward : 0;
  };
  return a.forwardEnd - a.forward == b.forwardEnd - b.forward &&
         backwardVisits(a) == backwardVisits(b) && a.forms == b.forms &&
         a.gather == b.gather && a.reduction == b.reduction &&
         a.sumOverReplicas == b.sumOverReplicas &&
         a.formChoices == b.formChoices &&
         a.reshardChoices == b.reshardChoices &&
         a.backward.has_value() == b.backward.has_value();
}

/// What the unit's decision gives at the turn and over the micro-batch.
RelaxedChoice PlanSearch::relax(size_t number, UnitDecision decision) const {
  const StepUnit &unit = graph.units[number];
  const UnitForm &form =
      unit.forms[static_cast<size_t>(unit.formChoices[decision.form])];
  const ReshardChoice &reshard = unit.reshardChoices[decision.reshard];
  RelaxedChoice choice{decision};
  choice.computing = form.forwardSeconds + form.backwardSeconds;
  auto add = [&](const Transfer &transfer) {
    if (choice.communicating.size() <= transfer.level)
      choice.communicating.resize(transfer.level + 1);
    choice.communicating[transfer.level] += transfer.seconds;
  };
  add(unit.gather);
  add(unit.reduction);
  add(unit.sumOverReplicas);
  if (unit.backward && reshard.gather)
    add(*reshard.gather);
  if (graph.visits[turn].unit == number)
    choice.held = form.forwardBytes;
  else if (unit.forward < turn &&
           turn < unit.backward.value_or(graph.visits.size()))
    choice.held = form.savedBytes;
  if (unit.forward <= turn && turn <= unit.forwardEnd)
    choice.held += unit.gather.bytes;
  else if (unit.backward && unit.forwardEnd < turn && turn < *unit.backward)
    choice.held += reshard.keptBytes;
  return choice;
}

void PlanSearch::findClasses() {
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const StepUnit &unit = graph.units[i];
    // The unit at the turn differs in when its bytes come and go.
    if (!classes.empty() && graph.visits[turn].unit != i &&
        isEqual(graph.units[i - 1], unit)) {
      classes.back().end = i + 1;
      continue;
    }
    UnitClass &added = classes.emplace_back(UnitClass{i, i + 1, {}});
    for (size_t form = 0; form < unit.formChoices.size(); ++form)
      for (size_t reshard = 0; reshard < unit.reshardChoices.size(); ++reshard)
        added.choices.push_back(relax(i, {form, reshard}));
    std::sort(added.choices.begin(), added.choices.end(),
              [](const RelaxedChoice &a, const RelaxedChoice &b) {
                return std::tie(a.held, a.decision.form, a.decision.reshard) <
                       std::tie(b.held, b.decision.form, b.decision.reshard);
              });
  }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Forecasts the plan; whether it is the best so far.
bool PlanSearch::consider(const StepPlan &plan) {
  ++best.forecasts;
  const StepForecast found = forecast(graph, plan);
  const bool fits = found.bytes <= budget;
  auto rank = [](bool fits, const StepForecast &forecast) {
    return fits ? std::tuple(0, forecast.seconds, forecast.bytes)
                : std::tuple(1, 0.0, forecast.bytes);
  };
  if (hasAny && rank(best.fits, best.forecast) <= rank(fits, found))
    return false;
  hasAny = true;
  best.plan = plan;
  best.forecast = found;
  best.fits = fits;
  return true;
}

/// As many as there are ways to divide each class over its choices.
double PlanSearch::countPlans() const {
  double plans = static_cast<double>(limits.prefetchChoices.size());
  for (const UnitClass &each : classes)
    for (size_t i = 1; i < each.choices.size(); ++i)
      plans *= static_cast<double>(each.size() + i) / static_cast<double>(i);
  return plans;
}

/// All decisions about the classes from `number` on.
void PlanSearch::tryAll(size_t number, StepPlan &plan) {
  if (number == classes.size()) {
    consider(plan);
    return;
  }
  const UnitClass &each = classes[number];
  std::function<void(size_t, size_t)> divide = [&](size_t choice,
                                                   size_t begin) {
    if (begin == each.end)
      return tryAll(number + 1, plan);
    if (choice == each.choices.size())
      return;
    // From `begin` on have this choice: none, one more, one more.
    for (size_t end = begin; end <= each.end; ++end) {
      if (end > begin)
        plan.units[end - 1] = each.choices[choice].decision;
      if (end == each.end || choice + 1 < each.choices.size())
        divide(choice + 1, end);
    }
  };
  divide(0, each.begin);
}

//===----------------------------------------------------------------------===//
// The relaxed problem
//===----------------------------------------------------------------------===//

/// Seconds in which nothing computes: of the first gather, and of the
/// reductions behind the last visit, which are on two streams.
static double secondsAlone(const StepGraph &graph) {
  double reducing = 0, replicating = 0;
  for (const StepUnit &unit : graph.units)
    if (unit.reduced && *unit.reduced + 1 == graph.visits.size()) {
      reducing += unit.reduction.seconds;
      replicating += unit.sumOverReplicas.seconds;
    }
  return graph.units[graph.visits.front().unit].gather.seconds +
         std::max(reducing, replicating);
}

/// Bounds of each step's seconds, two for each level of links. In the first,
/// something computes all the time but while the first gather and the last
/// reductions run, and is slower for as long as links of the level are busy. In
/// the second these links are busy all the time.
std::vector<Relaxation> PlanSearch::relaxations() const {
  const auto times = static_cast<double>(graph.microBatches);
  if (graph.isSerial)
    return {{graph.otherSeconds, [=](const RelaxedChoice &choice) {
               return times * std::accumulate(choice.communicating.begin(),
                                              choice.communicating.end(),
                                              choice.computing);
             }}};
  size_t levels = 0;
  for (const UnitClass &each : classes)
    for (const RelaxedChoice &choice : each.choices)
      levels = std::max(levels, choice.communicating.size());
  const double beside = graph.slowdown / (1 + graph.slowdown);
  std::vector<Relaxation> found;
  for (size_t level = 0; level < levels; ++level) {
    auto secondsOn = [level](const RelaxedChoice &choice) {
      return level < choice.communicating.size() ? choice.communicating[level]
                                                 : 0;
    };
    found.push_back(
        {graph.otherSeconds + times * (1 - beside) * secondsAlone(graph),
         [=](const RelaxedChoice &choice) {
           return times * (choice.computing + beside * secondsOn(choice));
         }});
    found.push_back({graph.otherSeconds, [=](const RelaxedChoice &choice) {
                       return times * secondsOn(choice);
                     }});
  }
  return found;
}

/// The optimum of the relaxed problem; considers its solutions.
double PlanSearch::solve(const Relaxation &relaxation) {
  constexpr size_t buckets = 8192;
  const auto room = static_cast<double>(budget - graph.persistentBytes);
  if (room < 0)
    return infinity;
  // Bytes are rounded down, so that what fits is within the buckets.
  const double bucketBytes = std::max(1.0, room / buckets);
  const size_t count = graph.units.size();
  std::vector<double> costs(buckets + 1, 0), next(buckets + 1);
  std::vector<std::vector<uint8_t>> chosen(count,
                                           std::vector<uint8_t>(buckets + 1));
  auto sizeOf = [&](const RelaxedChoice &choice) {
    return static_cast<size_t>(std::max(
        0.0, std::floor(static_cast<double>(choice.held) / bucketBytes)));
  };
  for (const UnitClass &each : classes)
    for (size_t unit = each.begin; unit < each.end; ++unit) {
      std::fill(next.begin(), next.end(), infinity);
      for (size_t i = 0; i < each.choices.size(); ++i) {
        const double cost = relaxation.cost(each.choices[i]);
        for (size_t b = sizeOf(each.choices[i]); b <= buckets; ++b)
          if (const double sum = costs[b - sizeOf(each.choices[i])] + cost;
              sum < next[b]) {
            next[b] = sum;
            chosen[unit][b] = static_cast<uint8_t>(i);
          }
      }
      std::swap(costs, next);
    }
  // From the whole room down, as long as plans do not fit.
  std::optional<StepPlan> last;
  for (size_t room = buckets + 1; room-- > 0 && costs[room] < infinity;) {
    StepPlan plan{std::vector<UnitDecision>(count),
                  limits.prefetchChoices.front()};
    size_t left = room;
    for (auto each = classes.rbegin(); each != classes.rend(); ++each) {
      std::vector<size_t> indices;
      for (size_t unit = each->end; unit-- > each->begin;) {
        indices.push_back(chosen[unit][left]);
        left -= sizeOf(each->choices[indices.back()]);
      }
      std::sort(indices.begin(), indices.end());
      for (size_t i = 0; i < indices.size(); ++i)
        plan.units[each->begin + i] = each->choices[indices[i]].decision;
    }
    if (last == plan)
      continue;
    last = plan;
    bool fits = false;
    for (const size_t prefetch : limits.prefetchChoices) {
      if (!mayForecast())
        break;
      plan.prefetch = prefetch;
      consider(plan);
      fits |= forecastBytes(graph, plan) <= budget;
    }
    if (fits || !mayForecast())
      break;
  }
  return relaxation.offset + costs[buckets];
}

/// Changes one unit of a class, or two, as long as that is better.
void PlanSearch::improve() {
  auto indexOf = [](const UnitClass &each, UnitDecision decision) {
    return static_cast<size_t>(
        std::find_if(each.choices.begin(), each.choices.end(),
                     [&](const RelaxedChoice &choice) {
                       return choice.decision == decision;
                     }) -
        each.choices.begin());
  };
  // One of the class has the choice `to` in place of `from`; they stay sorted.
  auto change = [&](StepPlan &plan, const UnitClass &each, size_t from,
                    size_t to) {
    std::vector<size_t> indices;
    for (size_t unit = each.begin; unit < each.end; ++unit)
      indices.push_back(indexOf(each, plan.units[unit]));
    const auto found = std::find(indices.begin(), indices.end(), from);
    if (found == indices.end())
      return false;
    *found = to;
    std::sort(indices.begin(), indices.end());
    for (size_t i = 0; i < indices.size(); ++i)
      plan.units[each.begin + i] = each.choices[indices[i]].decision;
    return true;
  };
  auto eachChange = [&](const StepPlan &from,
                        const std::function<void(const StepPlan &)> &visit) {
    for (const UnitClass &each : classes)
      for (size_t a = 0; a < each.choices.size(); ++a)
        for (size_t b = 0; b < each.choices.size(); ++b) {
          StepPlan plan = from;
          if (a != b && change(plan, each, a, b))
            visit(plan);
        }
  };
  for (bool isBetter = true; isBetter && mayForecast();) {
    isBetter = false;
    const StepPlan from = best.plan;
    for (const size_t prefetch : limits.prefetchChoices) {
      StepPlan plan = from;
      plan.prefetch = prefetch;
      isBetter |= prefetch != from.prefetch && consider(plan);
    }
    eachChange(from, [&](const StepPlan &plan) {
      if (mayForecast())
        isBetter |= consider(plan);
    });
    if (isBetter)
      continue;
    eachChange(from, [&](const StepPlan &one) {
      eachChange(one, [&](const StepPlan &two) {
        if (!isBetter && mayForecast())
          isBetter |= consider(two);
      });
    });
  }
}

/// Changes the decisions of one unit or of two, whatever those of their equals
/// are, as long as that is better.
void PlanSearch::polish() {
  const size_t max = best.forecasts + limits.forecasts / 2;
  auto eachDecision = [&](size_t unit,
                          const std::function<void(UnitDecision)> &visit) {
    const StepUnit &its = graph.units[unit];
    for (size_t form = 0; form < its.formChoices.size(); ++form)
      for (size_t reshard = 0; reshard < its.reshardChoices.size(); ++reshard)
        visit({form, reshard});
  };
  auto isBetter = [&](const StepPlan &plan) {
    return best.forecasts < max && consider(plan);
  };
  bool goesOn = true;
  while (goesOn) {
    goesOn = false;
    for (size_t a = 0; a < graph.units.size(); ++a)
      eachDecision(a, [&](UnitDecision ofA) {
        StepPlan one = best.plan;
        one.units[a] = ofA;
        goesOn |= isBetter(one);
        for (size_t b = a + 1; b < graph.units.size(); ++b)
          eachDecision(b, [&](UnitDecision ofB) {
            StepPlan two = best.plan;
            two.units[a] = ofA;
            two.units[b] = ofB;
            goesOn |= isBetter(two);
          });
      });
  }
}

PlanSearchResult PlanSearch::run() {
  best.isExhaustive = countPlans() <= static_cast<double>(limits.forecasts);
  if (best.isExhaustive) {
    StepPlan plan{std::vector<UnitDecision>(graph.units.size()), 1};
    for (const size_t prefetch : limits.prefetchChoices) {
      plan.prefetch = prefetch;
      tryAll(0, plan);
    }
  } else {
    for (const size_t prefetch : limits.prefetchChoices) {
      consider(greedyPlan(graph, budget, prefetch));
      for (const RecomputeForm form :
           {RecomputeForm::None, RecomputeForm::Selective, RecomputeForm::Full})
        for (const std::string_view reshard : {"never", "always"})
          consider(uniformPlan(graph, form, reshard, prefetch));
    }
  }
  for (const Relaxation &relaxation : relaxations())
    best.boundSeconds = std::max(best.boundSeconds, solve(relaxation));
  if (!best.isExhaustive)
    improve();
  polish();
  // Without equal units, whose order was not tried, no other plan is left.
  if (best.isExhaustive &&
      std::all_of(classes.begin(), classes.end(),
                  [](const UnitClass &each) { return each.size() == 1; }))
    best.boundSeconds = best.forecast.seconds;
  return std::move(best);
}

PlanSearchResult searchPlan(const StepGraph &graph, int64_t budgetBytes,
                            const SearchLimits &limits) {
  return PlanSearch(graph, budgetBytes, limits).run();
}

//===----------------------------------------------------------------------===//
// Plans to compare with
//===----------------------------------------------------------------------===//

StepPlan uniformPlan(const StepGraph &graph, RecomputeForm form,
                     std::string_view reshard, size_t prefetch) {
  StepPlan plan;
  plan.prefetch = prefetch;
  for (const StepUnit &unit : graph.units) {
    UnitDecision decision;
    for (size_t i = 0; i < unit.formChoices.size(); ++i)
      if (unit.formChoices[i] == form)
        decision.form = i;
    for (size_t i = 0; i < unit.reshardChoices.size(); ++i)
      if (unit.reshardChoices[i].word == reshard)
        decision.reshard = i;
    plan.units.push_back(decision);
  }
  return plan;
}

StepPlan greedyPlan(const StepGraph &graph, int64_t budgetBytes,
                    size_t prefetch) {
  // Without a unit's other decisions, seconds are those that it takes alone.
  auto secondsOf = [&](const StepUnit &unit, UnitDecision decision) {
    const UnitForm &form =
        unit.forms[static_cast<size_t>(unit.formChoices[decision.form])];
    const ReshardChoice &reshard = unit.reshardChoices[decision.reshard];
    return form.forwardSeconds + form.backwardSeconds +
           (reshard.gather ? reshard.gather->seconds : 0);
  };
  auto bytesOf = [&](const StepUnit &unit, UnitDecision decision) {
    return unit.forms[static_cast<size_t>(unit.formChoices[decision.form])]
               .savedBytes +
           unit.reshardChoices[decision.reshard].keptBytes;
  };
  StepPlan plan = uniformPlan(graph, RecomputeForm::None, "never", prefetch);
  while (forecastBytes(graph, plan) > budgetBytes) {
    double maxBytes = 0;
    std::optional<std::pair<size_t, UnitDecision>> change;
    for (size_t i = 0; i < graph.units.size(); ++i) {
      const StepUnit &unit = graph.units[i];
      for (size_t form = 0; form < unit.formChoices.size(); ++form)
        for (size_t reshard = 0; reshard < unit.reshardChoices.size();
             ++reshard) {
          const UnitDecision decision = {form, reshard};
          const auto bytes = static_cast<double>(bytesOf(unit, plan.units[i]) -
                                                 bytesOf(unit, decision));
          const double seconds = std::max(
              1e-9, secondsOf(unit, decision) - secondsOf(unit, plan.units[i]));
          if (bytes > 0 && bytes / seconds > maxBytes) {
            maxBytes = bytes / seconds;
            change = {i, decision};
          }
        }
    }
    if (!change)
      return plan;
    plan.units[change->first] = change->second;
  }
  return plan;
}

} // namespace shardc
