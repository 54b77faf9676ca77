//===- TinyKernels.cpp - The launch kernels of the tiny model -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler would emit for TinyModel.h, as a shared object: functions of
// the kernel interface, with operands in the order of the launch commands, and
// their signatures.
//===----------------------------------------------------------------------===//

#include <cstdint>

static constexpr int64_t batch = 5, outputs = 3;

/// The symbol NAME.signature beside the kernel NAME.
#define SHARDC_SIGNATURE(NAME, TEXT)                                           \
  extern "C" {                                                                 \
  extern const char NAME##_signature[] __asm__(#NAME ".signature");            \
  const char NAME##_signature[] = TEXT;                                        \
  }

/// (y, target, gradient of y, loss): adds the mean squared error to the loss.
SHARDC_SIGNATURE(squared_error, "1;60:4:r;60:4:r;60:4:w;4:4:rw")
extern "C" void squared_error(void *const *operands, int64_t, int64_t) {
  const auto *y = static_cast<const float *>(operands[0]);
  const auto *target = static_cast<const float *>(operands[1]);
  auto *gradient = static_cast<float *>(operands[2]);
  auto *loss = static_cast<float *>(operands[3]);
  float sum = 0;
  for (int64_t i = 0; i < batch * outputs; ++i) {
    const float difference = y[i] - target[i];
    gradient[i] = 2 * difference / (batch * outputs);
    sum += difference * difference;
  }
  *loss += sum / (batch * outputs);
}

/// (gradient of y, gradient of bias): iterations are outputs.
SHARDC_SIGNATURE(bias_gradient, "3;60:4:r;12:4:w")
extern "C" void bias_gradient(void *const *operands, int64_t begin,
                              int64_t end) {
  const auto *gradient = static_cast<const float *>(operands[0]);
  auto *bias = static_cast<float *>(operands[1]);
  for (int64_t j = begin; j < end; ++j) {
    bias[j] = 0;
    for (int64_t i = 0; i < batch; ++i)
      bias[j] += gradient[i * outputs + j];
  }
}

/// (parameter, gradient, momentum, learning rate, micro-batches): iterations
/// are elements of the shard; momentum 0.9.
static void sgd(void *const *operands, int ranks, int64_t begin, int64_t end) {
  auto *parameter = static_cast<float *>(operands[0]);
  const auto *gradient = static_cast<const float *>(operands[1]);
  auto *momentum = static_cast<float *>(operands[2]);
  const auto rate =
      static_cast<float>(*static_cast<const double *>(operands[3]));
  const auto scale = static_cast<float>(
      1 / (ranks * *static_cast<const double *>(operands[4])));
  for (int64_t i = begin; i < end; ++i) {
    momentum[i] = 0.9f * momentum[i] + scale * gradient[i];
    parameter[i] -= rate * momentum[i];
  }
}

/// The optimizer for a shard of ELEMENTS, which are BYTES, on RANKS: what a
/// signature says is part of the code.
#define SHARDC_SGD(ELEMENTS, BYTES, RANKS)                                     \
  SHARDC_SIGNATURE(sgd_##ELEMENTS##_on_##RANKS,                                \
                   #ELEMENTS ";" #BYTES ":4:rw;" #BYTES ":4:r;" #BYTES         \
                             ":4:rw;8:8:r;8:8:r")                              \
  extern "C" void sgd_##ELEMENTS##_on_##RANKS(void *const *operands,           \
                                              int64_t begin, int64_t end) {    \
    sgd(operands, RANKS, begin, end);                                          \
  }

SHARDC_SGD(15, 60, 1)
SHARDC_SGD(8, 32, 2)
SHARDC_SGD(5, 20, 3)
SHARDC_SGD(4, 16, 4)
SHARDC_SGD(8, 32, 4)
SHARDC_SGD(8, 32, 6)
SHARDC_SGD(3, 12, 7)
SHARDC_SGD(2, 8, 8)
SHARDC_SGD(1, 4, 15)

/// (gradients, sums of gradients), on two ranks: iterations are elements of the
/// whole buffer.
SHARDC_SIGNATURE(accumulate, "16;64:4:r;64:4:rw")
extern "C" void accumulate(void *const *operands, int64_t begin, int64_t end) {
  const auto *gradients = static_cast<const float *>(operands[0]);
  auto *sums = static_cast<float *>(operands[1]);
  for (int64_t i = begin; i < end; ++i)
    sums[i] += gradients[i];
}

/// (inputs, running mean): the mean of all inputs of this rank, so that ranks
/// differ.
SHARDC_SIGNATURE(running_mean, "1;80:4:r;4:4:rw")
extern "C" void running_mean(void *const *operands, int64_t, int64_t) {
  const auto *inputs = static_cast<const float *>(operands[0]);
  auto *mean = static_cast<float *>(operands[1]);
  float sum = 0;
  for (int64_t i = 0; i < batch * 4; ++i)
    sum += inputs[i];
  *mean = 0.9f * *mean + 0.1f * sum / (batch * 4);
}

/// Nothing launches it: a kernel without a signature is refused.
extern "C" void without_signature(void *const *, int64_t, int64_t) {}
