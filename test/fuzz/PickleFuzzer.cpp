//===- PickleFuzzer.cpp - Any bytes as a torch.save payload ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input as the pickle in which old archives keep their weights.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/PickleReader.h"
#include "compiler/Pt2/ReadFailure.h"

using namespace shardc;
using namespace shardc::pt2;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)catchFailure<PickleDocument>([&] {
    return readPickle(std::as_bytes(std::span(data, size)));
  }).ok();
  return 0;
}
