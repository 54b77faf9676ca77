//===- FsdpOps.td - Operations of the fsdp dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations (mesh, parameter, buffer, group), modules and their state, then
// the sharded forms and the asynchronous forms.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDPOPS
#define SHARDC_DIALECTS_FSDP_FSDPOPS

include "dialects/Fsdp/FsdpAttrs.td"
include "dialects/Fsdp/FsdpTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

/// Results are named after the model, so that dumps read like it.
defvar Fsdp_NamedResults =
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

class Fsdp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Fsdp_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

def Fsdp_ParameterOp : Fsdp_Op<"parameter", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a trainable (or frozen) tensor of the model";
  let description = [{
    The symbol is the fully qualified name in the state dict. `aliases` lists
    further names of the same (tied) tensor. The type is the master type that
    the optimizer updates.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
      DefaultValuedAttr<StrArrayAttr, "{}">:$aliases, UnitAttr:$frozen);
  let assemblyFormat = "(`frozen` $frozen^)? $sym_name (`aliases` $aliases^)? attr-dict `:` $type";
}

def Fsdp_BufferOp : Fsdp_Op<"buffer", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a tensor of the model that is not trained";
  let description = [{
    Buffers are never cast, never sharded and never reduced with gradients.
    `aliases` lists the other names of a tied one. A running variance says which
    buffer has the mean that it is around, so that ranks' can be merged. One that
    is `non_persistent` is in no state dict, as are tensors that PyTorch took for
    constants. What forward writes may be made the same on all ranks by `sync`.
    A `parameter` is one that is not trained and that forward writes, such as a
    momentum encoder's: what the model computes with it follows the policy.

    Example: `fsdp.buffer parameter @target.weight : tensor<8x8xf32>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
      DefaultValuedAttr<StrArrayAttr, "{}">:$aliases, OptionalAttr<FlatSymbolRefAttr>:$mean,
      UnitAttr:$non_persistent, OptionalAttr<Fsdp_BufferSync>:$sync,
      UnitAttr:$parameter);
  let assemblyFormat = "(`non_persistent` $non_persistent^)? (`parameter` $parameter^)? $sym_name (`aliases` $aliases^)? (`around` $mean^)? (`sync` $sync^)? attr-dict `:` $type";
}

def Fsdp_MeshOp : Fsdp_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the ranks, arranged along named axes";
  let description = [{
    Ranks are numbered with the last axis fastest. Parameters are the same along
    the axis `replicate` of HSDP, and are divided over all others: `shard`, and
    `within_4` where some group is resharded to 4 ranks, which are the last axes'.

    Example: `fsdp.mesh @mesh <replicate = 2, shard = 2, within_4 = 4>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes);
  let assemblyFormat = "$sym_name custom<Axes>($axes, $sizes) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral shardAxis = "shard";
    static constexpr ::llvm::StringLiteral replicateAxis = "replicate";

    /// The number of the axis of that name, if there is one.
    std::optional<unsigned> findAxis(::llvm::StringRef name);
    /// How many ranks there are, and how many shards a parameter has.
    int64_t getRanks();
    int64_t getShards();
    /// The axes that parameters are divided over, and those that they are not,
    /// which gradients are summed over too.
    ::llvm::SmallVector<::llvm::StringRef> getShardAxes();
    ::llvm::SmallVector<::llvm::StringRef> getReplicaAxes();
    /// The last axes that have `ranks` together; none where there are none.
    ::llvm::SmallVector<::llvm::StringRef> getLastAxes(int64_t ranks);
  }];
}

