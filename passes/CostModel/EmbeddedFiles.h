//===- EmbeddedFiles.h - Data files that are part of the program ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The JSON files of machines/ and chips/, as EmbedFiles.cmake writes them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_EMBEDDEDFILES_H
#define SHARDC_PASSES_COSTMODEL_EMBEDDEDFILES_H

#include <span>
#include <string_view>

namespace shardc {

/// A file and its name, without the suffix.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

/// All files of a folder, by name.
std::span<const EmbeddedFile> embeddedMachines();
std::span<const EmbeddedFile> embeddedChips();

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_EMBEDDEDFILES_H
