//===- AtenOps.td - Every operator of the aten dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of contents: one include an operator family.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENOPS
#define SHARDC_DIALECTS_ATEN_ATENOPS

include "dialects/Aten/AtenElementwise.td"
include "dialects/Aten/AtenActivations.td"
include "dialects/Aten/AtenComparison.td"
include "dialects/Aten/AtenReduction.td"
include "dialects/Aten/AtenSorting.td"
include "dialects/Aten/AtenIndexing.td"
include "dialects/Aten/AtenAutograd.td"
include "dialects/Aten/AtenRandom.td"
include "dialects/Aten/AtenShape.td"
include "dialects/Aten/AtenLinear.td"
include "dialects/Aten/AtenFactorization.td"
include "dialects/Aten/AtenConvolution.td"
include "dialects/Aten/AtenAttention.td"
include "dialects/Aten/AtenNormalization.td"
include "dialects/Aten/AtenLoss.td"
include "dialects/Aten/AtenComplex.td"
include "dialects/Aten/AtenPooling.td"
include "dialects/Aten/AtenResampling.td"

#endif // SHARDC_DIALECTS_ATEN_ATENOPS
