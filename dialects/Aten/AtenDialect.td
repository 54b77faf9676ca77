//===- AtenDialect.td - The aten dialect --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Functional ATen operators on ranked, static tensors, with PyTorch's names,
// argument names and semantics. This file holds the dialect, its element and
// tensor types, and the base classes that every operator family builds on.
//
// Include order: AtenDialect.td <- AtenInterfaces.td <- Aten<Family>.td <- AtenOps.td
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENDIALECT
#define SHARDC_DIALECTS_ATEN_ATENDIALECT

include "mlir/IR/OpBase.td"
include "dialects/Aten/AtenEnums.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Aten_Dialect : Dialect {
  let name = "aten";
  let cppNamespace = "::shardc::aten";
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let summary = "functional ATen operators on ranked, static tensors";
  let description = [{
    The `aten` dialect says what a PyTorch program computes. An operator has the
    name, the argument names and the semantics of the ATen operator that a
    PyTorch user knows; in-place variants do not exist, a mutation is a new
    value. Coarse operators stay coarse (`linear`, `convolution`, `layer_norm`,
    `batch_norm`, `scaled_dot_product_attention`, `cross_entropy_loss`), because
    planning, differentiation and library calls need them whole.

    An operator that backward needs intermediate values of has them as further
    results, as ATen's `native_` variants do: `layer_norm` returns its mean and
    reciprocal standard deviation beside the output.

    Neighbours: `fsdp` holds the modules and the parameters around these
    operators; the `kernel` phase replaces them by `exec` kernels and library
    calls.
  }];
}

def Aten_Float : AnyTypeOf<[BF16, F16, F32, F64]>;
def Aten_Complex : AnyTypeOf<[Complex<F32>, Complex<F64>]>;
def Aten_Integer : AnyTypeOf<[I64, I32, I16, I8, UI8, I1]>;
def Aten_Element : AnyTypeOf<[BF16, F16, F32, F64, Complex<F32>, Complex<F64>,
                              I64, I32, I16, I8, UI8, I1]>;

/// A ranked tensor of static shape, described in a few words.
class Aten_TensorOf<list<Type> elements, string what>
    : Type<StaticShapeTensorOf<elements>.predicate, "static tensor of " # what,
           "::mlir::RankedTensorType">;

def Aten_Tensor : Aten_TensorOf<[Aten_Element], "any element type">;
def Aten_FloatTensor : Aten_TensorOf<[Aten_Float], "floats">;
def Aten_InexactTensor : Aten_TensorOf<[Aten_Float, Aten_Complex], "floats or complex numbers">;
def Aten_ComplexTensor : Aten_TensorOf<[Aten_Complex], "complex numbers">;
def Aten_BoolTensor : Aten_TensorOf<[I1], "booleans">;
def Aten_IntegerTensor : Aten_TensorOf<[Aten_Integer], "integers or booleans">;
def Aten_IndexTensor : Aten_TensorOf<[I64, I32], "i64 or i32">;

#endif // SHARDC_DIALECTS_ATEN_ATENDIALECT
