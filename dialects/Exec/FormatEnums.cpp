//===- FormatEnums.cpp - Enumerations as programs have them ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks up names.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/FormatEnums.h"

using namespace mlir;

namespace shardc::exec {

/// The enumerator whose name is at the place of `name` in `names`.
template <typename Enum, size_t count>
static Enum enumeratorOf(const std::array<std::string_view, count> &names,
                         StringRef name) {
  const auto *found = llvm::find(names, std::string_view(name));
  assert(found != names.end() && "both sides have the same names");
  return static_cast<Enum>(found - names.begin());
}

format::Access toFormat(Access access) {
  return enumeratorOf<format::Access>(format::accessNames,
                                      stringifyAccess(access));
}

format::Repeat toFormat(Repeat repeat) {
  return enumeratorOf<format::Repeat>(format::repeatNames,
                                      stringifyRepeat(repeat));
}

format::Role toFormat(Role role) {
  return *format::parseRole(stringifyRole(role));
}

format::Run toFormat(RunKind run) {
  return enumeratorOf<format::Run>(format::runNames, stringifyRunKind(run));
}

format::Space toFormat(Space space) {
  return enumeratorOf<format::Space>(format::spaceNames, stringifySpace(space));
}

} // namespace shardc::exec
