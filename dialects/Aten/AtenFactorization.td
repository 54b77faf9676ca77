//===- AtenFactorization.td - Factorizations of matrices ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What linear algebra is made of: the factorizations of LAPACK and the solution
// of triangular systems. Inverses, determinants, solutions and pseudo-inverses
// are compositions of these. Each takes a batch of matrices [*, m, n] of f32 or
// f64. Where PyTorch stops with an error, so does an operator with
// `check_errors`; the others say in `info` what is wrong, as LAPACK does.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENFACTORIZATION
#define SHARDC_DIALECTS_ATEN_ATENFACTORIZATION

include "dialects/Aten/AtenInterfaces.td"

class Aten_FactorizationOp<string mnemonic>
    : Aten_DifferentiableOp<mnemonic, [Aten_Cost]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Aten_LinalgCholeskyExOp : Aten_FactorizationOp<"linalg_cholesky_ex"> {
  let summary = "the lower triangular L of self = L L^T";
  let description = [{
    Reads the lower half of `self` [*, n, n]. `info` [*] is 0, or the order of the
    first leading minor that is not positive.
  }];
  let arguments = (ins Aten_Tensor:$self, DefaultValuedAttr<BoolAttr, "false">:$check_errors);
  let results = (outs Aten_Tensor:$L, Aten_IndexTensor:$info);
}

def Aten_LinalgLuFactorExOp : Aten_FactorizationOp<"linalg_lu_factor_ex"> {
  let summary = "the factors of a matrix whose rows are permuted, L U, in one matrix";
  let description = [{
    L [*, m, k] is unit lower triangular, U [*, k, n] upper triangular, with k the
    smaller of m and n. The largest element of a column becomes its pivot. Row i
    of L U is row `permutation[i]` of `self`; `pivots` [*, k] is the same as
    LAPACK's exchanges, counted from 1: row i with row `pivots[i]`, one after the
    other. `info` [*] is 0, or the number of the first pivot that is 0.
  }];
  let arguments = (ins Aten_Tensor:$self, DefaultValuedAttr<BoolAttr, "false">:$check_errors);
  let results = (outs Aten_Tensor:$LU, Aten_IndexTensor:$pivots,
                      Aten_IndexTensor:$permutation, Aten_IndexTensor:$info);
}

def Aten_LinalgSolveTriangularOp : Aten_FactorizationOp<"linalg_solve_triangular"> {
  let summary = "the X of self X = other, where self is triangular";
  let description = [{
    self [*, n, n], other [*, n, k] of the same batch. The other half of `self` is
    not read, nor is its diagonal when it is `unitriangular`.
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other, BoolAttr:$upper,
                       DefaultValuedAttr<BoolAttr, "false">:$unitriangular);
  let results = (outs Aten_Tensor:$result);
}

def Aten_LinalgQrOp : Aten_FactorizationOp<"linalg_qr"> {
  let summary = "self = Q R, Q with orthonormal columns and R upper triangular";
  let description = [{
    Q [*, m, k] and R [*, k, n], with k the smaller of m and n. By Householder's
    reflections, with LAPACK's signs.
  }];
  let arguments = (ins Aten_Tensor:$self);
  let results = (outs Aten_Tensor:$Q, Aten_Tensor:$R);
  let extraClassDeclaration = "bool differentiatesAllResults() { return true; }";
}

def Aten_LinalgEighOp : Aten_FactorizationOp<"linalg_eigh"> {
  let summary = "the eigenvalues of a symmetric matrix, increasing, and its eigenvectors";
  let description = [{
    Reads the lower half of `self` [*, n, n]. Column i of `eigenvectors` [*, n, n]
    belongs to `eigenvalues[i]`; its sign is arbitrary, as in PyTorch.
  }];
  let arguments = (ins Aten_Tensor:$self);
  let results = (outs Aten_Tensor:$eigenvalues, Aten_Tensor:$eigenvectors);
  let extraClassDeclaration = "bool differentiatesAllResults() { return true; }";
}

def Aten_LinalgSvdOp : Aten_FactorizationOp<"linalg_svd"> {
  let summary = "self = U diag(S) Vh, the singular values decreasing";
  let description = [{
    U [*, m, k], S [*, k] and Vh [*, k, n], with k the smaller of m and n. The
    sign of a pair of singular vectors is arbitrary, as in PyTorch.
  }];
  let arguments = (ins Aten_Tensor:$self);
  let results = (outs Aten_Tensor:$U, Aten_Tensor:$S, Aten_Tensor:$Vh);
  let extraClassDeclaration = "bool differentiatesAllResults() { return true; }";
}

#endif // SHARDC_DIALECTS_ATEN_ATENFACTORIZATION
