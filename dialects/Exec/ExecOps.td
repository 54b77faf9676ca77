//===- ExecOps.td - Operations of the exec dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensor level (kernel, library, view), then the memory level (states,
// inputs, scalars, buffers, the program and its commands).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECOPS
#define SHARDC_DIALECTS_EXEC_EXECOPS

include "dialects/Exec/ExecDialect.td"
include "dialects/Exec/ExecEnums.td"
include "dialects/Exec/ExecInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

def Exec_KernelOp : Exec_Op<"kernel", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<Exec_KernelInterface>]> {
  let summary = "a loop nest that shardc compiles";
  let description = [{
    The region holds `linalg`, `tensor` and `arith` operations on its block
    arguments. Kernels with equal regions and layouts share one function.
    Results are row-major, or stored in their `order` (see `exec.library`).

    Example:
    ```mlir
    %y = exec.kernel "relu" (%x = %0 : tensor<4xf32>) -> (tensor<4xf32>) {
      ...
      exec.yield %r : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, Variadic<AnyStaticShapeTensor>:$inputs,
                       OptionalAttr<ArrayAttr>:$order);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::StringAttr":$label,
                                 "::mlir::ValueRange":$inputs), [{
    build($_builder, $_state, results, label, inputs, ::mlir::ArrayAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["KernelOp", "RunOp", "ComputeOp", "ScanOp", "ScatterOp"]>]> {
  let summary = "the results of a kernel, or of one iteration";
  let arguments = (ins Variadic<AnyTypeOf<[AnyStaticShapeTensor, AnyFloat, AnySignlessInteger, Index]>>:$results);
  let builders = [OpBuilder<(ins), [{ /* no results */ }]>];
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

def Exec_IotaOp : Exec_Op<"iota", [Pure]> {
  let summary = "the numbers of a tensor's elements, in row-major order from 0";
  let description = [{
    Stands in a kernel's region and needs no memory: a nest that reads an element
    computes its number from its loops, whatever strides it reads with.
  }];
  let results = (outs StaticShapeTensorOf<[AnySignlessInteger]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Exec_ScanOp : Exec_Op<"scan", [Pure, SingleBlock]> {
  let summary = "what a loop carries, at each of its iterations";
  let description = [{
    Stands in a kernel's region. All tensors have one shape. Along `dimension`,
    forwards or in `reverse`, the body gets an element of each input and what it
    yielded for the element before, `starts` at first; the results are what it
    yields.

    Example:
    ```mlir
    %y = exec.scan %x along 1 from [0.0 : f32] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%element: f32, %sum: f32):
      %0 = arith.addf %sum, %element : f32
      exec.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs, I64Attr:$dimension,
                       ArrayAttr:$starts, UnitAttr:$reverse);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs `along` $dimension (`reverse` $reverse^)? `from` $starts attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Exec_ScatterOp : Exec_Op<"scatter", [Pure, SingleBlock, AllTypesMatch<["whole", "result"]>]> {
  let summary = "a whole, changed one element after the other at computed places";
  let description = [{
    Stands in a kernel's region. There is an iteration for each element of the
    first input, in row-major order; further inputs have as many dimensions and
    are nowhere smaller. `loops` says for each dimension of the whole which loop
    its index is, or -1 where the body computes it. The body gets an element of
    each input and the whole's element at its place, and yields the computed
    indices and the new element. Indices do not depend on the whole's element;
    they are held inside the whole.

    Example: `result[index[i, j], j] += source[i, j]`.
    ```mlir
    %r = exec.scatter %index, %source into %whole at [-1, 1] : tensor<4x8xi64>, tensor<4x8xf32> into tensor<3x8xf32> {
    ^bb0(%i: i64, %element: f32, %before: f32):
      %row = arith.index_cast %i : i64 to index
      %sum = arith.addf %before, %element : f32
      exec.yield %row, %sum : index, f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs, AnyStaticShapeTensor:$whole,
                       DenseI64ArrayAttr:$loops);
  let results = (outs AnyStaticShapeTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs `into` $whole `at` $loops attr-dict `:` type($inputs) `into` type($whole) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The body's operations, without the terminator, that do not depend on the
    /// whole's element, and those that do. Computed indices need the first alone.
    void partition(::llvm::SmallVectorImpl<::mlir::Operation *> &independent,
                   ::llvm::SmallVectorImpl<::mlir::Operation *> &dependent);
  }];
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
    the offset is relative to the first element of `source`. Unsigned integers may become
    signed ones of the same bits, and the reverse.
  }];
  let arguments = (ins AnyStaticShapeTensor:$source, I64Attr:$offset, DenseI64ArrayAttr:$strides);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$source `offset` $offset `strides` $strides attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Memory of one rank: static shapes and strides, and no offset.
defvar Exec_Memory = AnyStaticShapeMemRef;

/// Memory that exists for the whole run, declared beside the programs.
class Exec_DeclarationOp<string mnemonic, dag specific, Type type = Exec_Memory> : Exec_Op<mnemonic,
    [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = specific;
  let results = (outs type:$memory);
}

def Exec_StateOp : Exec_DeclarationOp<"state",
    (ins StrAttr:$name, Exec_Role:$role, OptionalAttr<StrAttr>:$key, OptionalAttr<I64Attr>:$segment)> {
  let summary = "memory of one rank that lives across steps";
  let description = [{
    `parameter` and `gradient` belong to a segment and hold this rank's shard;
    so does what an `optimizer` keeps under `key`, or it is the same on every
    rank; a `buffer` is the model's; a `metric` is read by the runtime after each
    step. The artifact numbers states in order.
  }];
  let assemblyFormat = "$name $role ($key^)? (`segment` $segment^)? attr-dict `:` type($memory)";
  let extraClassDeclaration = [{
    /// What it is: its role, or the key of what an optimizer keeps.
    llvm::StringRef getKind() {
      return getKey() ? *getKey() : stringifyRole(getRole());
    }
  }];
}

def Exec_InputOp : Exec_DeclarationOp<"input",
    (ins StrAttr:$name, OptionalAttr<I64Attr>:$upper_bound, OptionalAttr<I64Attr>:$ignore_index,
         UnitAttr:$shifted)> {
  let summary = "one input of the step, a micro-batch of one rank";
  let description = [{
    Integers are in [0, `below`), or equal to `ignore`. A `shifted` target is
    compared with the prediction one position before.
  }];
  let assemblyFormat = "$name (`below` $upper_bound^)? (`ignore` $ignore_index^)? (`shifted` $shifted^)? attr-dict `:` type($memory)";
}

def Exec_ScalarOp : Exec_DeclarationOp<"scalar",
    (ins StrAttr:$name), MemRefRankOf<[F64, I64], [0]>> {
  let summary = "a number that the run gives";
  let description = [{
    `name` and element type are those that `fsdp.scalar` has, or `micro_batch` in
    i64: the number of the running micro-batch on this rank, from 0.
  }];
  let assemblyFormat = "$name attr-dict `:` type($memory)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Which number it is.
    ::shardc::format::Scalar getKind();
  }];
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SingleBlock, NoTerminator]> {
  let summary = "a training step, and an evaluation, in sections";
  let description = [{
    `arena` has the bytes of the arena when its buffers have places, `events` how
    many events there are, and `reuse_waits` how many waits only serve buffers that
    have bytes of earlier ones. With `serial_reductions` what writes the input of a
    reduce-scatter waits for the one before, as FSDP2 does.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$streams, UnitAttr:$serial_reductions,
                       OptionalAttr<I64Attr>:$arena, DefaultValuedAttr<I64Attr, "0">:$events,
                       DefaultValuedAttr<I64Attr, "0">:$reuse_waits);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `streams` $streams (`serial_reductions` $serial_reductions^)? (`arena` $arena^)? (`events` $events^)? (`reuse_waits` $reuse_waits^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Exec_SectionOp : Exec_Op<"section", [HasParent<"ProgramOp">, SingleBlock, NoTerminator]> {
  let summary = "commands that run together, in issue order";
  let description = [{
    A training step, or an evaluation, runs its sections one after the other, each
    as often as `repeat` says: once, or for micro-batches; all of them, or the only,
    the first, the middle and the last ones, or the initial one and all later ones. With `if` a section runs where the
    state, one i1, is true when it would begin. Streams are joined between sections,
    and nothing in the arena outlives one. An evaluation changes metrics alone.

    Example:
    ```mlir
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer : memref<16xf32>
      exec.fill %0 : memref<16xf32> on 0
    }
    exec.section "update" if %all_finite : memref<i1> {
      ...
    }
    exec.section "evaluate" run evaluation repeat micro_batches {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       DefaultValuedAttr<Exec_RunKind, "RunKind::training">:$run,
                       DefaultValuedAttr<Exec_Repeat, "Repeat::once">:$repeat,
                       Optional<MemRefRankOf<[I1], [0, 1]>>:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name (`run` $run^)? (`repeat` $repeat^)? (`if` $condition^ `:` type($condition))? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Exec_BufferOp : Exec_Op<"buffer", [HasParent<"SectionOp">]> {
  let summary = "memory of one rank that commands use for a while";
  let description = [{
    `at` is its first byte in the arena, once it has a place. Buffers that are not
    in use at the same time may share bytes.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Exec_Memory, "", [MemAlloc]>:$memory);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($memory)";
}

def Exec_PartOp : Exec_Op<"part", [Pure, HasParent<"SectionOp">]> {
  let summary = "a strided tensor in memory that somebody else declares";
  let description = [{
    The first element is `offset` elements after the first one of `whole`, and
    moves on by a stride with the rank's coordinate on an axis of the mesh: so a
    rank names its own slot of a gathered buffer.

    Example:
    ```mlir
    %w = exec.part %gathered[64] : memref<1024xf32> -> memref<16x32xf32>
    %slot = exec.part %gathered[0 + shard * 512] : memref<1024xf32> -> memref<512xf32>
    ```
  }];
  let arguments = (ins Exec_Memory:$whole, I64Attr:$offset,
                       OptionalAttr<DictionaryAttr>:$strides);
  let results = (outs Exec_Memory:$memory);
  let assemblyFormat = "$whole `[` custom<Address>($offset, $strides) `]` attr-dict `:` type($whole) `->` type($memory)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// A command on `stream`; it waits for `waits` before and records `records`
/// after.
class Exec_CommandOp<string mnemonic, dag specific, list<Trait> traits = []> : Exec_Op<mnemonic,
    traits # [HasParent<"SectionOp">, DeclareOpInterfaceMethods<Exec_CommandInterface>]> {
  let arguments = !con(specific, (ins I64Attr:$stream,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$waits, OptionalAttr<I64Attr>:$records));
  string suffix = "`on` $stream (`waits` $waits^)? (`records` $records^)? attr-dict";
}

/// What is read and what is written, of any number.
defvar Exec_InputsAndOutputs = (ins
    Arg<Variadic<Exec_Memory>, "", [MemRead]>:$inputs,
    Arg<Variadic<Exec_Memory>, "", [MemWrite]>:$outputs);

def Exec_RunOp : Exec_CommandOp<"run", !con((ins StrAttr:$label), Exec_InputsAndOutputs), [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<Exec_KernelInterface>]> {
  let summary = "runs a kernel that has no function yet";
  let description = [{
    The region is an `exec.kernel`'s. An output that is an input too is written
    over it.

    Example:
    ```mlir
    exec.run "relu" (%x : memref<4xf32>) -> (%y : memref<4xf32>) on 0 {
    ^bb0(%in: tensor<4xf32>):
      ...
      exec.yield %r : tensor<4xf32>
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label custom<Typed>($inputs, type($inputs)) `->` custom<Typed>($outputs, type($outputs))"
      "`on` $stream (`waits` $waits^)? (`records` $records^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Exec_ComputeOp : Exec_Op<"compute", [HasParent<"SectionOp">, AttrSizedOperandSegments,
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "says what the launches after it compute";
  let description = [{
    The next `launches` launches compute the region, which is a kernel's, of what
    `inputs` hold before the first of them, and leave its results in `outputs`.
    It is no command, and no artifact has it: the reference interpreter executes
    it in place of the launches, and compiled code is held against it.
    `shardc-outline-kernels` writes it when it is asked to.

    Example:
    ```mlir
    exec.compute "relu" launches 1 (%x : memref<4xf32>) -> (%y : memref<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      ...
      exec.yield %r : tensor<4xf32>
    }
    exec.launch @kernel_relu "relu" extent 1 (%x : memref<4xf32>, write %y : memref<4xf32>) on 0
    ```
  }];
  let arguments = !con((ins StrAttr:$label, I64Attr:$launches), Exec_InputsAndOutputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label `launches` $launches custom<Typed>($inputs, type($inputs)) `->` custom<Typed>($outputs, type($outputs)) attr-dict-with-keyword $body";
}

def Exec_LaunchOp : Exec_CommandOp<"launch",
    (ins FlatSymbolRefAttr:$kernel, StrAttr:$label, I64Attr:$extent,
         Variadic<Exec_Memory>:$arguments, DenseI32ArrayAttr:$accesses),
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "runs iterations [0, extent) of a kernel";
  let description = [{
    The arguments are in the order of the function's pointers. One is read unless
    it says `write` or `read_write`. A launch does not look at what was in an
    argument that it writes, though it may leave some of that as it is.
  }];
  let assemblyFormat = "$kernel $label `extent` $extent custom<Accessed>($arguments, type($arguments), $accesses) " # suffix;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the launch does with argument `number`.
    Access getAccess(unsigned number) {
      return static_cast<Access>(getAccesses()[number]);
    }
  }];
}

def Exec_CallOp : Exec_CommandOp<"call",
    !con((ins StrAttr:$call, DictionaryAttr:$settings), Exec_InputsAndOutputs,
         (ins Arg<Optional<Exec_Memory>, "", [MemWrite]>:$workspace)),
    [AttrSizedOperandSegments]> {
  let summary = "calls an existing engine";
  let description = [{
    `workspace` is memory that the engine writes before it reads it, and that
    nobody reads after it: bytes whose content is undefined before and after.

    Example:
    ```mlir
    exec.call "matmul" (%a : memref<4x8xf32>, %b : memref<8x2xf32>) -> (%c : memref<4x2xf32>) {} workspace %w : memref<1024xi8> on 0
    ```
  }];
  let assemblyFormat = "$call custom<Typed>($inputs, type($inputs)) `->` custom<Typed>($outputs, type($outputs)) $settings (`workspace` $workspace^ `:` type($workspace))? " # suffix;
}

/// A command in which ranks exchange something: those that differ on `axes` of
/// the mesh alone, its members, in the order of their numbers. All collectives
/// over the same axes on one stream are one communicator's.
class Exec_CollectiveOp<string mnemonic, dag specific> : Exec_CommandOp<mnemonic,
    !con(specific, (ins StrArrayAttr:$axes)),
    [DeclareOpInterfaceMethods<Exec_CollectiveInterface>]> {
  string over = "`over` $axes " # suffix;
}

def Exec_AllGatherOp : Exec_CollectiveOp<"all_gather",
    (ins FlatSymbolRefAttr:$group, Arg<Exec_Memory, "", [MemRead, MemWrite]>:$buffer, I64Attr:$slot)> {
  let summary = "gathers every member's slot of `slot` bytes, in place";
  let assemblyFormat = "$group $buffer `:` type($buffer) `slot` $slot " # over;
}

def Exec_ReduceScatterOp : Exec_CollectiveOp<"reduce_scatter",
    (ins FlatSymbolRefAttr:$group, Arg<Exec_Memory, "", [MemRead]>:$buffer,
         Arg<Exec_Memory, "", [MemRead, MemWrite]>:$output,
         Arg<Optional<Exec_Memory>, "", [MemRead]>:$micro_batch)> {
  let summary = "adds every member's part for this rank to `output`, in order";
  let description = "Where the number of the `micro_batch` is 0 the first member's part replaces `output`: nothing has to fill it.";
  let assemblyFormat = "$group $buffer `:` type($buffer) `->` $output `:` type($output) (`first_at` $micro_batch^ `:` type($micro_batch))? " # over;
}

def Exec_AllReduceOp : Exec_CollectiveOp<"all_reduce",
    (ins Arg<Exec_Memory, "", [MemRead, MemWrite]>:$buffer, UnitAttr:$double_double)> {
  let summary = "sums a buffer over members, in order, in place";
  let assemblyFormat = "$buffer `:` type($buffer) (`double_double` $double_double^)? " # over;
}

def Exec_CopyOp : Exec_CommandOp<"copy",
    (ins Arg<Exec_Memory, "", [MemRead]>:$source, Arg<Exec_Memory, "", [MemWrite]>:$target)> {
  let summary = "copies contiguous bytes";
  let assemblyFormat = "$source `:` type($source) `->` $target `:` type($target) " # suffix;
}

def Exec_FillOp : Exec_CommandOp<"fill", (ins Arg<Exec_Memory, "", [MemWrite]>:$target)> {
  let summary = "sets contiguous bytes to zero";
  let assemblyFormat = "$target `:` type($target) " # suffix;
}

#endif // SHARDC_DIALECTS_EXEC_EXECOPS
