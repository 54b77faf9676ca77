//===- MakeTinyArtifact.cpp - The tiny model as a file --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// make-tiny-artifact OUTPUT.shardc RANKS: what tests of the shardrun program
// run, so that they need no compiler.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/TinyModel.h"

#include <cstdlib>
#include <iostream>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: make-tiny-artifact OUTPUT.shardc RANKS\n";
    return 2;
  }
  const shardc::testing::TinyModel model(std::atoll(argv[2]));
  const shardc::Status status =
      shardc::format::writeArtifact(argv[1], model.artifact);
  if (!status.ok())
    std::cerr << render(status, "make-tiny-artifact");
  return status.ok() ? 0 : 1;
}
