//===- DeviceCode.h - What kernels of the library say ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The few words in which the library's kernels are written, so that one source
// is code for a GPU and for emulated threads:
//
//   self.block(), self.thread()          blockIdx.x, threadIdx.x
//   load<float>(self, address)           *(const float *)address
//   storeShared(self, offset, value)     shared memory, by byte
//   self.barrier(), self.warpBarrier()   __syncthreads(), __syncwarp()
//   self.shuffleXor(value, 16)           __shfl_xor_sync of the whole warp
//   self.multiplyAdd(a, b0, b1, c)       mma.sync.m16n8k16 of bf16, into f32
//                                        (GpuProduct says who has what)
//
// `self` is a CudaThread under nvcc and an EmulatedThread elsewhere; a kernel
// is a template over it, `kernel(Thread &self, const Parameters &p)`. Addresses
// are numbers. Products that are summed are written as fused ones, and nvcc
// fuses no others, so that both have the same bits but for what CUDA and the C
// library compute: logarithms, and exponentials of f64.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICECODE_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICECODE_H

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define SHARDC_DEVICE __device__ __forceinline__
#else
#include "runtime/device/GpuThread.h"

#include <cstring>
#include <type_traits>
#define SHARDC_DEVICE inline
#endif

namespace shardc::runtime::kernels {

inline constexpr int lanesOfWarp = 32;
/// What a block may have without asking for more.
inline constexpr int maxSharedBytes = 48 << 10;

#ifdef __CUDACC__

extern "C" __shared__ __align__(16) unsigned char shardcSharedMemory[];

/// A thread of a GPU.
class CudaThread {
public:
  SHARDC_DEVICE int64_t block() const { return blockIdx.x; }
  SHARDC_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }

  template <typename T>
  SHARDC_DEVICE T load(uint64_t address) const {
    return *reinterpret_cast<const T *>(address);
  }
  template <typename T>
  SHARDC_DEVICE void store(uint64_t address, T value) const {
    *reinterpret_cast<T *>(address) = value;
  }
  template <typename T>
  SHARDC_DEVICE T loadShared(int offset) const {
    return *reinterpret_cast<const T *>(shardcSharedMemory + offset);
  }
  template <typename T>
  SHARDC_DEVICE void storeShared(int offset, T value) const {
    *reinterpret_cast<T *>(shardcSharedMemory + offset) = value;
  }

