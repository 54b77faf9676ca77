//===- Sha256.cpp - Digests of artifact entries ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The digest through OpenSSL's EVP interface, which uses the processor's SHA
// instructions where there are any.
//===----------------------------------------------------------------------===//

#include "runtime/format/Sha256.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <new>

namespace shardc::format {

std::string sha256(std::span<const Bytes> pieces) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!context || !EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr))
    throw std::bad_alloc();
  for (const Bytes &piece : pieces)
    EVP_DigestUpdate(context.get(), piece.data(), piece.size());
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);

  static const char digits[] = "0123456789abcdef";
  std::string text = "sha256:";
  for (const unsigned char byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace shardc::format
