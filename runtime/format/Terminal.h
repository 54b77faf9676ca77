//===- Terminal.h - Colors, progress, and the width of lines --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What programs print for people. Into a file or a pipe goes plain text in
// lines of 80 columns, without progress.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_TERMINAL_H
#define SHARDC_RUNTIME_FORMAT_TERMINAL_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace shardc {

enum class MessageKind { Error, Warning, Remark, Note, Help };

/// `text` in the color of its kind, if standard error is a terminal. NO_COLOR
/// (https://no-color.org) and TERM=dumb turn colors off.
std::string colored(MessageKind kind, const std::string &text);

/// Columns of standard output: 80, or more if it is a wider terminal.
int terminalColumns();

/// The last line of a terminal, which is overwritten; nothing elsewhere.
class ProgressLine {
public:
  ProgressLine();

  /// Shows a text shorter than a line. Other output replaces it.
  void show(const std::string &text) const;
  void clear() const;

private:
  bool isTerminal;
};

/// Shows which step of a longer work runs, and for how many seconds the work
/// has run, from its third second on.
class StepProgress {
public:
  /// `work` comes first in the line, such as "compiling".
  explicit StepProgress(std::string work);
  ~StepProgress() { end(); }

  void begin(const std::string &step);
  /// Clears the line; nothing is shown any more.
  void end();

private:
  void run();

  const std::string work;
  const std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  const ProgressLine line;
  std::mutex mutex;
  std::condition_variable ended;
  std::string step;
  bool isEnded = false;
  std::thread thread;
};

} // namespace shardc

#endif // SHARDC_RUNTIME_FORMAT_TERMINAL_H
