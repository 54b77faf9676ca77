//===- FormatEnums.h - Enumerations as programs have them -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place where enumerations of the exec dialect and of the artifact
// format meet: by their names, which are the same on both sides. A unit test
// goes through all of them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_FORMATENUMS_H
#define SHARDC_DIALECTS_EXEC_FORMATENUMS_H

#include "dialects/Exec/Exec.h"
#include "runtime/format/Parameters.h"
#include "runtime/format/Program.h"

namespace shardc::exec {

format::Access toFormat(Access access);
format::Repeat toFormat(Repeat repeat);
format::Role toFormat(Role role);
format::Run toFormat(RunKind run);
format::Space toFormat(Space space);

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_FORMATENUMS_H
