//===- PlanDiff.cpp - Where two plans differ ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tables of the parts that both plans have, or one of them.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanDiff.h"

#include "compiler/Plan/Table.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Quantities.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace shardc {

using format::JsonField;

namespace {
struct Group {
  int64_t parameters = 0;
  std::string dtypes, reshard, recompute;
  /// Bytes of one rank in a micro-batch.
  int64_t communicated = 0;

  bool isDecidedAs(const Group &other) const {
    return dtypes == other.dtypes && reshard == other.reshard &&
           recompute == other.recompute && communicated == other.communicated;
  }
};

/// What of a plan is compared.
struct Plan {
  std::string title;
  std::map<std::string, std::string> options;
  /// In the order of names, whatever files have.
  std::map<std::string, double> memory, time;
  double bytes = 0, seconds = 0, unitsPerSecond = 0, mfu = 0;
  std::string unit;
  std::map<std::string, Group> groups;
};
} // namespace

/// A number that is not negative.
static double amountOf(const JsonField &field) {
  const double number = field.number();
  if (number < 0)
    field.fail("expected no negative number");
  return number;
}

static std::map<std::string, double> numbersOf(const JsonField &field) {
  std::map<std::string, double> numbers;
  for (const auto &[name, value] : field.members())
    numbers[name] = amountOf(value);
  return numbers;
}

static Group groupOf(const JsonField &field) {
  return {field["parameters"].integer(), field["dtypes"].text(),
          field["reshard"].text(), field["recompute"].text(),
          field["gathers"].integer() * field["gather_bytes"].integer() +
              field["reduces"].integer() * field["reduce_bytes"].integer()};
}

static Plan planOf(const JsonField &root) {
  Plan plan;
  format::Mesh mesh;
  for (const auto &[axis, size] : root["mesh"].members())
    mesh.axes.push_back({axis, size.integer(1)});
  plan.title = root["model"].text() + " on " + printRanks(mesh.ranks()) + " (" +
               describeAxes(mesh) + ") of " + root["machine"].text() +
               " under " + root["runtime"].text();
  plan.options["machine"] = root["machine"].text();
  plan.options["runtime"] = root["runtime"].text();
  plan.options["micro-batches"] =
      std::to_string(root["micro_batches"].integer(1));
  for (const JsonField &input : root["inputs"].elements()) {
    std::string &shape = plan.options["shape of " + input["name"].text()];
    for (const int64_t size : input["shape"].integers())
      shape += (shape.empty() ? "" : " x ") + std::to_string(size);
  }
  const nlohmann::ordered_json options =
      format::toJson(root["options"].attributes());
  for (const auto &[name, value] : options.items())
    plan.options[name] =
        value.is_string() ? value.get<std::string>() : value.dump();
  const JsonField memory = root["memory"], time = root["time"];
  plan.memory = numbersOf(memory["parts"]);
  plan.bytes = amountOf(memory["bytes"]);
  plan.time = numbersOf(time["parts"]);
  plan.seconds = amountOf(time["seconds"]);
  plan.unit = time["unit"].text();
  plan.unitsPerSecond = amountOf(time["units_per_second"]);
  plan.mfu = amountOf(time["mfu"]);
  for (const JsonField &group : root["groups"].elements())
    plan.groups[group["name"].text()] = groupOf(group);
  return plan;
}

static StatusOr<Plan> readPlan(const std::string &path) {
  const auto file = format::MappedFile::open(path, ErrorCode::E0410);
  if (!file.ok())
    return file.status();
  Plan plan;
  Status status =
      format::parseFile((*file)->bytes(), path, ErrorCode::E0410,
                        [&](const JsonField &root) { plan = planOf(root); });
  if (!status.ok())
    return status.setHelp("expected what shardc plan --json prints");
  return plan;
}

/// The names of both.
template <typename T>
static std::set<std::string> namesOf(const std::map<std::string, T> &before,
                                     const std::map<std::string, T> &after) {
  std::set<std::string> names;
  for (const auto &[name, value] : before)
    names.insert(name);
  for (const auto &[name, value] : after)
    names.insert(name);
  return names;
}

template <typename T>
static T valueIn(const std::map<std::string, T> &map, const std::string &name) {
  const auto found = map.find(name);
  return found == map.end() ? T() : found->second;
}