def Fsdp_GroupOp : Fsdp_Op<"group", [Symbol, HasParent<"::mlir::ModuleOp">,
    SingleBlock, NoTerminator]> {
  let summary = "parameters that are gathered and reduced together";
  let description = [{
    The body holds `member`s, and after the shard phase `segment`s of members.
    `reshard always to 4` keeps the group among 4 ranks after forward, so that
    the gather of backward crosses no more. With a `gradient_divide_factor` sums of
    gradients over ranks are divided by it and not by the number of ranks.

    Example:
    ```mlir
    fsdp.group @layers.0 on @mesh policy <param = bf16, reduce = f32> reshard default {
      fsdp.member @layers.0.fc.weight
      fsdp.member @layers.0.bn.weight keep f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh,
      Fsdp_Policy:$policy, Fsdp_Reshard:$reshard, OptionalAttr<I64Attr>:$reshard_to,
      OptionalAttr<F64Attr>:$gradient_divide_factor);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $mesh `policy` $policy `reshard` $reshard (`to` $reshard_to^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The reshard policy as users write it: "always", "4".
    std::string describeReshard();
  }];
}

def Fsdp_MemberOp : Fsdp_Op<"member", [ParentOneOf<["GroupOp", "SegmentOp"]>]> {
  let summary = "one parameter of a group";
  let description = [{
    `keep` fixes the dtype that the parameter is gathered in against the group's
    policy. `at` is the offset, in elements, in the flat segment. `with` is what
    the parameter's update has of its own: `weight_decay`, `lr_scale`, which the
    learning rate is multiplied by, and `optimizer`, by name.
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<TypeAttr>:$keep,
      OptionalAttr<DictionaryAttr>:$hyperparameters, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$parameter (`keep` $keep^)? (`with` $hyperparameters^)? (`at` $offset^)? attr-dict";
}

def Fsdp_SegmentOp : Fsdp_Op<"segment", [HasParent<"GroupOp">, SingleBlock, NoTerminator]> {
  let summary = "members of one dtype and one update, end to end in one flat buffer";
  let description = [{
    `elements` counts the whole flat buffer with padding; rank r owns elements
    [r * shard, (r + 1) * shard). `dtype` is the gathered element type and
    `reduce` the one that gradients are reduced in, `gradient` the one that
    their sums are kept in, where that is narrower than f32, or f64 for parameters
    of f64. A `frozen` segment has no gradient and is not updated. `with` is what its members have in common.
  }];
  let arguments = (ins TypeAttr:$dtype, TypeAttr:$reduce, OptionalAttr<TypeAttr>:$gradient,
      I64Attr:$elements, I64Attr:$shard,
      UnitAttr:$frozen, OptionalAttr<DictionaryAttr>:$hyperparameters);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`frozen` $frozen^)? $dtype `reduce` $reduce (`gradient` $gradient^)? `elements` $elements `shard` $shard (`with` $hyperparameters^)? attr-dict-with-keyword $body";
}

//===----------------------------------------------------------------------===//
// Modules and state
//===----------------------------------------------------------------------===//

def Fsdp_ModuleOp : Fsdp_Op<"module",
    [SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove, RecursiveMemoryEffects,
     Fsdp_NamedResults]> {
  let summary = "one call of an nn.Module";
  let description = [{
    The region computes the module's forward on the block arguments. `path` is
    the fully qualified name and `type` the Python class; `call` counts further
    calls of the same module. A module that is its own communication group names
    it.
  }];
  let arguments = (ins StrAttr:$path, StrAttr:$type, DefaultValuedAttr<I64Attr, "0">:$call,
      OptionalAttr<FlatSymbolRefAttr>:$group, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the input of that number is not an argument of the call: only
    /// captures use it, here or in modules inside.
    bool isCaptured(unsigned input);
    /// Whether only captures use the result of that number.
    bool isResultCaptured(unsigned result);
  }];
}

def Fsdp_YieldOp : Fsdp_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["ModuleOp", "UpdateOp"]>]> {
  let summary = "the outputs of a module or an update";
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins), [{ /* no results */ }]>];
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
}

def Fsdp_ReadOp : Fsdp_Op<"read", [MemoryEffects<[MemRead]>, Fsdp_NamedResults]> {
  let summary = "the value of a parameter, a buffer or an optimizer's state";
  let description = [{
    For a parameter the element type is the dtype it is gathered in (after the
    precision phase possibly narrower than the parameter's).
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$symbol attr-dict `:` type($result)";
}

def Fsdp_WriteOp : Fsdp_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "the new value of a buffer, a parameter or an optimizer's state";
  let description = [{
    A parameter that forward changes has its new value from the update part on,
    where the optimizer's step starts from it: all micro-batches of a step see
    the same old one.

    Example: `fsdp.write %1, @head.weight : tensor<4x8xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, FlatSymbolRefAttr:$symbol);
  let assemblyFormat = "$value `,` $symbol attr-dict `:` type($value)";
}

def Fsdp_CaptureOp : Fsdp_Op<"capture", [Pure, AllTypesMatch<["value", "result"]>,
    Fsdp_NamedResults]> {
  let summary = "a tensor that a module reaches other than as an argument";
  let description = [{
    The value itself. An input of a module that only captures use is not one of
    the arguments that the module was called with, so that no boundary casts it:
    a buffer that was written earlier in the step and is read again (`of` names
    it), a tensor that another module keeps in an attribute.

    Example: `%1 = fsdp.capture %0 of @norm.running_mean : tensor<8xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, OptionalAttr<FlatSymbolRefAttr>:$buffer);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value (`of` $buffer^)? attr-dict `:` type($value)";
}

def Fsdp_CastOp : Fsdp_Op<"cast", [Pure]> {
  let summary = "a change of dtype at a module's boundary";
  let description = [{
    Made by the precision phase from a policy; `aten.to` is what the model's
    author wrote.
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Fsdp_Boundary:$boundary);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `at` $boundary attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// One program for every rank
//===----------------------------------------------------------------------===//

def Fsdp_BeginOp : Fsdp_Op<"begin"> {
  let summary = "a part of the training step begins here";
  let description = [{
    `forward` and `backward` run once a micro-batch, then `check`, if there is one,
    and `update` once a step; with `if`, where that state is true when the part would
    begin. No operation may move across a `begin` except a gather or a reduction
    that the schedule phase moves deliberately.

    Example: `fsdp.begin update if @"optimizer#all_finite"`
  }];
  let arguments = (ins Fsdp_Phase:$phase, OptionalAttr<FlatSymbolRefAttr>:$condition);
  let builders = [OpBuilder<(ins "::shardc::fsdp::Phase":$phase), [{
    build($_builder, $_state, phase, ::mlir::FlatSymbolRefAttr());
  }]>];
  let assemblyFormat = "$phase (`if` $condition^)? attr-dict";
}

def Fsdp_UnshardOp : Fsdp_Op<"unshard", [MemoryEffects<[MemRead]>, Fsdp_NamedResults]> {
  let summary = "makes a group whole: casts this rank's shard and all-gathers";
  let description = "With `from`, gathers what few ranks have retained.";
  let arguments = (ins FlatSymbolRefAttr:$group, Optional<Fsdp_Retained>:$retained);
  let results = (outs Fsdp_Unsharded:$result);
  let assemblyFormat = "$group (`from` $retained^ `as` type($retained))? attr-dict `:` type($result)";
}

def Fsdp_RetainOp : Fsdp_Op<"retain", [Pure]> {
  let summary = "copies this rank's part of a whole group, which is about to be resharded";
  let description = [{
    Of the whole group, ranks that differ on the last axes of the mesh alone keep
    equal parts, in order; the group's `to` says how many ranks.

    Example: `%k = fsdp.retain %g : !fsdp.unsharded<@g> -> !fsdp.retained<@g>`
  }];
  let arguments = (ins Fsdp_Unsharded:$unsharded);
  let results = (outs Fsdp_Retained:$result);
  let assemblyFormat = "$unsharded attr-dict `:` type($unsharded) `->` type($result)";
}

def Fsdp_ViewOp : Fsdp_Op<"view", [Pure, Fsdp_NamedResults]> {
  let summary = "one parameter in a whole group; no bytes move";
  let arguments = (ins Fsdp_Unsharded:$unsharded, FlatSymbolRefAttr:$parameter);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$unsharded `[` $parameter `]` attr-dict `:` type($unsharded) `->` type($result)";
}

class Fsdp_ReductionOp<string mnemonic, list<Trait> traits = []> : Fsdp_Op<mnemonic, traits> {
  let arguments = (ins FlatSymbolRefAttr:$group, UnitAttr:$once, ArrayAttr:$parameters,
      Variadic<AnyStaticShapeTensor>:$gradients);
  let assemblyFormat = "$group (`once` $once^)? $parameters `(` $gradients `)` attr-dict `:` functional-type($gradients, $result)";
  let hasVerifier = 1;
}

def Fsdp_ReduceScatterOp : Fsdp_ReductionOp<"reduce_scatter"> {
  let summary = "sums gradients over ranks and micro-batches into this rank's shard";
  let description = [{
    The dual of `unshard`. `parameters` names the member that each gradient
    belongs to; a member without a gradient contributes zeros. Adds rank by
    rank, in rank order, to the shard's accumulator in f32, or f64 for parameters
    of f64; to a narrower one the sum of the ranks at once. The mean over ranks and
    micro-batches is taken where the gradient is used.

    `once`: only in the last micro-batch of a step. Until then each rank adds up
    whole gradients, in the dtype that they are reduced in.

    Example: `%0 = fsdp.reduce_scatter @root [@w, @b] (%dw, %db) : (tensor<4xf32>, tensor<f32>) -> !fsdp.shard<@root>`
  }];
  let results = (outs Fsdp_Shard:$result);
}

def Fsdp_AllReduceOp : Fsdp_Op<"all_reduce", [AllTypesMatch<["shard", "result"]>]> {
  let summary = "sums gradients over the ranks that have the same shard";
  let description = [{
    Once a step, after the last micro-batch: until then gradients add up on each
    rank of `axes` by itself. Adds in the order of the ranks' numbers, in the
    accumulator's dtype.

    Example: `%1 = fsdp.all_reduce %0 over ["replicate"] : !fsdp.shard<@root>`
  }];
  let arguments = (ins Fsdp_Shard:$shard, StrArrayAttr:$axes);
  let results = (outs Fsdp_Shard:$result);
  let assemblyFormat = "$shard `over` $axes attr-dict `:` type($shard)";
  let hasVerifier = 1;
}

def Fsdp_SumOverRanksOp : Fsdp_Op<"sum_over_ranks", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "sums a tensor over all ranks, which all get";
  let description = [{
    In the order of the ranks, in the tensor's dtype. The dual is itself: the sum of
    all ranks' gradients.

    Example: `%1 = fsdp.sum_over_ranks %0 : tensor<1x64x1x1xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Fsdp_BroadcastOp : Fsdp_Op<"broadcast", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "gives all ranks what the first one has";
  let arguments = (ins AnyStaticShapeTensor:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Fsdp_RecordLossOp : Fsdp_Op<"record_loss"> {
  let summary = "adds this micro-batch's loss to the step's loss";
  let arguments = (ins AnyStaticShapeTensor:$loss);
  let assemblyFormat = "$loss attr-dict `:` type($loss)";
}

def Fsdp_GradientNormOp : Fsdp_Op<"gradient_norm"> {
  let summary = "sums the squares of all gradients over all ranks";
  let description = [{
    The result is the sum in two parts, the second smaller than the first one's
    rounding. The runtime reports its root.
  }];
  let arguments = (ins Variadic<Fsdp_Shard>:$gradients);
  let results = (outs TensorOf<[F64]>:$squares);
  let assemblyFormat = "$gradients attr-dict `:` functional-type($gradients, $squares)";
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

def Fsdp_StateOp : Fsdp_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "what the optimizer keeps from step to step";
  let description = [{
    With `of`, one tensor like the shard of that segment, as `read_shard` has
    it; without, one that is the same on every rank. All are zero before the
    first step. `key` says what it is, as torch.optim's state does.

    Example:
    ```mlir
    fsdp.state @"h.0#0.exp_avg" "exp_avg" of @h.0[0] : tensor<1024xf32>
    fsdp.state @"optimizer#bias_correction1" "bias_correction1" : tensor<f64>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$key,
      OptionalAttr<FlatSymbolRefAttr>:$group, OptionalAttr<I64Attr>:$segment,
      TypeAttrOf<AnyStaticShapeTensor>:$type);
  let extraClassDeclaration = [{
    /// The key of what this step's gradients are scaled by, where they are.
    static constexpr ::llvm::StringLiteral lossScaleKey = "loss_scale";
  }];
  let assemblyFormat = "$sym_name $key (`of` $group^ `[` $segment `]`)? attr-dict `:` $type";
}

def Fsdp_ScalarOp : Fsdp_Op<"scalar", [Pure, Fsdp_NamedResults]> {
  let summary = "a number that the run gives";
  let description = [{
    In f64 the `learning_rate`, the number of `micro_batches` of each rank in a
    step, and the `weight_decay_scale`, which weight decays are multiplied by; in
    i64 the `seed`, the `step`, counted from 0, the `slice` of the step's samples
    that this micro-batch of this rank is (`runtime/session/SampleOrder.h`), the
    number of the `shard` that this rank has of each segment, and how many `ranks`
    there are.
  }];
  let arguments = (ins Fsdp_Scalar:$name);
  let results = (outs 0DTensorOf<[F64, I64]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Fsdp_ReadShardOp : Fsdp_Op<"read_shard", [MemoryEffects<[MemRead]>]> {
  let summary = "this rank's shard of the parameters of a group's segment";
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$segment);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$group `[` $segment `]` attr-dict `:` type($result)";
}

def Fsdp_WriteShardOp : Fsdp_Op<"write_shard", [MemoryEffects<[MemWrite]>]> {
  let summary = "the new value of this rank's shard of a segment";
  let arguments = (ins AnyStaticShapeTensor:$value, FlatSymbolRefAttr:$group, I64Attr:$segment);
  let assemblyFormat = "$value `,` $group `[` $segment `]` attr-dict `:` type($value)";
}

def Fsdp_GradientOp : Fsdp_Op<"gradient", [MemoryEffects<[MemRead]>]> {
  let summary = "this rank's gradients of a segment, summed over ranks and micro-batches";
  let description = "In f32, or f64 for parameters of f64, or the segment's `gradient`.";
  let arguments = (ins Fsdp_Shard:$shard, I64Attr:$segment);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$shard `[` $segment `]` attr-dict `:` type($shard) `->` type($result)";
}

def Fsdp_UpdateOp : Fsdp_Op<"update",
    [SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove, Pure]> {
  let summary = "what an optimizer makes of one shard";
  let description = [{
    The region computes the new parameters and states from the old ones, the
    gradients and the numbers of the step, element by element: one kernel
    follows from it.

    Example:
    ```mlir
    %new = fsdp.update "sgd" (%p = %0 : tensor<8xf32>, %g = %1 : tensor<8xf32>, %lr = %2 : tensor<f32>) -> tensor<8xf32> {
      %3 = aten.mul %g, %lr : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
      %4 = aten.sub %p, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      fsdp.yield %4 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$optimizer, Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Fsdp_GatherShardOp : Fsdp_Op<"gather_shard", [Pure]> {
  let summary = "makes the members of a segment whole from all ranks' shards";
  let description = [{
    `shard` is like the shard of that segment: its place in the segment says which
    element of which member each of its elements is. All ranks get all members, in
    the order of the segment.

    Example:
    ```mlir
    %0:2 = fsdp.gather_shard %d of @h.0[0] : tensor<32xbf16> -> tensor<4x8xbf16>, tensor<8x4xbf16>
    %1 = fsdp.take_shard %0#0, %0#1 of @h.0[0] : tensor<4x8xbf16>, tensor<8x4xbf16> -> tensor<32xbf16>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$shard, FlatSymbolRefAttr:$group, I64Attr:$segment);
  let results = (outs Variadic<AnyStaticShapeTensor>:$members);
  let assemblyFormat = "$shard `of` $group `[` $segment `]` attr-dict `:` type($shard) `->` type($members)";
}

def Fsdp_TakeShardOp : Fsdp_Op<"take_shard", [Pure]> {
  let summary = "this rank's shard of a tensor for each member of a segment";
  let description = "The dual of `gather_shard`: no bytes cross ranks. Padding is 0.";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$members, FlatSymbolRefAttr:$group, I64Attr:$segment);
  let results = (outs AnyStaticShapeTensor:$shard);
  let assemblyFormat = "$members `of` $group `[` $segment `]` attr-dict `:` type($members) `->` type($shard)";
}

//===----------------------------------------------------------------------===//
// Ordered and asynchronous
//===----------------------------------------------------------------------===//

def Fsdp_UnshardStartOp : Fsdp_Op<"unshard_start", [MemoryEffects<[MemRead]>]> {
  let summary = "starts to make a group whole";
  let arguments = (ins FlatSymbolRefAttr:$group, Optional<Fsdp_Retained>:$retained,
      Fsdp_Stream:$stream);
  let results = (outs Fsdp_Pending:$result);
  let assemblyFormat = "$group (`from` $retained^ `as` type($retained))? `on` $stream attr-dict `:` type($result)";
}

def Fsdp_ReduceScatterStartOp : Fsdp_ReductionOp<"reduce_scatter_start"> {
  let summary = "starts to sum gradients into this rank's shard";
  let arguments = (ins FlatSymbolRefAttr:$group, UnitAttr:$once, ArrayAttr:$parameters,
      Variadic<AnyStaticShapeTensor>:$gradients, Fsdp_Stream:$stream);
  let results = (outs Fsdp_Pending:$result);
  let assemblyFormat = "$group (`once` $once^)? $parameters `(` $gradients `)` `on` $stream attr-dict `:` functional-type($gradients, $result)";
}

def Fsdp_AllReduceStartOp : Fsdp_Op<"all_reduce_start", [AllTypesMatch<["reduced", "result"]>]> {
  let summary = "starts to sum what a reduction leaves in ranks' shards";
  let arguments = (ins Fsdp_Pending:$reduced, StrArrayAttr:$axes, Fsdp_Stream:$stream);
  let results = (outs Fsdp_Pending:$result);
  let assemblyFormat = "$reduced `over` $axes `on` $stream attr-dict `:` type($reduced)";
  let hasVerifier = 1;
}

def Fsdp_WaitOp : Fsdp_Op<"wait", [Fsdp_NamedResults]> {
  let summary = "the value of a collective that was started";
  let description = "The result is `!fsdp.unsharded` of a gather and `!fsdp.shard` of a reduction.";
  let arguments = (ins Fsdp_Pending:$pending);
  let results = (outs AnyTypeOf<[Fsdp_Unsharded, Fsdp_Shard]>:$result);
  let assemblyFormat = "$pending attr-dict `:` type($pending) `->` type($result)";
}

def Fsdp_ReshardOp : Fsdp_Op<"reshard"> {
  let summary = "frees the whole value of a group";
  let description = "Nothing may use the value, or a view of it, afterwards.";
  let arguments = (ins Fsdp_Unsharded:$unsharded);
  let assemblyFormat = "$unsharded attr-dict `:` type($unsharded)";
}

#endif // SHARDC_DIALECTS_FSDP_FSDPOPS
