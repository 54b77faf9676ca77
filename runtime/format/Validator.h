//===- Validator.h - what makes a program safe to run -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules that an artifact must keep beyond having well-formed members. They
// are what lets an executor run a program without any further check: every
// byte range lies inside its space, every wait can be satisfied, collectives
// have consistent arguments. Messages name the rule, and docs/Spec.md is made
// from this list:
//
// - F1: there is an input; inputs have names of their own, 1 to 2^48 elements
//   and one common batch (dimension 0); only integers have an upper bound of at
//   least 1 or an ignored index.
// - F2: states have names of their own within a role. A buffer has its shape's
//   elements and a buffer or metric no segment; any other state has 16-bit
//   floats, f32 or f64, a gradient f32 or f64, and has the elements of its
//   segment's shard.
// - F3: there are the metrics `loss`, one f32 or f64, and
//   `gradient_norm_squares`, two f64.
// - F4: a segment has a shard for each rank that its axes tell apart, holds its
//   parameters without overlap, and belongs to one group; a parameter is in one
//   segment.
// - F5: a reference names an existing state, input or scalar, or the arena;
//   its bytes lie inside, on every rank, at a multiple of the element size. It
//   moves with axes of the mesh alone.
//   Scalars are f32 or f64.
// - F6: what a command writes lies in the arena or in states.
// - F7: a tensor's elements lie inside its reference's bytes.
// - F8: a command runs on a declared stream.
// - F9: an event is recorded by at most one command, before every wait for it.
// - F10: a launch names a kernel of the list, has an extent from 0 to the
//   kernel's greatest, and the kernel's operands: each has the signature's
//   bytes and, on every rank, its alignment. The artifact has machine code.
// - F11: a library call is known, with operands, results and attributes that it
//   takes.
// - F12: an all-gather's buffer is one slot for each rank that takes part.
// - F13: a reduce-scatter's buffer is f32, bf16 or f64 and holds, for each rank
//   that takes part, the elements of its output, which is the whole of a state
//   that is not narrower.
// - F14: an all-reduce is over f32 or f64, in pairs of f64 for double-double.
// - F15: a copy's source and target have one size.
// - F16: kernels are symbols with names of their own. A signature's extent is
//   from 0 to 2^48, it has at most 1024 operands, and their alignment is a
//   power of two up to 64. A block has from 1 to 1024 threads that share up to
//   48 KiB; on a processor 1, and none.
// - F17: what a command writes, its workspace included, overlaps, on no rank,
//   another of its operands.
// - F18: a command has a callee where its kind has one, and no operands and
//   attributes but its kind's. Operands of collectives, copies and fills are
//   row-major and the whole of their ranges.
// - F19: sections have different names, and those of a run take each of its
//   micro-batches once, in order; a condition is a state of one bool; an
//   evaluation changes no state but metrics; an event of a section that may not
//   run is waited for in it alone.
// - F20: the mesh has from 1 to 4 axes with names of their own and from 1 to
//   65536 ranks. Axes of segments and communicators are its own, in order.
// - F21: no two communicators are the same, and they are on declared streams. A
//   collective names one, of its own stream.
// - F22: scalars are read in their dtypes, and `slice` by commands of sections
//   that run for micro-batches.
// - F23: a workspace is a library call's, on a GPU, and lies in the arena at a
//   multiple of 256, at the same place on each rank. It has at least the bytes
//   that the runtime's own kernels need for the call; one that needs none may
//   be without.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_VALIDATOR_H
#define SHARDC_RUNTIME_FORMAT_VALIDATOR_H

#include "runtime/format/Artifact.h"

namespace shardc::format {

/// No tensor of an artifact has more elements; byte sizes stay far below 2^63.
inline constexpr int64_t mostElements = int64_t(1) << 48;

/// Checks all rules and fails with E0309 for the first one broken, naming the
/// command by its number in the list, its module and its label.
Status validate(const Artifact &artifact);

/// The rules about the mesh, inputs, states, groups and segments alone (F1 …
/// F4, F20).
Status validateParameters(const Parameters &parameters, const Mesh &mesh);

/// Whether these are numbers of the mesh's axes, in ascending order.
bool areAxesOf(const Mesh &mesh, const std::vector<int64_t> &axes);

/// The rules about the commands and kernels (F5 … F19, F21 … F23).
Status validateProgram(const Artifact &artifact);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_VALIDATOR_H
