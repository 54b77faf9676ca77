//===- FileList.h - Several files of data ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The files that `--data` names: separated by commas, or those of a folder.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DATA_FILELIST_H
#define SHARDC_RUNTIME_DATA_FILELIST_H

#include "runtime/format/Status.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// "a,b" as its parts.
std::vector<std::string> splitList(const std::string &text);

/// The files of a folder whose names end so, in the order of their names. Fails
/// with E0403 if there are none.
StatusOr<std::vector<std::string>> filesOf(const std::string &folder,
                                           const std::string &suffix);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DATA_FILELIST_H
