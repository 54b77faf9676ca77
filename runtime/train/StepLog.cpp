//===- StepLog.cpp - What a training run reports --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers and writes lines.
//===----------------------------------------------------------------------===//

#include "runtime/train/StepLog.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

namespace shardc::runtime {

std::string jsonLine(const StepRecord &record) {
  nlohmann::ordered_json line;
  line["step"] = record.step;
  line["loss"] = record.loss;
  line["gradient_norm"] = record.gradientNorm;
  line["seconds"] = record.seconds;
  if (record.tokensPerSecond)
    line["tokens_per_second"] = *record.tokensPerSecond;
  if (record.lossScale)
    line["loss_scale"] = *record.lossScale;
  if (record.hostSeconds)
    line["host_seconds"] = *record.hostSeconds;
  if (record.skipped)
    line["skipped"] = true;
  return line.dump();
}

std::string jsonLine(const EvaluationRecord &record) {
  nlohmann::ordered_json line;
  line["step"] = record.step;
  line["evaluation_loss"] = record.loss;
  line["seconds"] = record.seconds;
  return line.dump();
}

/// NaN without the sign that printf shows and nobody means.
static double printable(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

std::string textLine(const StepRecord &record) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(),
                "step: %5lld  loss: %#.9g  grad_norm: %#.6g  seconds: %.4f",
                static_cast<long long>(record.step), printable(record.loss),
                printable(record.gradientNorm), record.seconds);
  std::string line = text.data();
  if (record.tokensPerSecond) {
    std::snprintf(text.data(), text.size(), "  tokens/s: %.0f",
                  *record.tokensPerSecond);
    line += text.data();
  }
  if (record.lossScale) {
    std::snprintf(text.data(), text.size(), "  loss_scale: %g",
                  *record.lossScale);
    line += text.data();
  }
  if (record.skipped)
    line += "  skipped: not finite";
  return line;
}

std::string textLine(const EvaluationRecord &record) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(),
                "step: %5lld  evaluation_loss: %#.9g  seconds: %.4f",
                static_cast<long long>(record.step), printable(record.loss),
                record.seconds);
  return text.data();
}

StatusOr<std::unique_ptr<StepLog>> StepLog::create(const std::string &path,
                                                   std::ostream *stream) {
  std::unique_ptr<StepLog> log(new StepLog(path, stream));
  if (path.empty())
    return log;
  log->file.reset(std::fopen(path.c_str(), "ae"));
  if (!log->file)
    return log->failure();
  return log;
}

Status StepLog::failure() const {
  return Status(ErrorCode::E0601,
                "cannot write '" + path + "': " + std::strerror(errno));
}

Status StepLog::writeLines(const std::string &json, const std::string &text) {
  if (stream)
    *stream << text << std::endl;
  if (!file)
    return Status();
  const std::string line = json + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    return failure();
  return Status();
}

} // namespace shardc::runtime
