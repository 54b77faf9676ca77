//===- PlanSweep.cpp - Plans over values of options -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cell is a command line: that of the options with the cell's values, so that
// values are checked as everywhere.
//===----------------------------------------------------------------------===//

#include "tools/shardc/PlanSweep.h"

#include "compiler/OptionTable.h"
#include "runtime/format/NearestName.h"
#include "runtime/format/Quantities.h"
#include "runtime/format/Terminal.h"
#include "tools/command_line/CommandLine.h"
#include "tools/shardc/Commands.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>

namespace shardc {

/// The signal that asked the sweep to end, or 0.
static volatile std::sig_atomic_t interruption = 0;

namespace {
/// One combination of values, in the order of the axes.
using Cell = std::vector<std::string>;

/// The cells of a sweep, and how they are printed.
class Sweep {
public:
  Sweep(const std::vector<SweepAxis> &axes, const Options &options)
      : axes(axes), options(options) {}

  std::vector<Cell> cells() const;

  /// The options of a cell; fails with what is wrong with its values.
  StatusOr<Options> optionsOf(const Cell &cell) const;

  void printHeader() const;
  void printCell(const Cell &cell, const std::string &rest) const;

private:
  const std::vector<SweepAxis> &axes;
  const Options &options;

  std::optional<std::string> valueOf(const Cell &cell,
                                     const std::string &option) const;
  size_t widthOf(const SweepAxis &axis) const;
};

/// Notes Ctrl-C while it lives; a second one ends the process at once.
class InterruptionHandler {
public:
  InterruptionHandler() {
    interruption = 0;
    struct sigaction action = {};
    action.sa_handler = [](int number) { interruption = number; };
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, &before);
  }
  ~InterruptionHandler() { sigaction(SIGINT, &before, nullptr); }
  InterruptionHandler(const InterruptionHandler &) = delete;
  InterruptionHandler &operator=(const InterruptionHandler &) = delete;

private:
  struct sigaction before = {};
};

/// A line below the cells, on a terminal, that says how far the sweep is.
class Progress {
public:
  explicit Progress(size_t cells) : cells(cells) {}

  void show(size_t done) const {
    std::string text =
        std::to_string(done) + " of " + std::to_string(cells) + " cells";
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - begin;
    if (done > 0)
      text += ", about " +
              printSeconds(passed.count() / static_cast<double>(done) *
                           static_cast<double>(cells - done)) +
              " left";
    line.show(text + "; Ctrl-C ends with what is planned");
  }
  void clear() const { line.clear(); }

private:
  size_t cells;
  ProgressLine line;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};
} // namespace

bool SweepResult::isPlanned() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const SweepCell &cell) { return cell.error.empty(); });
}

/// The options that a sweep may vary.
static std::vector<std::string> sweptOptions() {
  std::vector<std::string> names = {"micro-batch", "runtime"};
  for (const OptionEntry &entry : optionTable())
    if (entry.flag.starts_with("--") &&
        !std::holds_alternative<bool Options::*>(entry.member))
      names.push_back(std::string(entry.flag.substr(2)));
  return names;
}

StatusOr<std::vector<SweepAxis>>
parseSweep(const std::vector<std::string> &words) {
  const std::vector<std::string> swept = sweptOptions();
  std::vector<SweepAxis> axes;
  for (const std::string &word : words) {
    const size_t equals = word.find('=');
    SweepAxis axis{word.substr(0, equals), {}};
    if (equals != std::string::npos) {
      std::istringstream values(word.substr(equals + 1));
      for (std::string value; std::getline(values, value, ',');)
        axis.values.push_back(value);
    }
    const bool isKnown = std::ranges::find(swept, axis.option) != swept.end();
    const auto nearest = format::nearestName(axis.option, swept);
    const bool isTwice =
        std::any_of(axes.begin(), axes.end(), [&](const SweepAxis &other) {
          return other.option == axis.option;
        });
    if (!isKnown || axis.values.empty() || isTwice)
      return Status(ErrorCode::E0001,
                    "--sweep: " +
                        (isTwice   ? "'" + axis.option + "' is named twice"
                         : isKnown ? "'" + word + "' has no values"
                                   : "'" + axis.option + "' cannot be swept" +
                                         (nearest ? "; did you mean '" +
                                                        *nearest + "'?"
                                                  : "")))
          .setHelp("such as --sweep world-size=8,64 param-dtype=bf16,f32");
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<Cell> Sweep::cells() const {
  std::vector<Cell> found = {{}};
  for (const SweepAxis &axis : axes) {
    std::vector<Cell> longer;
    for (const Cell &cell : found)
      for (const std::string &value : axis.values) {
        longer.push_back(cell);
        longer.back().push_back(value);
      }
    found = std::move(longer);
  }
  return found;
}

std::optional<std::string> Sweep::valueOf(const Cell &cell,
                                          const std::string &option) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].option == option)
      return cell[i];
  return std::nullopt;
}

StatusOr<Options> Sweep::optionsOf(const Cell &cell) const {
  const std::vector<std::string> given = argumentsOf(options);
  std::vector<std::string> words;
  const bool isShardSwept = valueOf(cell, "shard").has_value();
  for (size_t i = 0; i < given.size(); ++i) {
    const bool isSwept =
        given[i].starts_with("--") && valueOf(cell, given[i].substr(2));
    if (isSwept || (isShardSwept && given[i] == "--replicate"))
      ++i; // And its value.
    else
      words.push_back(given[i]);
  }
  for (size_t i = 0; i < axes.size(); ++i)
    words.insert(words.end(), {"--" + axes[i].option, cell[i]});
  Options found;
  found.input = options.input;
  found.runtime = options.runtime;
  CLI::App app;
  addBindOption(app, found.input);
  addRuntimeOption(app, found);
  addCompileOptions(app, found);
  if (isShardSwept && !valueOf(cell, "replicate")) {
    const int64_t ranks =
        std::atoll(valueOf(cell, "world-size")
                       .value_or(std::to_string(options.worldSize))
                       .c_str());
    const int64_t shard = std::atoll(valueOf(cell, "shard")->c_str());
    if (shard > 0)
      words.insert(
          words.end(),
          {"--replicate", std::to_string(std::max<int64_t>(1, ranks / shard))});
  }
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const ConfigurationError &error) {
    return error.status;
  } catch (const CLI::ParseError &error) {
    return usageStatus(app, error);
  }
  return found;
}

