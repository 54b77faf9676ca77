//===- ExecInterfaces.td - What passes ask of exec operations ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels, before and after they have memory, and commands.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECINTERFACES
#define SHARDC_DIALECTS_EXEC_EXECINTERFACES

include "mlir/IR/OpBase.td"

def Exec_KernelInterface : OpInterface<"KernelInterface"> {
  let description = "An operation whose region is a kernel's: loop nests on tensors.";
  let cppNamespace = "::shardc::exec";
  let methods = [
    InterfaceMethod<"What the kernel is called for people.", "::llvm::StringRef", "getLabel">,
    InterfaceMethod<"The kernel's region.", "::mlir::Region &", "getBody">,
  ];
  let extraSharedClassDeclaration = [{
    /// The types of the kernel's inputs and of its results, ranked tensors.
    ::mlir::TypeRange getInputTypes() {
      return $_op.getBody().front().getArgumentTypes();
    }
    ::mlir::TypeRange getYieldedTypes() {
      return $_op.getBody().front().getTerminator()->getOperandTypes();
    }
  }];
}

def Exec_CommandInterface : OpInterface<"CommandInterface"> {
  let description = [{
    A command of a section: it runs after the commands before it on its stream
    and after the events that it waits for. Effects on its operands say what it
    reads and writes (`dialects/Exec/Memory.h`).
  }];
  let cppNamespace = "::shardc::exec";
  let methods = [
    InterfaceMethod<"The stream that it is on.", "uint64_t", "getStream">,
    InterfaceMethod<"The events that it waits for.", "::llvm::ArrayRef<int64_t>", "getWaits">,
    InterfaceMethod<"The event that it records.", "::std::optional<uint64_t>", "getRecords">,
    InterfaceMethod<"Sets the events.", "void", "setEvents",
        (ins "::llvm::ArrayRef<int64_t>":$waits, "::std::optional<int64_t>":$records), [{
      $_op.setWaits(waits);
      if (records)
        $_op.setRecords(*records);
      else
        $_op.removeRecordsAttr();
    }]>,
  ];
  let verify = [{ return ::shardc::exec::verifyMemory($_op); }];
}

def Exec_CollectiveInterface : OpInterface<"CollectiveInterface"> {
  let description = "A command in which ranks exchange something.";
  let cppNamespace = "::shardc::exec";
  let methods = [
    InterfaceMethod<"The axes on which the ranks that take part differ.", "::mlir::ArrayAttr", "getAxes">,
  ];
  let verify = [{ return ::shardc::exec::verifyAxes($_op); }];
}

#endif // SHARDC_DIALECTS_EXEC_EXECINTERFACES
