//===- ProcessGroup.cpp - The processes of a run --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Statuses as JSON.
//===----------------------------------------------------------------------===//

#include "runtime/transport/ProcessGroup.h"

#include <nlohmann/json.hpp>

namespace shardc::runtime {

std::string encode(const Status &status) {
  if (status.ok())
    return "";
  const nlohmann::json fields = {static_cast<int>(status.code()),
                                 status.message(), status.notes(),
                                 status.help()};
  // Names of files may be any bytes.
  return fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status decodeStatus(const std::string &text) {
  if (text.empty())
    return Status();
  const nlohmann::json fields = nlohmann::json::parse(text);
  Status status(static_cast<ErrorCode>(fields[0].get<int>()),
                fields[1].get<std::string>());
  for (const nlohmann::json &note : fields[2])
    status.addNote(note.get<std::string>());
  return status.setHelp(fields[3].get<std::string>());
}

Status agree(ProcessGroup *processes, Status own) {
  if (!processes)
    return own;
  const StatusOr<std::vector<std::string>> all =
      processes->exchange(encode(own));
  if (!all.ok())
    return all.status();
  const auto failed =
      std::find_if(all->begin(), all->end(),
                   [](const std::string &text) { return !text.empty(); });
  if (failed == all->end())
    return Status();
  Status status = decodeStatus(*failed);
  if (const auto rank = failed - all->begin(); rank != 0)
    status.addNote("on rank " + std::to_string(rank));
  return status;
}

} // namespace shardc::runtime
