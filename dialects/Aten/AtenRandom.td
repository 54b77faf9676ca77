//===- AtenRandom.td - Random numbers and dropout -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A random element is a function of (seed, step, `stream`, element index):
// Philox4x32-10 with the seed as its key and the rest as its counter. `stream`
// numbers the operators of a program that draw. So the operators are as pure as
// any other: the same bits for any sharding and any recomputation.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENRANDOM
#define SHARDC_DIALECTS_ATEN_ATENRANDOM

include "dialects/Aten/AtenInterfaces.td"

class Aten_RandomOp<string mnemonic, string what> : Aten_Op<mnemonic, [Aten_Pointwise]> {
  let summary = what;
  let arguments = (ins I64Attr:$stream);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
}

def Aten_RandOp : Aten_RandomOp<"rand", "numbers that are uniform in [0, 1)"> {
  let description = [{
    As many bits as the element type has, so that 1 is never reached. Stands for
    `bernoulli`, `randint` and `uniform` too, with operators on its result.
  }];
}

def Aten_RandnOp : Aten_RandomOp<"randn", "numbers of the standard normal distribution"> {
  let description = "By Box and Muller from two uniform numbers an element.";
}

def Aten_DropoutOp : Aten_InferredOp<"dropout", [Aten_Pointwise]> {
  let summary = "zeros with probability `p`, the others scaled by 1 / (1 - p)";
  let description = [{
    An element stays where `aten.rand` of the same stream in f32 is less than
    1 - p. Training alone; outside of it dropout is the identity.
  }];
  let arguments = (ins Aten_FloatTensor:$self, F64Attr:$p, I64Attr:$stream);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SHARDC_DIALECTS_ATEN_ATENRANDOM