  SHARDC_DEVICE void barrier() const { __syncthreads(); }
  SHARDC_DEVICE void warpBarrier() const { __syncwarp(); }
  template <typename T>
  SHARDC_DEVICE T shuffleXor(T value, int laneMask) const {
    return __shfl_xor_sync(0xFFFFFFFF, value, laneMask);
  }
  SHARDC_DEVICE void multiplyAdd(const uint32_t (&a)[4], uint32_t b0,
                                 uint32_t b1, float (&c)[4]) const {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

#else

/// A thread of an emulated block (runtime/device/GpuBlocks.h).
class EmulatedThread {
public:
  explicit EmulatedThread(GpuThread *self) : self(self) {}

  int64_t block() const { return self->block; }
  int thread() const { return static_cast<int>(self->thread); }

  template <typename T>
  T load(uint64_t address) const {
    return read<T>(self->hooks->accessAt(self, address, sizeof(T), 0));
  }
  template <typename T>
  void store(uint64_t address, T value) const {
    std::memcpy(self->hooks->accessAt(self, address, sizeof(T), 1), &value,
                sizeof(T));
  }
  template <typename T>
  T loadShared(int offset) const {
    return read<T>(self->hooks->access(self, -1, offset, sizeof(T), 0));
  }
  template <typename T>
  void storeShared(int offset, T value) const {
    std::memcpy(self->hooks->access(self, -1, offset, sizeof(T), 1), &value,
                sizeof(T));
  }

  // Where it is written tells one barrier from another.
  void barrier(int site = __builtin_LINE()) const {
    self->hooks->barrier(self, site);
  }
  void warpBarrier(int site = __builtin_LINE()) const {
    self->hooks->warpBarrier(self, allLanes, site);
  }
  template <typename T>
  T shuffleXor(T value, int laneMask, int site = __builtin_LINE()) const {
    int32_t words[sizeof(T) / sizeof(int32_t)];
    std::memcpy(words, &value, sizeof(T));
    for (int32_t &word : words)
      word = self->hooks->shuffleXor(self, allLanes, word, laneMask, site);
    return read<T>(words);
  }
  void multiplyAdd(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                   float (&c)[4], int site = __builtin_LINE()) const {
    GpuProduct product = {
        {a[0], a[1], a[2], a[3]}, {b0, b1}, {c[0], c[1], c[2], c[3]}};
    self->hooks->multiply(self, &product, site);
    std::memcpy(c, product.c, sizeof(c));
  }

private:
  static constexpr int64_t allLanes = 0xFFFFFFFF;

  template <typename T>
  static T read(const void *from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  GpuThread *self;
};

#endif

template <typename T, class Thread>
SHARDC_DEVICE T load(const Thread &self, uint64_t address) {
  return self.template load<T>(address);
}
template <typename T, class Thread>
SHARDC_DEVICE T loadShared(const Thread &self, int offset) {
  return self.template loadShared<T>(offset);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The dtypes of library calls.
enum class Element : int32_t { F32, BF16, F64, I64, F16 };

/// The upper half of a float.
struct BFloat16 {
  uint16_t bits;
};

/// What arithmetic on an element uses.
SHARDC_DEVICE float widen(BFloat16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}
/// Half precision, in sums over ranks alone: the exponent counts from 112 less.
struct Float16 {
  uint16_t bits;
};
SHARDC_DEVICE float widen(Float16 value) {
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFF) << 13;
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t finite = __builtin_bit_cast(
      uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f);
  const bool isFinite = (value.bits & 0x7C00) != 0x7C00;
  return __builtin_bit_cast(
      float, sign | (isFinite ? finite : magnitude | 0x7F800000));
}
SHARDC_DEVICE float widen(float value) { return value; }
SHARDC_DEVICE double widen(double value) { return value; }
SHARDC_DEVICE int64_t widen(int64_t value) { return value; }

template <typename T>
using Wide = decltype(widen(T()));

/// `value` rounded to T: to nearest, ties to even, NaN stays one. A double
/// becomes bf16 by way of f32, as everywhere.
template <typename T>
struct Narrow {
  template <typename From>
  SHARDC_DEVICE static T from(From value) {
    return static_cast<T>(value);
  }
};
template <>
struct Narrow<BFloat16> {
  template <typename From>
  SHARDC_DEVICE static BFloat16 from(From wide) {
    const auto value = static_cast<float>(wide);
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
    const uint32_t result = value == value ? rounded >> 16 : 0x7FC0;
    return {static_cast<uint16_t>(result)};
  }
};

/// Element `index` of a tensor at `base`.
template <typename T, class Thread>
SHARDC_DEVICE Wide<T> loadElement(const Thread &self, uint64_t base,
                                  int64_t index) {
  return widen(load<T>(self, base + static_cast<uint64_t>(index) * sizeof(T)));
}
template <typename T, class Thread, typename From>
SHARDC_DEVICE void storeElement(const Thread &self, uint64_t base,
                                int64_t index, From value) {
  self.store(base + static_cast<uint64_t>(index) * sizeof(T),
             Narrow<T>::from(value));
}

/// The same for a dtype that the parameters tell.
template <class Thread>
SHARDC_DEVICE double loadFloat(const Thread &self, Element dtype, uint64_t base,
                               int64_t index) {
  if (dtype == Element::F64)
    return loadElement<double>(self, base, index);
  if (dtype == Element::F32)
    return loadElement<float>(self, base, index);
  return loadElement<BFloat16>(self, base, index);
}
template <class Thread>
SHARDC_DEVICE void storeFloat(const Thread &self, Element dtype, uint64_t base,
                              int64_t index, double value) {
  if (dtype == Element::F64)
    storeElement<double>(self, base, index, value);
  else if (dtype == Element::F32)
    storeElement<float>(self, base, index, value);
  else
    storeElement<BFloat16>(self, base, index, value);
}

/// `value` rounded to a dtype.
SHARDC_DEVICE double roundFloat(Element dtype, double value) {
  if (dtype == Element::F64)
    return value;
  if (dtype == Element::F32)
    return Narrow<float>::from(value);
  return widen(Narrow<BFloat16>::from(value));
}

/// As many elements as one access takes.
template <typename T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T lane[size];
};

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

SHARDC_DEVICE float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
SHARDC_DEVICE double fused(double a, double b, double c) {
  return ::fma(a, b, c);
}
/// exp for values of at most 88: the polynomial of Cephes (expf.c, Moshier), as
/// on the CPU, because a GPU's own may differ from chip to chip. Results below
/// 2^-126 become zero; NaN stays NaN.
SHARDC_DEVICE float exponential(float x) {
  if (!(x >= -87.33654f))
    return x != x ? x : 0.0f;
  const float n = ::rintf(x * 1.44269504f);
  const float r = fused(n, 2.12194440e-4f, fused(n, -0.693359375f, x));
  float p = fused(r, 1.9875691500e-4f, 1.3981999507e-3f);
  p = fused(p, r, 8.3334519073e-3f);
  p = fused(p, r, 4.1665795894e-2f);
  p = fused(p, r, 1.6666665459e-1f);
  p = fused(p, r, 5.0000001201e-1f);
  p = fused(p, r * r, r) + 1.0f;
  // 2^n by its exponent bits.
  const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(n) + 127)
                        << 23;
  return p * __builtin_bit_cast(float, exponent);
}
SHARDC_DEVICE double exponential(double x) { return ::exp(x); }
SHARDC_DEVICE float logarithm(float x) { return ::logf(x); }
SHARDC_DEVICE double logarithm(double x) { return ::log(x); }

template <typename W>
inline constexpr W minusInfinity = -static_cast<W>(__builtin_huge_val());

template <typename T>
SHARDC_DEVICE T lesser(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
SHARDC_DEVICE T greater(T a, T b) {
  return a < b ? b : a;
}

/// The sum of all lanes, in each of them.
template <typename T, class Thread>
SHARDC_DEVICE T warpSum(const Thread &self, T value) {
#pragma unroll
  for (int mask = lanesOfWarp / 2; mask > 0; mask /= 2)
    value += self.shuffleXor(value, mask);
  return value;
}

/// The largest of all lanes, in each of them; NaN counts for nothing.
template <typename T, class Thread>
SHARDC_DEVICE T warpLargest(const Thread &self, T value) {
#pragma unroll
  for (int mask = lanesOfWarp / 2; mask > 0; mask /= 2) {
    const T other = self.shuffleXor(value, mask);
    value = other > value || value != value ? other : value;
  }
  return value;
}

} // namespace shardc::runtime::kernels

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICECODE_H
