//===- Exec.h - The exec dialect ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect, its enumerations, interfaces and operations.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXEC_H
#define SHARDC_DIALECTS_EXEC_EXEC_H

#include "runtime/format/Program.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace shardc::exec {
/// Fails unless all memory that `command` names is declared: an operation of
/// exec, or a part of one.
llvm::LogicalResult verifyMemory(mlir::Operation *command);

/// Fails unless the axes of `collective` are the mesh's, in its order.
llvm::LogicalResult verifyAxes(mlir::Operation *collective);
} // namespace shardc::exec

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"

#include "dialects/Exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace shardc::exec {

/// The sections of a program, and the commands and buffers of all of them, in
/// the order in which runs take them.
llvm::SmallVector<SectionOp> getSections(ProgramOp program);

llvm::SmallVector<CommandInterface> getCommands(ProgramOp program);
llvm::SmallVector<BufferOp> getBuffers(ProgramOp program);

/// The sections as the format has them, without their conditions.
std::vector<format::Section> describeSections(ProgramOp program);

/// Creates a command that waits for no event and records none. `specific` are
/// the arguments that its kind has before its stream.
template <typename CommandOp, typename... Specific>
CommandOp createCommand(mlir::OpBuilder &builder, mlir::Location location,
                        uint64_t stream, Specific &&...specific) {
  return CommandOp::create(builder, location,
                           std::forward<Specific>(specific)..., stream,
                           llvm::ArrayRef<int64_t>(), mlir::IntegerAttr());
}

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_EXEC_H
