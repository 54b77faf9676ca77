//===- Terminal.cpp - Colors, progress, and the width of lines ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Escape sequences of ECMA-48, which all terminals of today understand.
//===----------------------------------------------------------------------===//

#include "runtime/format/Terminal.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace shardc {

/// Whether standard error is a terminal that knows escape sequences.
static bool isTerminal() {
  const char *const name = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && name && std::string_view(name) != "dumb";
}

static bool hasColors() {
  const char *const none = std::getenv("NO_COLOR");
  return isTerminal() && (!none || *none == '\0');
}

static const char *colorOf(MessageKind kind) {
  switch (kind) {
  case MessageKind::Error:
    return "\033[1;31m"; // Red.
  case MessageKind::Warning:
    return "\033[1;35m"; // Magenta.
  case MessageKind::Remark:
    return "\033[1;34m"; // Blue.
  case MessageKind::Note:
    return "\033[1;36m"; // Cyan.
  case MessageKind::Help:
    return "\033[1;32m"; // Green.
  }
  return "";
}

std::string colored(MessageKind kind, const std::string &text) {
  static const bool isColored = hasColors();
  return isColored ? colorOf(kind) + text + "\033[0m" : text;
}

int terminalColumns() {
  constexpr int min = 80;
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0
             ? std::max<int>(min, size.ws_col)
             : min;
}

ProgressLine::ProgressLine() : isTerminal(shardc::isTerminal()) {}

void ProgressLine::show(const std::string &text) const {
  // The cursor stays at the line's begin, for whatever is printed next.
  if (isTerminal)
    std::cerr << "\033[K" << text << "\r" << std::flush;
}

void ProgressLine::clear() const { show(""); }

StepProgress::StepProgress(std::string work) : work(std::move(work)) {
  if (isTerminal())
    thread = std::thread([this] { run(); });
}

void StepProgress::begin(const std::string &next) {
  const std::lock_guard lock(mutex);
  step = next;
}

void StepProgress::end() {
  {
    const std::lock_guard lock(mutex);
    isEnded = true;
  }
  ended.notify_all();
  if (thread.joinable())
    thread.join();
}

void StepProgress::run() {
  using std::chrono::seconds;
  std::unique_lock lock(mutex);
  auto wait = [&](seconds time) {
    return ended.wait_for(lock, time, [&] { return isEnded; });
  };
  if (wait(seconds(2)))
    return;
  do {
    const auto passed = std::chrono::duration_cast<seconds>(
        std::chrono::steady_clock::now() - start);
    line.show(work + ": " + step + ", " + std::to_string(passed.count()) +
              " s");
  } while (!wait(seconds(1)));
  line.clear();
}

} // namespace shardc
