//===- DescribeKernels.cpp - Kernels and schedules as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a failing random kernel prints.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Kernel/RandomKernels.h"

#include <sstream>

namespace shardc::kernel {

template <typename T>
static void list(std::ostream &out, const std::vector<T> &values) {
  out << "[";
  for (size_t i = 0; i < values.size(); ++i)
    out << (i ? "," : "") << values[i];
  out << "]";
}

std::string describe(const KernelStages &kernel) {
  std::ostringstream out;
  for (size_t i = 0; i < kernel.tensors.size(); ++i) {
    const StageTensor &tensor = kernel.tensors[i];
    out << "tensor " << i << ": " << tensor.elements << " elements of "
        << tensor.elementBytes
        << (tensor.isTemporary ? " temporary"
            : tensor.isInput   ? " input"
                               : " result")
        << "\n";
  }
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    const Stage &stage = kernel.stages[i];
    out << "stage " << i << ": sizes ";
    list(out, stage.sizes);
    out << " reduced ";
    list(out, stage.reduced);
    out << " counted ";
    list(out, stage.counted);
    out << " gathers ";
    list(out, stage.gathers);
    out << (stage.scans ? " scans\n" : stage.scatters ? " scatters\n" : "\n");
    for (const StageAccess &access : stage.accesses) {
      out << "  " << (access.isWrite ? "write " : "read ") << access.tensor
          << " at " << access.offset << " + ";
      list(out, access.strides);
      for (const StageAccess::Computed &index : access.computed)
        out << " + " << index.stride << " * computed below " << index.size;
      out << "\n";
    }
  }
  return out.str();
}

std::string describe(const KernelSchedule &schedule) {
  std::ostringstream out;
  out << "merged:\n" << describe(schedule.merged);
  for (const Launch &launch : schedule.launches) {
    out << "launch ";
    list(out, launch.sizes);
    for (const BlockedLoop &loop : launch.blocked)
      out << " blocks of " << loop.block << " of " << loop.size;
    out << "\n";
    for (const ScheduledStage &stage : launch.stages) {
      out << "  stage " << stage.stage << " launch loops ";
      list(out, stage.launchLoops);
      out << " blocked ";
      list(out, stage.blockedLoops);
      out << " inner ";
      list(out, stage.innerLoops);
      out << "\n";
    }
  }
  for (size_t i = 0; i < schedule.placements.size(); ++i)
    if (const TensorPlacement &placement = schedule.placements[i];
        placement.isPrivate) {
      out << "tensor " << i << " private, " << placement.elements
          << " elements";
      for (const TensorPlacement::CutLoop &cut : placement.cuts)
        out << ", stride " << cut.stride << " size " << cut.size << " left "
            << cut.left;
      out << "\n";
    }
  return out.str();
}

std::string describe(const LoopPreferences &preferences) {
  std::ostringstream out;
  out << "pointwiseBlock " << preferences.pointwiseBlock << " reductionBlock "
      << preferences.reductionBlock << " leastBlock " << preferences.minBlock
      << " enoughIterations " << preferences.enoughIterations
      << " privateBytes " << preferences.privateBytes << " smallWork "
      << preferences.smallWork << " blockThreads " << preferences.blockThreads
      << " sharedBytes " << preferences.sharedBytes << " tileLineBytes "
      << preferences.tileLineBytes << " nearRowBytes "
      << preferences.nearRowBytes << "\n";
  return out.str();
}

} // namespace shardc::kernel
