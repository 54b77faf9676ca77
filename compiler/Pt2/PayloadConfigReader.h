//===- PayloadConfigReader.h - Raw weights of PT2 archives ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The weights of torch 2.9 and later: a JSON file maps each tensor's name to
// the entry with its storage's raw bytes and to the tensor's window on it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_PAYLOADCONFIGREADER_H
#define SHARDC_COMPILER_PT2_PAYLOADCONFIGREADER_H

#include "compiler/Pt2/WeightsBuilder.h"
#include "compiler/Pt2/ZipArchive.h"

#include <memory>
#include <string>

namespace shardc::pt2 {

/// Adds the tensors of the configuration in entry `configIndex` of `archive`,
/// whose payloads are the entries `folder` + path name. Refuses pickled
/// payloads and objects. Throws ReadFailure.
void readPayloadConfig(const std::shared_ptr<const ZipArchive> &archive,
                       size_t configIndex, const std::string &folder,
                       WeightsBuilder &builder);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_PAYLOADCONFIGREADER_H
