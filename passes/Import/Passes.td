//===- Passes.td - The import phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From the flat program that translation makes of an export to functional aten
// operators in a tree of modules.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_IMPORT_PASSES
#define SHARDC_PASSES_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def SplitComplexPass : Pass<"shardc-split-complex", "::mlir::func::FuncOp"> {
  let summary = "Lowers complex data movement to pairs of operators on real and imaginary parts.";
  let description = [{
    An operator that is linear in its elements with real factors (it moves,
    chooses, writes or adds them up) does the same to real and imaginary parts.
    So `index`, `pad`, `roll`, `tril` and their like have a derivative, a meaning
    and kernels for complex elements because they have them for real ones.
    Arithmetic stays complex: PyTorch has derivatives of its own for it.

    {{example: test/passes/Import/split-complex.mlir @index_of_complex}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def FoldConstantsPass : Pass<"shardc-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Folds operators that depend only on constants.";
  let description = [{
    Position indices and masks are computed by a model from `arange` and shapes.
    Operators on constants of at most `max-elements` elements become constants
    themselves, with the values that the reference interpreter computes. Nothing
    that depends on a parameter, a buffer, an input or a number of the run is
    touched, but for choices by a constant condition, and tensors without elements: these are constants whatever they
    are made of, and `cat` does without them. Floating-point constants that a
    module is called with stay as well: a policy may cast them there.

    {{example: test/passes/Import/fold-constants.mlir @positions_from_arange}}
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", /*default=*/"65536",
           "Maximum size of a folded constant, in elements.">];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def BoundInputsPass : Pass<"shardc-bound-inputs", "::mlir::func::FuncOp"> {
  let summary = "Annotates integer inputs with the values that they may hold.";
  let description = [{
    An integer input that indexes a table or names a class gets
    `shardc.upper_bound`, the smallest that any of its uses has, and
    `shardc.ignore_index`, a number beyond it that all of its uses take: labels
    that are looked up in a table too may not be -100. Uses are followed through
    operators that move integers (views, `cat`, `roll`, …), convert them, add a
    number, or multiply by a positive one. Bounds begin at 0, also where an operator would take negative
    indices. The runtime checks data against them. Runs on the flat program,
    before modules nest it.

    {{example: test/passes/Import/bound-inputs.mlir @tokens_and_targets}}
  }];
}

def FindShiftedTargetsPass : Pass<"shardc-find-shifted-targets", "::mlir::func::FuncOp"> {
  let summary = "Marks the targets that the model itself shifts.";
  let description = [{
    Language models are trained to predict the next token. Some take targets that are
    shifted already, others shift them, as those of Hugging Face do. Of the latter, an
    input reaches a loss, or a `gather` of its scores, by way of a slice of its last
    dimension that begins at 1, or a roll by -1: it gets `shardc.shifted`. A source of
    tokens then leaves the shift to the model. Runs on the flat program.

    {{example: test/passes/Import/find-shifted-targets.mlir @shifted_by_the_model}}
  }];
}

def BuildModuleTreePass : Pass<"shardc-build-module-tree", "::mlir::func::FuncOp"> {
  let summary = "Nests operations in the modules that they were traced under.";
  let description = [{
    Neighbouring operations that share the outermost frame of their module stack
    (attribute `shardc.modules`) become one `fsdp.module`, whose operations are
    nested by the next frame, and so on. What a module uses from outside becomes
    an input, what outside uses of it a result. A value that is an argument and
    is captured too (`fsdp.capture`) crosses the boundary twice. The order of operations stays.
    Containers without a forward of their own, such as `ModuleList`, and modules
    whose operators all disappeared, such as `Dropout`, have no operation.

    {{example: test/passes/Import/build-module-tree.mlir @nested_modules}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def VerifyImportedPass : Pass<"shardc-verify-imported", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the import phase.";
  let description = [{
    - I1: there is one function, `@forward`, and it returns one floating-point
      scalar.
    - I2: each of its inputs has a unique name, `shardc.name`.
    - I3: it contains only aten operators, modules, scalars of the run, captures,
      reads and writes.
    - I4: a read names a declared parameter or buffer and has its type.
    - I5: a write names a declared buffer or a trained parameter, and has its type.
    - I6: the module tree is built: no operation still has a module stack.

    {{example: test/passes/Import/verify-imported.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_IMPORT_PASSES
