//===- Passes.td - The kernel phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From ATen operators to launches: matrix products, convolutions and attention
// become calls of a library, everything else becomes kernels that shardc
// compiles, and views become strides. Collectives and state stay for the memory
// phase.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_PASSES
#define SHARDC_PASSES_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def RequireInputsPass : Pass<"shardc-require-inputs", "::mlir::ModuleOp"> {
  let summary = "Rejects inputs and buffers that an artifact cannot hold.";
  let description = [{
    Every input has elements, and inputs and buffers have dtypes that an artifact
    can hold. What does not is error E0136. Inputs whose first dimensions are equal
    hold one sample for each index of it; with other inputs (a graph's nodes and
    edges, a number for each step) a sample is a whole micro-batch.

    {{example: test/passes/Kernel/require-inputs.mlir @accepted}}
  }];
}

def SetTargetPass : Pass<"shardc-set-target", "::mlir::ModuleOp"> {
  let summary = "Sets the target that the module is compiled for.";
  let description = [{
    The attribute `shardc.target` names an entry of `passes/CostModel/Target.cpp`:
    vectors, threads, memories, the type of sums and the library calls of a
    processor. Passes of this phase and the memory phase take from there what they
    have to know, and refuse a module without it.

    {{example: test/passes/Kernel/set-target.mlir @target}}
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "Target name, such as x86-64-v3 or sm_90.">];
}

def ExpandComplexPass : Pass<"shardc-expand-complex", "::mlir::func::FuncOp"> {
  let summary = "Lowers complex numbers to pairs of real ones.";
  let description = [{
    A complex tensor becomes a real one with a last dimension of 2, so that
    `view_as_complex` and `view_as_real` vanish, operators on shapes keep that
    dimension, and arithmetic is real arithmetic on slices of it. Quotients and
    magnitudes are scaled first: their squares do not overflow. An operator
    without a rule stays, between a `view_as_complex` and a `view_as_real`, and is
    refused with the others that have no kernel.

    {{example: test/passes/Kernel/expand-complex.mlir @rotation}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def WidenIntegersPass : Pass<"shardc-widen-integers", "::mlir::func::FuncOp"> {
  let summary = "Widens arithmetic on 8-bit and 16-bit integers to 32 bits.";
  let description = [{
    Operators on narrow integers become the same ones on i32, of whose results the low
    bits are kept: sums, products and shifts are then those of PyTorch, also where they wrap
    around, and comparisons, orders and quotients are of the numbers themselves. Sorting
    is of i64, as the library has it.
    Unsigned bytes are kept as signed ones of the same bits, which an `exec.view` says; views
    of them are views of these bits. Conversions of signed integers stay.

    {{example: test/passes/Kernel/widen-integers.mlir @unsigned_bytes}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::exec::ExecDialect"];
}

def JoinSlicesPass : Pass<"shardc-join-slices", "::mlir::func::FuncOp"> {
  let summary = "Replaces sums of zero-padded slice gradients by concatenations.";
  let description = [{
    The gradient of a tensor that was split into pieces arrives as a sum of
    zero-padded gradients, one a piece. Where the pieces tile the tensor, the
    sum is their concatenation: each element is written once and no zero is
    added.

    {{example: test/passes/Kernel/join-slices.mlir @three_pieces}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def PadClassesPass : Pass<"shardc-pad-classes", "::mlir::func::FuncOp"> {
  let summary = "Pads the vocabulary dimension to whole cache lines.";
  let description = [{
    Where a linear layer of 1024 classes or more computes the logits of a
    cross-entropy and their rows are no multiple of 16 bytes, as those of GPT-2's
    50,257 classes, further rows of the weight are 0 and their bias is -infinity:
    classes of probability 0, whose gradients are 0. Products and the loss then
    read whole vectors. The weight's gradient, and whatever else reads the logits
    or their gradient, is a slice. Views and conversions may stand between layer
    and loss. Targets without such units, and losses with weights or label
    smoothing, are left alone.

    {{example: test/passes/Kernel/pad-classes.mlir @a_vocabulary}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def SortScattersPass : Pass<"shardc-sort-scatters", "::mlir::func::FuncOp"> {
  let summary = "Lowers scatter-adds of rows to the library call that sorts the indices.";
  let description = [{
    `index_put` with `accumulate`, and `scatter_reduce` of sums whose index is
    the same for a whole row, become the gradient of an embedding on targets that
    sort scatters (GPUs): a kernel adds them in order, one thread for each column.
    Several index tensors are combined to one. What is left: sums of 63 rows or
    fewer, of elements that the library does not take, of an index for each
    element (whose lines are independent), and what is put in place of what was
    there.

    An index that there is not makes the whole result NaN, which the loss shows;
    PyTorch raises.

    {{example: test/passes/Kernel/sort-scatters.mlir @rows_of_a_graph}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def SelectLibrariesPass : Pass<"shardc-select-libraries", "::mlir::func::FuncOp"> {
  let summary = "Maps matrix products, convolutions, attention and scatters to library calls.";
  let description = [{
    A call has the name, the settings and the operands of docs/Format.md. A
    linear layer's leading dimensions are collapsed by a view, its bias becomes
    the product's epilogue. A mask of attention becomes numbers that are added
    to the scores, made once for forward and once for backward. An operator
    whose form or element types the library does not take, or that the target
    has no call for, is left as it is. Libraries have no f16: such an operator's
    call is of f32, between conversions.

    Products of two batches of as many matrices are loop nests on a processor,
    and library calls for CUDA, whose tensor cores no generated kernel uses.

    {{example: test/passes/Kernel/select-libraries.mlir @linear_with_bias}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::exec::ExecDialect"];
}

def RequireKernelsPass : Pass<"shardc-require-kernels", "::mlir::func::FuncOp"> {
  let summary = "Rejects operators that have neither a kernel nor a library call.";
  let description = [{
    Error E0240 names every kind of operator that is left without a library call
    and has no kernel for its form or its element types, with one module path
    each. Operators whose results nothing reads are not computed, and may be of
    any kind.

    {{example: test/passes/Kernel/require-kernels-errors.mlir @all_at_once}}
  }];
}

def FormKernelsPass : Pass<"shardc-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "Lowers each remaining compute operator to one kernel.";
  let description = [{
    The operator's `KernelOpInterface` builds its loop nests as `linalg` in the
    kernel's region. Constants move into the kernels that read them, and results
    that nothing reads are not computed. Elements are computed in f32 (f64 for
    f64) and rounded once; sums of narrower types are accumulated in the
    target's type.

    {{example: test/passes/Kernel/form-kernels.mlir @relu}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::exec::ExecDialect",
      "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
      "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FuseKernelsPass : Pass<"shardc-fuse-kernels", "::mlir::func::FuncOp"> {
  let summary = "Fuses point-wise kernels with adjacent kernels.";
  let description = [{
    Merges a kernel into one that reads its result where one of the two is
    point-wise over the elements that pass between them, so that these are read
    while they are in registers or in cache. A value that something else reads
    too stays a result. A kernel stays in its part of the step (`fsdp.begin`), and
    one that reads a parameter or a buffer is not moved below an operation that
    may free or change it.

    A view between a kernel that computes element by element and its neighbour
    is moved to the other side first. What converts to a wider type is repeated in
    every reader, if all are kernels: reading what is narrow costs less than
    storing what is wide (`passes/Kernel/ElementwiseFusion.h`). Logits in bf16 whose
    loss is in f32 are never stored in f32.

    Then point-wise loop nests inside a kernel are fused into their readers.
    Every intermediate tensor keeps its element type. A long sum may be added in
    another order than in the unfused program, because a fused kernel has other
    launches: both have the same numbers within rounding.

    With `within-operators` kernels merge that one operator of the model became, in forward
    or in backward, and no others: plans for PyTorch's eager mode are made of such programs.

    Remark: `passed` for each merge.

    {{example: test/passes/Kernel/fuse-kernels.mlir @add_into_layer_norm}}
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect",
      "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
      "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"withinOperators", "within-operators", "bool", "false",
      "Fuse only kernels that come from the same model operator.">];
}

def MaterializeViewsPass : Pass<"shardc-materialize-views", "::mlir::func::FuncOp"> {
  let summary = "Lowers views to strides, and to copies only where strides cannot express them.";
  let description = [{
    Each `view`, `permute`, `slice` and `expand` becomes an `exec.view` of the
    storage that its source lives in. Where the source's layout does not allow
    that, or where a library call does not accept the layout, a copy kernel
    comes first. Attention's results are stored in the order in which they are
    read, so that the transposition after attention moves no bytes.

    Where the target's convolutions of 16 bits want an image's channels last
    (GPUs), they get and leave images [N, C, H, W] in the order N, H, W, C. Shapes
    stay; kernels and pooling hand the order on, and what is kept or sent is
    row-major again (`passes/Kernel/Models/ImageOrder.h`, `test/passes/Kernel/channels-last.mlir`).

    Remark: `missed` with the bytes of each copy and why it was made.

    {{example: test/passes/Kernel/materialize-views.mlir @split_heads}}
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect",
      "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SplitReductionsPass : Pass<"shardc-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Splits long reductions with few results into partial sums for threads.";
  let description = [{
    A loss is one number, so its nest has no loop that threads could share. Where
    a reduction has fewer results than the target's threads want and enough
    terms, one of its reduced loops, or parts of it, becomes parallel, and a
    second nest combines what the parts gave: the loop with the longest way in
    memory, or the one with most parts. Shapes, layouts and the target decide, so
    that the bits do not depend on threads.

    {{example: test/passes/Kernel/split-reductions.mlir @loss}}
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect",
      "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
      "::mlir::arith::ArithDialect"];
}

def VerifyKernelsPass : Pass<"shardc-verify-kernels", "::mlir::func::FuncOp"> {
  let summary = "Verifies the invariants of the kernel phase.";
  let description = [{
    - K1: no operation of the `aten` dialect and no `fsdp.cast` is left.
    - K2: a kernel's region contains only loop nests that can be compiled:
      `linalg.generic` whose outputs start empty (or, for a reduction, filled),
      `exec.scan`, `exec.scatter`, insertions of a part into a whole, constants and
      numbers of elements.
    - K3: a library call is known, with its operands, results and element types.
    - K4: a library call's operands have layouts that the library accepts.
    - K5: an `exec.view` is inside its source's storage, and its source is not
      itself an `exec.view`.

    {{example: test/passes/Kernel/verify-kernels.mlir @accepted}}
  }];
}

def OutlineKernelsPass : Pass<"shardc-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Outlines each launch of each kernel into a function.";
  let description = [{
    Loop nests of a kernel that share an outer parallel loop become one launch:
    a function that runs iterations [begin, end) of that loop on flat buffers.
    What only one iteration needs is private to it; what passes from one launch
    to the next is a scratch operand. Kernels with equal regions and layouts
    share functions. The functions are in the module `@kernels`.

    An `exec.run` becomes its launches, with buffers as scratch; with
    `keep-kernels` an `exec.compute` before them says what they compute, for the
    reference interpreter. An `exec.kernel`, which has no memory yet, stays.

    Decision: `passes/Kernel/Schedule/KernelSchedule.h`.

    {{example: test/passes/Kernel/outline-kernels.mlir @row_sums}}

    For a GPU the threads of a group run an iteration together
    (`passes/Kernel/Schedule/ThreadSchedule.h`, `test/passes/Kernel/outline-kernels-gpu.mlir`).
  }];
  let options = [
    Option<"pointwiseBlock", "pointwise-block", "int64_t", "0",
           "Elements per iteration of a point-wise launch; 0: the target's default.">,
    Option<"keepKernels", "keep-kernels", "bool", "false",
           "Keep each kernel's region alongside its launches.">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect",
      "::shardc::exec::ExecDialect",
      "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
      "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
      "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // SHARDC_PASSES_KERNEL_PASSES
