//===- Sha256.h - Digests of artifact entries -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 over bytes given in one or several pieces, by OpenSSL's libcrypto.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SHA256_H
#define SHARDC_RUNTIME_FORMAT_SHA256_H

#include "runtime/format/Bytes.h"

#include <string>

namespace shardc::format {

/// The digest of the concatenation of `pieces` as a manifest writes it:
/// "sha256:" and 64 lower-case hexadecimal digits.
std::string sha256(std::span<const Bytes> pieces);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SHA256_H
