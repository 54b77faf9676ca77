//===- InstructionSet.h - Code for several processors ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime is compiled for every x86-64 processor, yet its own inner loops
// should use the widest vectors of the one it runs on. Such a loop is written
// once as an always-inline template over the size of a vector, and inlined
// into one function for each instruction set:
//
//   template <typename Vectors> [[gnu::always_inline]] inline void loop(…);
//
//   struct Loop {
//     template <typename Vectors, typename... Arguments>
//     [[gnu::always_inline]] static void run(Arguments... arguments) {
//       loop<Vectors>(arguments...);
//     }
//   };
//   runVectorised<Loop>(arguments…);
//
// Vectors are those of Clang and GCC (the vector_size attribute). Processors
// differ in the bits that they compute (fused multiply-add, order of lanes),
// never from one run to the next.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_INSTRUCTIONSET_H
#define SHARDC_RUNTIME_CPU_INSTRUCTIONSET_H

#include <cstdint>

namespace shardc::runtime {

enum class InstructionSet { Baseline, Avx2, Avx512 };

/// What the processor that runs this has.
InstructionSet instructionSet();

namespace detail {
/// Attributes of an alias template would lose the alignment.
template <typename T, int size>
struct UnalignedVector {
  typedef T Type
      __attribute__((vector_size(size), aligned(alignof(T)), may_alias));
};
} // namespace detail

/// Size in bytes of a vector register, and how many rows of a product are
/// computed at a time so that the sums stay in registers.
template <int vectorBytes, int rows>
struct VectorShape {
  static constexpr int bytes = vectorBytes;
  static constexpr int tileRows = rows;

  template <typename T>
  static constexpr int lanes = vectorBytes / static_cast<int>(sizeof(T));
  /// A vector that may lie at any address that is right for T.
  template <typename T>
  using Vector = typename detail::UnalignedVector<T, vectorBytes>::Type;
  static_assert(alignof(Vector<float>) == alignof(float));
};

using BaselineVectors = VectorShape<16, 4>;
using Avx2Vectors = VectorShape<32, 6>;
using Avx512Vectors = VectorShape<64, 8>;

namespace detail {
template <typename Loop, typename... Arguments>
void runBaseline(Arguments... arguments) {
  Loop::template run<BaselineVectors>(arguments...);
}

#if defined(__x86_64__)
template <typename Loop, typename... Arguments>
[[gnu::target("avx2,fma,bmi2")]] void runAvx2(Arguments... arguments) {
  Loop::template run<Avx2Vectors>(arguments...);
}

template <typename Loop, typename... Arguments>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]] void
runAvx512(Arguments... arguments) {
  Loop::template run<Avx512Vectors>(arguments...);
}
#endif
} // namespace detail

/// Calls Loop::run<Vectors>(arguments…) with the vectors of this processor.
template <typename Loop, typename... Arguments>
void runVectorised(Arguments... arguments) {
#if defined(__x86_64__)
  switch (instructionSet()) {
  case InstructionSet::Avx512:
    return detail::runAvx512<Loop>(arguments...);
  case InstructionSet::Avx2:
    return detail::runAvx2<Loop>(arguments...);
  case InstructionSet::Baseline:
    break;
  }
#endif
  detail::runBaseline<Loop>(arguments...);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_INSTRUCTIONSET_H