static std::string printOptions(const Plan &before, const Plan &after) {
  std::string text;
  for (const std::string &name : namesOf(before.options, after.options)) {
    const std::string old = valueIn(before.options, name);
    const std::string now = valueIn(after.options, name);
    if (old != now)
      text += "  " + name + ": " + (old.empty() ? "none" : old) + " -> " +
              (now.empty() ? "none" : now) + "\n";
  }
  return text.empty() ? "\nthe options are the same\n" : "\noptions\n" + text;
}

using Print = std::function<std::string(double)>;

static void addRow(Table &table, const std::string &name, double before,
                   double after, const Print &print) {
  const double change = after - before;
  const std::string sign = change < 0 ? "-" : "+";
  table.add(
      {"  " + name, print(before), print(after),
       change == 0 ? "" : sign + print(std::abs(change)),
       change == 0 || before == 0
           ? ""
           : sign + printDecimal(100 * std::abs(change) / before, 1) + "%"});
}

/// Changes of a percentage are points.
static std::vector<std::string> mfuRow(double before, double after) {
  const auto percent = [](double mfu) { return printDecimal(100 * mfu, 1); };
  const double change = after - before;
  return {"  MFU", percent(before) + "%", percent(after) + "%",
          change == 0 ? ""
                      : (change < 0 ? "-" : "+") + percent(std::abs(change)) +
                            " points",
          ""};
}

static std::string printParts(const std::string &title,
                              const std::map<std::string, double> &before,
                              const std::map<std::string, double> &after,
                              double wholeBefore, double wholeAfter,
                              const Print &print) {
  Table table;
  table.add({title, "before", "after", "change", ""});
  for (const std::string &name : namesOf(before, after))
    if (valueIn(before, name) != valueIn(after, name))
      addRow(table, name, valueIn(before, name), valueIn(after, name), print);
  addRow(table, "all", wholeBefore, wholeAfter, print);
  return "\n" + table.print();
}

/// "default, none, bf16", or "-" for no group.
static std::string describe(const Group *group) {
  return group ? group->reshard + ", " + group->recompute + ", " + group->dtypes
               : "-";
}

static std::string printGroups(const Plan &before, const Plan &after) {
  // Equal layers have equal rows.
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>
      rows;
  for (const std::string &name : namesOf(before.groups, after.groups)) {
    const auto old = before.groups.find(name), now = after.groups.find(name);
    const Group *a = old == before.groups.end() ? nullptr : &old->second;
    const Group *b = now == after.groups.end() ? nullptr : &now->second;
    if (a && b && a->isDecidedAs(*b))
      continue;
    const auto bytesOf = [](const Group *group) {
      return group ? group->communicated : 0;
    };
    const std::vector<std::string> cells = {describe(a), describe(b),
                                            printBytes(bytesOf(a)),
                                            printBytes(bytesOf(b))};
    const auto same = std::find_if(rows.begin(), rows.end(), [&](auto &row) {
      return row.first == cells;
    });
    if (same == rows.end())
      rows.push_back({cells, {name}});
    else
      same->second.push_back(name);
  }
  if (rows.empty())
    return "\nthe groups are the same\n";
  Table table;
  table.add({"group", "before", "after", "bytes before", "bytes after"});
  for (auto &[cells, names] : rows) {
    std::string name = "  " + names.front();
    if (names.size() > 1)
      name += " and " + std::to_string(names.size() - 1) + " more";
    cells.insert(cells.begin(), name);
    table.add(cells);
  }
  return "\n" + table.print();
}

StatusOr<std::string> diffPlans(const std::string &before,
                                const std::string &after) {
  const StatusOr<Plan> a = readPlan(before), b = readPlan(after);
  if (!a.ok())
    return a.status();
  if (!b.ok())
    return b.status();
  Table speed;
  speed.add({"speed", "before", "after", "change", ""});
  if (a->unit == b->unit)
    addRow(speed, a->unit + "/s total", a->unitsPerSecond, b->unitsPerSecond,
           printRate);
  speed.add(mfuRow(a->mfu, b->mfu));
  return "before: " + a->title + "\nafter:  " + b->title + "\n" +
         printOptions(*a, *b) +
         printParts(
             "memory per rank", a->memory, b->memory, a->bytes, b->bytes,
             [](double bytes) { return printBytes(std::llround(bytes)); }) +
         printParts("step time", a->time, b->time, a->seconds, b->seconds,
                    printSeconds) +
         "\n" + speed.print() + printGroups(*a, *b);
}

} // namespace shardc