size_t Sweep::widthOf(const SweepAxis &axis) const {
  size_t width = axis.option.size();
  for (const std::string &value : axis.values)
    width = std::max(width, value.size());
  return width;
}

void Sweep::printHeader() const {
  for (const SweepAxis &axis : axes)
    std::cout << std::setw(static_cast<int>(widthOf(axis))) << axis.option
              << "  ";
  std::cout << std::setw(16) << "memory per rank" << std::setw(6) << "fits"
            << std::setw(11) << "step time" << std::setw(18) << "per rank"
            << std::setw(9) << "MFU"
            << "\n";
}

void Sweep::printCell(const Cell &cell, const std::string &rest) const {
  for (size_t i = 0; i < axes.size(); ++i)
    std::cout << std::setw(static_cast<int>(widthOf(axes[i]))) << cell[i]
              << "  ";
  std::cout << rest << std::endl;
}

/// What a planned step takes.
static SweepCell cellOf(const Cell &values, const PlanReport &report) {
  SweepCell cell;
  cell.values = values;
  cell.bytes = report.memory.bytes;
  cell.fits = report.memory.fits();
  cell.seconds = report.time.seconds;
  cell.unitsPerSecond =
      static_cast<double>(report.time.unitsOfStep) /
      (report.time.seconds * static_cast<double>(report.mesh.ranks()));
  cell.unit = report.time.unit;
  cell.mfu = report.time.mfu();
  return cell;
}

static std::string describe(const SweepCell &cell) {
  if (!cell.error.empty())
    return cell.error;
  std::ostringstream text;
  text << std::setw(16) << printBytes(cell.bytes) << std::setw(6)
       << (cell.fits ? "yes" : "no") << std::setw(11)
       << printSeconds(cell.seconds) << std::setw(18)
       << printRate(cell.unitsPerSecond) + " " + cell.unit + "/s"
       << std::setw(9)
       << printDecimal(100 * cell.mfu, cell.mfu < 0.01 ? 2 : 1) + "%";
  return text.str();
}

/// "error E0204: expected …".
static std::string printError(const Status &status) {
  return "error " + std::string(errorNumber(status.code())) + ": " +
         status.message();
}

/// Where no cell fits, the one that takes least memory is planned.
static void takeClosest(const Sweep &sweep, SweepResult &result) {
  const SweepCell *closest = nullptr;
  for (const SweepCell &cell : result.cells)
    if (cell.error.empty() && (!closest || cell.bytes < closest->bytes))
      closest = &cell;
  if (!closest)
    return;
  result.best = *sweep.optionsOf(closest->values);
  result.status = Status(ErrorCode::E0801,
                         "no cell of the sweep fits: the smallest takes " +
                             printBytes(closest->bytes) + " per rank");
}

SweepResult runSweep(const std::vector<SweepAxis> &axes, const Options &options,
                     const StepPlanner &plan) {
  const Sweep sweep(axes, options);
  SweepResult result = {{}, options, Status()};
  const std::vector<Cell> cells = sweep.cells();
  // A mistyped value is no cell.
  for (const Cell &values : cells)
    if (const StatusOr<Options> found = sweep.optionsOf(values);
        !found.ok() &&
        exitCode(found.status().code()) == exitCode(ErrorCode::E0001)) {
      result.status = found.status();
      return result;
    }
  sweep.printHeader();
  const SweepCell *best = nullptr;
  std::string unit;
  result.cells.reserve(cells.size());
  const InterruptionHandler handler;
  const Progress progress(cells.size());
  for (const Cell &values : cells) {
    if (interruption != 0)
      break;
    progress.show(result.cells.size());
    const StatusOr<Options> found = sweep.optionsOf(values);
    const StatusOr<PlanReport> planned =
        found.ok() ? plan(*found) : StatusOr<PlanReport>(found.status());
    SweepCell cell;
    if (planned.ok()) {
      cell = cellOf(values, *planned);
      unit = planned->time.unit;
    } else {
      cell.values = values;
      cell.error = printError(planned.status());
      if (result.status.ok())
        result.status = planned.status();
    }
    progress.clear();
    sweep.printCell(values, describe(cell));
    result.cells.push_back(std::move(cell));
    const SweepCell &last = result.cells.back();
    if (last.fits && (!best || last.unitsPerSecond > best->unitsPerSecond)) {
      best = &last;
      result.best = *found;
    }
  }
  if (!best) {
    takeClosest(sweep, result);
    std::cout << (result.isPlanned() ? "\nnone of them fits\n"
                                     : "\nnone of them can be planned\n");
  } else {
    result.status = Status();
    std::cout << "\nmost " << unit << "/s per rank:";
    for (size_t i = 0; i < axes.size(); ++i)
      std::cout << " --" << axes[i].option << " " << best->values[i];
    std::cout << "\n";
  }
  if (result.cells.size() < cells.size())
    result.status = Status(
        ErrorCode::E0501,
        "the sweep was interrupted: " + std::to_string(result.cells.size()) +
            " of " + std::to_string(cells.size()) + " cells are planned");
  return result;
}

} // namespace shardc
