//===- GraphReader.h - Graphs of the export schema ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a graph with its nodes, types and module stacks from JSON, and checks
// that it is well formed. Errors name the node, its operator and its module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_GRAPHREADER_H
#define SHARDC_COMPILER_PT2_GRAPHREADER_H

#include "compiler/Pt2/ExportedProgram.h"
#include "compiler/Pt2/JsonDocument.h"

#include <string_view>

namespace shardc::pt2 {

/// Reads the schema's `Graph`. Throws ReadFailure.
Graph readGraph(const Json &value);

/// Parses the `nn_module_stack` of a node: items `key,path,type` joined by
/// semicolons, for example
///
///   L__self__,,__main__.Gpt;L__self__layers.0@1,layers.0,__main__.Block
///
/// The path is the module's name and the `@1` of the key says that this is its
/// second call. Keys are otherwise arbitrary. A path through an argument of
/// `forward` other than self, which torch 2.6 writes as `L['model'].layers.0`,
/// loses that prefix. Throws ReadFailure.
std::vector<ModuleFrame> parseModuleStack(std::string_view text);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_GRAPHREADER_H
