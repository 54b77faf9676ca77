//===- ArgumentReader.h - Values of the export schema ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the leaves of the export schema from JSON: arguments of nodes, symbolic
// scalars and tensor types. All functions throw ReadFailure.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ARGUMENTREADER_H
#define SHARDC_COMPILER_PT2_ARGUMENTREADER_H

#include "compiler/Pt2/ExportedProgram.h"
#include "compiler/Pt2/JsonDocument.h"

namespace shardc::pt2 {

/// The schema's `Argument` union: any of its members but custom objects.
Argument readArgument(const Json &value);

/// An array of arguments, such as the outputs of a node.
std::vector<Argument> readArguments(const Json &value, const char *what);

/// The schema's `SymInt`, `SymFloat` and `SymBool`: a literal, or an
/// expression and its hint.
SymInt readSymInt(const Json &value);
SymFloat readSymFloat(const Json &value);
SymBool readSymBool(const Json &value);

/// A tensor's type. Refuses layouts other than strided.
TensorMeta readTensorMeta(const Json &value);

/// Whether 64 bits can count the bytes of a tensor.
bool hasCountableBytes(const TensorMeta &meta);

/// The strings of an array of strings.
StringList readStrings(const Json &value, const char *what);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ARGUMENTREADER_H
