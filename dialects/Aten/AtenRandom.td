//===- AtenRandom.td - Random numbers and dropout -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A random element is a function of (seed, step, `stream`, element): Philox4x32-10
// with the seed as its key and the rest as its counter. `stream` numbers the
// operators of a program that draw. The element counts through all slices of a
// step's samples: slice * elements of the tensor + place in the tensor. Seed,
// step and slice are the run's (`fsdp.scalar`), so that the operators are as pure
// as any other: the same bits for any sharding and any recomputation.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENRANDOM
#define SHARDC_DIALECTS_ATEN_ATENRANDOM

include "dialects/Aten/AtenInterfaces.td"

/// A number of the run that a draw depends on.
defvar Aten_RunNumber = 0DTensorOf<[I64]>;

class Aten_RandomOp<string mnemonic, string what> : Aten_Op<mnemonic, [Aten_Pointwise]> {
  let summary = what;
  let arguments = (ins Aten_RunNumber:$seed, Aten_RunNumber:$step,
                       Aten_RunNumber:$slice, I64Attr:$stream);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step `,` $slice attr-dict `:` functional-type(operands, results)";
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

def Aten_DropoutOp
    : Aten_DifferentiableOp<"dropout", [Aten_Pointwise, Aten_PartialComposition]> {
  let summary = "zeros with probability `p`, the others scaled by 1 / (1 - p)";
  let description = [{
    An element stays where `aten.rand` of the same stream in f32 is less than
    1 - p, and is multiplied by 1 / (1 - p), rounded to f32 unless the tensor is
    f64. Elements that differ in the dimensions `shared` alone stay or go together:
    what PyTorch calls feature dropout. Training alone; outside of it dropout is
    the identity.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_RunNumber:$seed,
                       Aten_RunNumber:$step, Aten_RunNumber:$slice,
                       F64Attr:$p, I64Attr:$stream,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shared);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self `,` $seed `,` $step `,` $slice attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
  let extraClassDeclaration = [{
    /// The shape of the draws: 1 in shared dimensions.
    llvm::SmallVector<int64_t> getDrawnShape();
  }];
  let hasVerifier = 1;
}

def Aten_StochasticRoundOp : Aten_Op<"stochastic_round", [Aten_Pointwise]> {
  let summary = "f32 rounded to bf16 by chance, so that the mean is exact";
  let description = [{
    No operator of ATen's, but what torchao's bf16_stochastic_round does
    (torchao/optim/quant_utils.py): of the two neighbours in bf16 the one that is
    further from zero, with the probability that the element is that far on the way
    to it. The 16 bits that are compared are the upper ones of the draw's first
    word, where the place of `shard` is the element's slice: `shard` is this rank's
    number among those that divide the tensor, which is this rank's part of it.
    Bits are the same for any number of ranks.

    Infinity and NaN stay; a finite element stays finite.
  }];
  let arguments = (ins TensorOf<[F32]>:$self, Aten_RunNumber:$seed, Aten_RunNumber:$step,
                       Aten_RunNumber:$shard, I64Attr:$stream);
  let results = (outs TensorOf<[BF16]>:$result);
  let assemblyFormat = "$self `,` $seed `,` $step `,` $shard attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// The stream of a segment's draws, which no operator of a model has.
    static int64_t streamOf(int64_t segment) { return (int64_t(1) << 31) + segment; }
  }];
}

#endif // SHARDC_DIALECTS_ATEN_ATENRANDOM
