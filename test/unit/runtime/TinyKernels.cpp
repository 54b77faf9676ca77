//===- TinyKernels.cpp - the launch kernels of the tiny model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler would emit for TinyModel.h, as a shared object: functions of
// the kernel interface, with operands in the order of the launch commands.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

static constexpr int64_t batch = 5, outputs = 3;

/// (y, target, gradient of y, loss): adds the mean squared error to the loss.
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

/// (parameter, gradient, momentum, learning rate, gradient scale): iterations
/// are elements of the shard; momentum 0.9.
extern "C" void sgd(void *const *operands, int64_t begin, int64_t end) {
  auto *parameter = static_cast<float *>(operands[0]);
  const auto *gradient = static_cast<const float *>(operands[1]);
  auto *momentum = static_cast<float *>(operands[2]);
  const float rate = *static_cast<const float *>(operands[3]);
  const float scale = *static_cast<const float *>(operands[4]);
  for (int64_t i = begin; i < end; ++i) {
    momentum[i] = 0.9f * momentum[i] + scale * gradient[i];
    parameter[i] -= rate * momentum[i];
  }
}

/// (inputs, running mean): the mean of all inputs of this rank, so that ranks
/// differ.
extern "C" void running_mean(void *const *operands, int64_t, int64_t) {
  const auto *inputs = static_cast<const float *>(operands[0]);
  auto *mean = static_cast<float *>(operands[1]);
  float sum = 0;
  for (int64_t i = 0; i < batch * 4; ++i)
    sum += inputs[i];
  *mean = 0.9f * *mean + 0.1f * sum / (batch * 4);
}
