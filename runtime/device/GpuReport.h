//===- GpuReport.h - The first rule that a launch broke -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects what a launch did wrong: the words of the first violation and how
// many others there were. Those that follow are mostly its consequences.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUREPORT_H
#define SHARDC_RUNTIME_DEVICE_GPUREPORT_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// The violations of one launch at a time.
class GpuReport {
public:
  void begin(std::string kernelName) {
    kernel = std::move(kernelName);
    text.clear();
    violations = 0;
  }

  /// Counts a violation; `describe()` gives its words, of the first one alone.
  template <typename Describe>
  void add(const Describe &describe) {
    if (++violations == 1)
      text = describe();
  }

  /// Success, or E0506 with the first violation.
  Status status() const {
    if (violations == 0)
      return Status();
    Status status(ErrorCode::E0506, "kernel '" + kernel + "': " + text);
    if (violations > 1)
      status.addNote(std::to_string(violations - 1) +
                     " further violations in this launch");
    return status;
  }

private:
  std::string kernel;
  std::string text;
  int64_t violations = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GPUREPORT_H
