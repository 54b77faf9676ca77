//===- CommandKinds.h - Which commands there are --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one table of commands: name, operands with what happens to them, and
// attributes. Reader, writer and validator, the checker of programs, the
// profile and `shardc inspect` work from it; the compiler writes the commands
// that it names. A kind has, beside its entry here, an operation of the `exec`
// dialect with a meaning (dialects/Reference/CommandMeanings.cpp) and an
// implementation for each target (runtime/device/CpuCommand.cpp).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_COMMANDKINDS_H
#define SHARDC_RUNTIME_FORMAT_COMMANDKINDS_H

#include "runtime/format/Program.h"

#include <span>

namespace shardc::format {

/// An attribute that commands of a kind may have, by the type of its value.
struct AttributeRule {
  std::string_view name;
  /// The value when it is absent.
  AttributeValue usual;
};

struct CommandKindInfo {
  CommandKind kind;
  /// In program.json, such as "all_gather".
  std::string_view name;
  /// Whether a command names a kernel or a library call. Its operands and their
  /// accesses then follow from that, and so do a call's attributes.
  bool hasCallee;
  /// What happens to each operand.
  std::span<const Access> operands;
  std::span<const AttributeRule> attributes;
  /// How many of the last operands may be absent.
  size_t optionalOperands = 0;

  bool takes(size_t count) const {
    return count <= operands.size() &&
           count + optionalOperands >= operands.size();
  }
};

/// All kinds, in the order of the enumeration.
std::span<const CommandKindInfo> commandKinds();

const CommandKindInfo &infoOf(CommandKind kind);

/// The name of the command's kind in program.json.
inline std::string_view kindName(const Command &command) {
  return infoOf(command.kind).name;
}

/// Where a command is from, for users: "module 'head'".
std::string moduleOf(const Command &command);

/// Whether ranks exchange something in commands of this kind.
bool isCollective(CommandKind kind);

/// Who takes part in a collective.
const CommunicatorShape &communicatorOf(const Command &command,
                                        const Program &program);

/// What `command` does with each of its operands; nothing when its callee is
/// unknown or takes another number of them.
std::optional<std::vector<Access>> accessesOf(const Command &command,
                                              const Program &program);

/// The signature of the kernel of that name, or null.
const KernelSignature *findKernel(const Program &program,
                                  std::string_view name);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_COMMANDKINDS_H
