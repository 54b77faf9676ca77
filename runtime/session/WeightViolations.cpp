//===- WeightViolations.cpp - Weights that do not fit a model -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A missing name is most likely one of the unused ones, spelt differently.
//===----------------------------------------------------------------------===//

#include "runtime/session/WeightViolations.h"
#include "runtime/format/NearestName.h"

#include <algorithm>
#include <map>

namespace shardc::runtime {

bool isOptimizerName(const std::string &name) {
  return name.find('/') != std::string::npos || name.starts_with("optimizer#");
}

static std::string count(size_t number, const std::string &what) {
  return std::to_string(number) + what;
}

/// Of a kind, how many are listed.
static constexpr size_t maxNames = 10;

/// A note for each name; one for all names "KEY/…" of a key with many.
static void addNotes(Status &status, const std::string &what,
                     const std::vector<std::string> &names,
                     const std::string &where,
                     const std::vector<std::string> &others) {
  constexpr size_t many = 4;
  std::map<std::string, size_t> withKey;
  for (const std::string &name : names)
    if (const size_t slash = name.find('/'); slash != std::string::npos)
      ++withKey[name.substr(0, slash)];
  for (const auto &[key, number] : withKey)
    if (number >= many)
      status.addNote(what + ": " + std::to_string(number) + " tensors '" + key +
                     "/…'");
  size_t shown = 0, more = 0;
  for (const std::string &name : names) {
    const auto key = withKey.find(name.substr(0, name.find('/')));
    if (key != withKey.end() && key->second >= many)
      continue;
    if (shown++ >= maxNames) {
      ++more;
      continue;
    }
    const auto nearest = format::nearestName(name, others);
    status.addNote(what + ": '" + name + "'" +
                   (nearest ? "; " + where + " has '" + *nearest + "'" : ""));
  }
  if (more > 0)
    status.addNote(what + ": " + std::to_string(more) + " more");
}

Status WeightViolations::status() const {
  const size_t number =
      missing.size() + unused.size() + misfits.size() + conflicts.size();
  if (number == 0)
    return Status();
  std::string summary;
  const auto add = [&](const std::string &part) {
    summary += (summary.empty() ? "" : ", ") + part;
  };
  if (!missing.empty())
    add(count(missing.size(), " missing"));
  if (!unused.empty())
    add(count(unused.size(), " not used"));
  if (!misfits.empty())
    add(count(misfits.size(), " of another shape or dtype"));
  if (!conflicts.empty())
    add(count(conflicts.size(), " tied and not equal"));
  std::string message = "weights do not match the model: " + summary;
  if (number == 1)
    message = !misfits.empty()     ? misfits.front()
              : !conflicts.empty() ? conflicts.front()
              : !missing.empty()   ? "weights lack '" + missing.front() + "'"
                                   : "weights have '" + unused.front() +
                                         "', which the model does not";
  Status status(ErrorCode::E0402, message);
  if (number > 1) {
    addNotes(status, "missing", missing, "the file", unused);
    addNotes(status, "not used", unused, "the model", missing);
    for (size_t i = 0; i < std::min(maxNames, misfits.size()); ++i)
      status.addNote(misfits[i]);
    if (misfits.size() > maxNames)
      status.addNote(count(misfits.size() - maxNames, " more like these"));
    for (size_t i = 0; i < std::min(maxNames, conflicts.size()); ++i)
      status.addNote(conflicts[i]);
  }
  const auto countOptimizer = [](const std::vector<std::string> &names) {
    return static_cast<size_t>(
        std::count_if(names.begin(), names.end(), isOptimizerName));
  };
  const size_t ofOptimizer = countOptimizer(unused) + countOptimizer(missing);
  if (ofOptimizer > 0 && ofOptimizer == number)
    status.setHelp("the file was saved with a different optimizer; --restart "
                   "loads only its parameters and buffers");
  else if (!unused.empty() && missing.empty() && misfits.empty())
    status.setHelp("--ignore-unused leaves out what the model does not have");
  else if (!conflicts.empty() && missing.empty() && misfits.empty())
    status.setHelp("export the model without tying them, or leave one of them "
                   "out of the file");
  else if (!missing.empty())
    status.setHelp("the file may belong to another model; 'shardc inspect "
                   "MODEL.pt2' shows the modules of this one");
  return status;
}

} // namespace shardc::runtime
