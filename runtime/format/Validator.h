//===- Validator.h - What makes a program safe to run ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules that an artifact must keep beyond having well-formed members. They
// are what lets an executor run a program without any further check: every
// byte range lies inside its space, every wait can be satisfied, collectives
// have consistent arguments. Messages name the rule, and docs/Spec.md is made
// from this list:
//
// - F1: there is an input; inputs have unique names, 1 to 2^48 elements and the
//   same batch size (dimension 0); only integers have an upper bound, of at
//   least 1, or an ignored index.
// - F2: states have unique names within a role. A buffer has its shape's
//   elements, and a buffer or metric has no segment. A state with a segment is
//   floating-point and has the elements of the segment's shard; `accumulated`
//   has those of the whole segment.
// - F3: the metrics `loss`, one f32 or f64, and `gradient_norm_squares`, two
//   f64, exist.
// - F4: a segment has one shard for each rank that its axes distinguish,
//   contains its parameters without overlap, and belongs to one group; a
//   parameter is in one segment.
// - F5: a reference names an existing state, input or scalar, or the arena; on
//   every rank its bytes are inside, at a multiple of the element size. It
//   moves only with axes of the mesh.
// - F6: what a command writes is in the arena or in states.
// - F7: a tensor's elements are inside its reference's bytes.
// - F8: a command runs on a declared stream.
// - F9: an event is recorded by at most one command of a section, before every
//   wait for it.
// - F10: a launch names a listed kernel, and has an extent from 0 to the
//   kernel's largest and the kernel's operands: each has the signature's bytes
//   and, on every rank, its alignment. The artifact has machine code.
// - F11: a library call is known, and has operands, results and attributes that
//   it accepts.
// - F12: an all-gather's buffer is one slot per participating rank.
// - F13: a reduce-scatter's buffer is floating-point and has, for each
//   participating rank, as many elements as the output. The output is a whole
//   state or in the arena, f32 or f64, and not narrower than the buffer.
// - F14: an all-reduce is of f32 or f64; of pairs of f64 for double-double.
// - F15: a copy's source and target have the same size.
// - F16: kernels are symbols with unique names. A signature's extent is from 0
//   to 2^48; it has at most 1024 operands, whose alignment is a power of two up
//   to 64. A block has from 1 to 1024 threads that share up to 48 KiB; on a CPU
//   one thread, which shares none.
// - F17: what a command writes, including its workspace, overlaps no other of
//   its operands on any rank.
// - F18: a command has a callee if its kind has one, and only the operands and
//   attributes of its kind. Operands of collectives, copies and fills are
//   row-major and cover their whole ranges.
// - F19: sections have different names, and those of a run process each of its
//   micro-batches once, in order; a condition is a state of one bool; an
//   evaluation changes no state but metrics; only the same section waits for an
//   event of a section that may not run.
// - F20: the mesh has from 1 to 4 axes with unique names and from 1 to 65536
//   ranks. Axes of segments and communicators are axes of the mesh, in order.
// - F21: no two communicators are the same, and they are on declared streams. A
//   collective names a communicator of its own stream.
// - F22: scalars are read in their dtypes, and `slice` and `micro_batch` only
//   in sections that run for micro-batches.
// - F23: a workspace belongs to a library call on a GPU, and is in the arena at
//   a multiple of 256, at the same offset on each rank. It has at least the
//   bytes that the runtime's own kernels need for the call; a call that needs
//   none may have no workspace.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_VALIDATOR_H
#define SHARDC_RUNTIME_FORMAT_VALIDATOR_H

#include "runtime/format/Artifact.h"

namespace shardc::format {

/// No tensor of an artifact has more elements; byte sizes stay far below 2^63.
inline constexpr int64_t maxElements = int64_t(1) << 48;

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
