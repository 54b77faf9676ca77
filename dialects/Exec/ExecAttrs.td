//===- ExecAttrs.td - References ----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A typed reference to bytes that exist for the whole run.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECATTRS
#define SHARDC_DIALECTS_EXEC_EXECATTRS

include "dialects/Exec/ExecDialect.td"
include "dialects/Exec/ExecEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Exec_Ref : AttrDef<Exec_Dialect, "Ref"> {
  let mnemonic = "ref";
  let summary = "bytes in the arena, a state, an input, a scalar or the constants";
  let description = [{
    `index` picks the state, input or scalar (0 for the arena and the
    constants), `offset` is in bytes, and the memref type gives shape, strides
    and element type. Rank r finds the first element at `offset + r * rank_stride`
    bytes: this is how a rank names its own slot of a gathered buffer.

    Example: `arena[0 + 1024] : memref<8x16xf32>`,
    `arena[0 + 1024 + rank * 512] : memref<128xf32>`
  }];
  let parameters = (ins EnumParameter<Exec_Space>:$space, "int64_t":$index,
                        "int64_t":$offset,
                        DefaultValuedParameter<"int64_t", "0">:$rank_stride,
                        "::mlir::MemRefType":$type);
  let assemblyFormat = "`<` $space `[` $index `+` $offset (`+` `rank` `*` $rank_stride^)? `]` `:` $type `>`";
  let extraClassDeclaration = [{
    /// Bytes from the first to one past the last element.
    int64_t getBytes() const;
  }];
}

#endif // SHARDC_DIALECTS_EXEC_EXECATTRS
