//===- CallRunner.cpp - Running one library call in a test ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Conversions between doubles and elements, and the life of a call.
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/cpu/CallRunner.h"

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/Float16.h"
#include "runtime/format/LibraryCalls.h"
#include "test/unit/runtime/AllocationCounter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace shardc::runtime::testing {

TestTensor::TestTensor(Dtype dtype, Shape shape, Shape strides) {
  reference.dtype = dtype;
  reference.shape = std::move(shape);
  reference.strides = std::move(strides);
  const Shape used = reference.strides.empty()
                         ? format::contiguousStrides(reference.shape)
                         : reference.strides;
  int64_t last = 0;
  for (size_t i = 0; i < used.size(); ++i)
    last += (reference.shape[i] - 1) * used[i];
  memory.assign(static_cast<size_t>((last + 1) * byteSize(dtype)),
                std::byte(0x5A));
}

std::byte *TestTensor::place(int64_t index) const {
  const Shape &shape = reference.shape;
  const Shape strides = reference.strides.empty()
                            ? format::contiguousStrides(shape)
                            : reference.strides;
  int64_t offset = 0;
  for (size_t i = shape.size(); i-- > 0; index /= shape[i])
    offset += index % shape[i] * strides[i];
  return memory.data() + offset * byteSize(reference.dtype);
}

template <typename T>
static double loadAs(const std::byte *place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return widen(value);
  else
    return static_cast<double>(value);
}

template <typename T>
static void storeAs(std::byte *place, T value) {
  std::memcpy(place, &value, sizeof(T));
}

/// A finite number below 65520 to the nearest; ties go to the even one.
static Float16 toFloat16(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const auto units =
      static_cast<uint16_t>(std::nearbyint(std::ldexp(std::abs(value), -unit)));
  // A carry of the significand is one of the exponent, as it should be.
  const auto magnitude = static_cast<uint16_t>(units + ((unit + 24) << 10));
  return {
      static_cast<uint16_t>(magnitude | (std::signbit(value) ? 0x8000 : 0))};
}

double TestTensor::get(int64_t index) const {
  switch (reference.dtype) {
  case Dtype::F64:
    return loadAs<double>(place(index));
  case Dtype::F32:
    return loadAs<float>(place(index));
  case Dtype::BF16:
    return loadAs<BFloat16>(place(index));
  case Dtype::F16:
    return loadAs<Float16>(place(index));
  default:
    return loadAs<int64_t>(place(index));
  }
}

void TestTensor::set(int64_t index, double value) {
  switch (reference.dtype) {
  case Dtype::F64:
    return storeAs(place(index), value);
  case Dtype::F32:
    return storeAs(place(index), static_cast<float>(value));
  case Dtype::BF16:
    return storeAs(place(index), narrow<BFloat16>(static_cast<float>(value)));
  case Dtype::F16:
    return storeAs(place(index), toFloat16(value));
  default:
    return storeAs(place(index), static_cast<int64_t>(value));
  }
}

std::vector<double> TestTensor::values() const {
  std::vector<double> list;
  for (int64_t i = 0; i < size(); ++i)
    list.push_back(get(i));
  return list;
}

std::vector<double> TestTensor::fillRandom(std::mt19937 &generator,
                                           double scale) {
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < size(); ++i)
    set(i, normal(generator));
  return values();
}

TensorView TestTensor::tensor() {
  return {memory.data(), reference.dtype, reference.shape,
          reference.strides.empty() ? format::contiguousStrides(reference.shape)
                                    : reference.strides};
}

Status runCall(const std::string &call, const Attributes &attributes,
               std::vector<TestTensor *> operands,
               std::vector<TestTensor *> results, int threads,
               MayAllocate mayAllocate) {
  format::Command command;
  command.kind = format::CommandKind::Call;
  command.callee = call;
  command.attributes = attributes;
  std::vector<TensorView> tensors;
  for (const auto *list : {&operands, &results})
    for (TestTensor *tensor : *list) {
      command.operands.push_back(tensor->reference);
      tensors.push_back(tensor->tensor());
    }
  if (Status status = format::checkLibraryCall(command); !status.ok())
    return status;
  LibraryCallOr prepared = prepareLibraryCall(command, std::move(tensors));
  if (!prepared.ok())
    return prepared.status();
  const ScratchNeed need = (*prepared)->scratchNeed();
  const size_t bytes =
      need.shared + need.perWorker * static_cast<size_t>(threads);
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(64, alignScratch(bytes + 1)), &std::free);
  std::memset(memory.get(), 0xFF, alignScratch(bytes + 1));
  const auto pool = std::move(*WorkerPool::create(threads, {100}));
  WorkerPool &workers = *pool;
  const Scratch scratch(static_cast<std::byte *>(memory.get()), need);
  if (Status status = (*prepared)->run(workers, scratch); !status.ok())
    return status;
  // The first run may set up what stays; after it a call takes no memory.
  const shardc::testing::AllocationCounter counter;
  const Status status = (*prepared)->run(workers, scratch);
  if (mayAllocate == MayAllocate::No)
    EXPECT_EQ(counter.count(), 0) << call << "\n" << counter.place();
  return status;
}

double largestError(const std::vector<double> &a, const std::vector<double> &b,
                    double scale) {
  if (a.size() != b.size())
    return std::nan("");
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(a[i] - b[i]) / (scale + std::abs(b[i]));
    if (std::isnan(error))
      return error;
    largest = std::max(largest, error);
  }
  return largest;
}

double tolerance(Dtype dtype) {
  switch (dtype) {
  case Dtype::F64:
    return 1e-13;
  case Dtype::F32:
    return 3e-6;
  default:
    return 8e-3;
  }
}

} // namespace shardc::runtime::testing
