//===- ExecOps.td - Operations of the exec dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensor level (kernel, library, view), then the buffer level (program,
// state, input and the commands).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECOPS
#define SHARDC_DIALECTS_EXEC_EXECOPS

include "dialects/Exec/ExecAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

def Exec_KernelOp : Exec_Op<"kernel", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a loop nest that shardc compiles";
  let description = [{
    The region holds `linalg`, `tensor` and `arith` operations on its block
    arguments. Kernels with equal regions and layouts share one function.

    Example:
    ```mlir
    %y = exec.kernel "relu" (%x = %0 : tensor<4xf32>) -> (tensor<4xf32>) {
      ...
      exec.yield %r : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["KernelOp", "ComputeOp"]>]> {
  let summary = "the results of a kernel";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$results);
  let builders = [OpBuilder<(ins), [{ /* no results */ }]>];
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

def Exec_LibraryOp : Exec_Op<"library", [Pure]> {
  let summary = "a call of an existing engine (oneDNN, cuBLASLt, cuDNN)";
  let description = [{
    `call` and `settings` are the call and attributes of the artifact's library command
    (`docs/Format.md`). `order` has one permutation a result: `order[i] = [0, 2, 1, 3]`
    says that result i is stored with its dimension 2 outside its dimension 1;
    an empty one is row-major.
  }];
  let arguments = (ins StrAttr:$call, DictionaryAttr:$settings, ArrayAttr:$order,
                       Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = "$call `(` $inputs `)` $settings `order` $order attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [Pure]> {
  let summary = "the bytes of another value under another shape and strides";
  let description = [{
    `offset` and `strides` count elements of the storage that `source` lives in;
    the offset is relative to the first element of `source`.
  }];
  let arguments = (ins AnyStaticShapeTensor:$source, I64Attr:$offset, DenseI64ArrayAttr:$strides);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$source `offset` $offset `strides` $strides attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Exec_StateOp : Exec_Op<"state"> {
  let summary = "memory of one rank that lives across steps";
  let description = [{
    `parameter`, `gradient` and the optimizer's states belong to a segment and
    hold this rank's shard; a `buffer` is the model's; a `metric` is read by the
    runtime after each step. References count states in order.
  }];
  let arguments = (ins StrAttr:$name, Exec_Role:$role, TypeAttr:$type, OptionalAttr<I64Attr>:$segment);
  let assemblyFormat = "$name $role (`segment` $segment^)? attr-dict `:` $type";
}

def Exec_InputOp : Exec_Op<"input"> {
  let summary = "one input of the step, a micro-batch of one rank";
  let description = [{
    Integers are in [0, `below`), or equal to `ignore`.
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type,
      OptionalAttr<I64Attr>:$upper_bound, OptionalAttr<I64Attr>:$ignore_index);
  let assemblyFormat = "$name (`below` $upper_bound^)? (`ignore` $ignore_index^)? attr-dict `:` $type";
}

def Exec_ScalarOp : Exec_Op<"scalar"> {
  let summary = "a number that the runtime computes before each step";
  let description = "`kind` is learning_rate, gradient_scale or bias_correction (1 - beta^step).";
  let arguments = (ins StrAttr:$kind, OptionalAttr<F64Attr>:$beta, TypeAttr:$type);
  let assemblyFormat = "$kind (`beta` $beta^)? attr-dict `:` $type";
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SingleBlock, NoTerminator]> {
  let summary = "the commands of one training step, in issue order";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena, StrArrayAttr:$streams, I64Attr:$events);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `arena` $arena `streams` $streams `events` $events attr-dict-with-keyword $body";
}

/// A command: `section` says how often it runs, `stream` where; it waits for
/// `waits` before and records `records` after.
class Exec_CommandOp<string mnemonic, dag specific> : Exec_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let arguments = !con(specific, (ins Exec_Section:$section, I64Attr:$stream,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$waits, OptionalAttr<I64Attr>:$records));
  string suffix = "`in` $section `on` $stream (`waits` $waits^)? (`records` $records^)? attr-dict";
}

def Exec_LaunchOp : Exec_CommandOp<"launch",
    (ins FlatSymbolRefAttr:$kernel, StrAttr:$label, I64Attr:$extent, ArrayAttr:$operands,
         DenseI32ArrayAttr:$accesses)> {
  let summary = "runs iterations [0, extent) of a kernel";
  let description = [{
    The operands are in the order of the function's pointers. One is read unless
    it says `write` or `read_write`. A launch does not look at what was in an
    operand that it writes, though it may leave some of that as it is.
  }];
  let assemblyFormat = "$kernel $label `extent` $extent custom<AccessedRefs>($operands, $accesses) " # suffix;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the launch does with operand `number`.
    Access getAccess(unsigned number) {
      return static_cast<Access>(getAccesses()[number]);
    }
  }];
}

def Exec_ComputeOp : Exec_Op<"compute", [HasParent<"ProgramOp">, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "says what the launches after it compute";
  let description = [{
    The next `launches` launches compute the region, which is a kernel's, of what
    `operands` hold before the first of them, and leave its results in `outputs`.
    It is no command, and no artifact has it: the reference interpreter executes
    it in place of the launches, and compiled code is held against it. The memory
    phase writes it when it is asked to.

    Example:
    ```mlir
    exec.compute "relu" launches 1 (arena[0 + 0] : memref<4xf32>) -> (arena[0 + 64] : memref<4xf32>) {
    ^bb0(%x: tensor<4xf32>):
      ...
      exec.yield %r : tensor<4xf32>
    }
    exec.launch @kernel_relu "relu" extent 1 (arena[0 + 0] : memref<4xf32>, write arena[0 + 64] : memref<4xf32>) in micro_batch on 0
    ```
  }];
  let arguments = (ins StrAttr:$label, I64Attr:$launches, ArrayAttr:$operands, ArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label `launches` $launches custom<Refs>($operands) `->` custom<Refs>($outputs) attr-dict-with-keyword $body";
}

def Exec_CallOp : Exec_CommandOp<"call",
    (ins StrAttr:$call, DictionaryAttr:$settings, ArrayAttr:$operands, ArrayAttr:$outputs)> {
  let summary = "calls an existing engine";
  let assemblyFormat = "$call custom<Refs>($operands) `->` custom<Refs>($outputs) $settings " # suffix;
}

def Exec_AllGatherOp : Exec_CommandOp<"all_gather",
    (ins FlatSymbolRefAttr:$group, Exec_Ref:$buffer, I64Attr:$slot)> {
  let summary = "gathers every rank's slot of `slot` bytes, in place";
  let assemblyFormat = "$group custom<Ref>($buffer) `slot` $slot " # suffix;
}

def Exec_ReduceScatterOp : Exec_CommandOp<"reduce_scatter",
    (ins FlatSymbolRefAttr:$group, Exec_Ref:$buffer, Exec_Ref:$output)> {
  let summary = "adds every rank's part for this rank to `output`, in rank order";
  let assemblyFormat = "$group custom<Ref>($buffer) `->` custom<Ref>($output) " # suffix;
}

def Exec_AllReduceOp : Exec_CommandOp<"all_reduce",
    (ins Exec_Ref:$buffer, UnitAttr:$double_double)> {
  let summary = "sums a buffer over ranks, in rank order, in place";
  let assemblyFormat = "custom<Ref>($buffer) (`double_double` $double_double^)? " # suffix;
}

def Exec_CopyOp : Exec_CommandOp<"copy", (ins Exec_Ref:$source, Exec_Ref:$target)> {
  let summary = "copies contiguous bytes";
  let assemblyFormat = "custom<Ref>($source) `->` custom<Ref>($target) " # suffix;
}

def Exec_FillOp : Exec_CommandOp<"fill", (ins Exec_Ref:$target)> {
  let summary = "sets contiguous bytes to zero";
  let assemblyFormat = "custom<Ref>($target) " # suffix;
}

#endif // SHARDC_DIALECTS_EXEC_EXECOPS
