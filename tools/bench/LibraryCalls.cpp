//===- LibraryCalls.cpp - oneDNN called directly --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What bench_calls.py compares the calls of a step with: the same products and
// convolutions, each one call of oneDNN on all threads (OpenMP's), on plain
// tensors of float32. Convolutions choose their layouts; the reorders that
// takes count.
//
// Reads a call a line from standard input, numbers separated by spaces:
//
//   matmul R  shape of a  strides of a  shape of b  strides of b
//   KIND MB G IC OC  IH IW OH OW KH KW  SH SW  PH PW  DH DW
//
// where R is the dimensions of each matrix or batch of them, KIND is
// convolution, convolution_backward_input or convolution_backward_weight, IC
// and OC count channels of all groups, and DH and DW are 1 where a kernel is
// not dilated. Prints the least microseconds of each.
//
// Compiles with oneDNN 2.6 and 3, to compare versions on the same lines:
//
//   c++ -std=c++20 -O2 -I ONEDNN/include LibraryCalls.cpp -o calls-of-3
//       -L ONEDNN/lib -ldnnl
//===----------------------------------------------------------------------===//

#include "oneapi/dnnl/dnnl.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

using namespace dnnl;
using Dims = memory::dims;

static constexpr auto f32 = memory::data_type::f32;
static const engine cpu(engine::kind::cpu, 0);

/// Numbers that are neither subnormal nor equal.
static memory filled(const memory::desc &layout) {
  memory made(layout, cpu);
  auto *data = static_cast<float *>(made.get_data_handle());
  for (size_t i = 0; i < layout.get_size() / sizeof(float); ++i)
    data[i] = 0.5f + static_cast<float>(i % 1021) / 1021;
  return made;
}

/// Least microseconds of those in some time.
static double minOf(const std::function<void()> &call) {
  using Clock = std::chrono::steady_clock;
  call();
  double min = 1e30;
  const auto end = Clock::now() + std::chrono::milliseconds(60);
  do {
    const auto start = Clock::now();
    call();
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    min = std::min(min, took.count());
  } while (Clock::now() < end);
  return min;
}

/// What oneDNN chooses for a primitive; `hint` is a gradient's forward. Version
/// 3 has no descriptors before that.
template <typename Primitive, typename Hint, typename... Description>
static auto chooseAs(const Hint &hint, const Description &...description) {
  using Choice = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  if constexpr (std::is_same_v<Hint, std::nullptr_t>)
    return Choice(cpu, description...);
  else
    return Choice(cpu, description..., hint);
#else
  const typename Primitive::desc described(description...);
  if constexpr (std::is_same_v<Hint, std::nullptr_t>)
    return Choice(described, cpu);
  else
    return Choice(described, cpu, hint);
#endif
}

using Arguments = std::unordered_map<int, memory>;

static double product(std::istream &in, stream &queue) {
  size_t rank;
  in >> rank;
  Dims left(rank), leftStrides(rank), right(rank), rightStrides(rank);
  for (Dims *dims : {&left, &leftStrides, &right, &rightStrides})
    for (memory::dim &value : *dims)
      in >> value;
  Dims result = left, strides(rank, 1);
  result.back() = right.back();
  for (size_t i = rank - 1; i > 0; --i)
    strides[i - 1] = strides[i] * result[i];
  const memory::desc x(left, f32, leftStrides), w(right, f32, rightStrides),
      y(result, f32, strides);
  const matmul call(chooseAs<matmul>(nullptr, x, w, y));
  const Arguments arguments = {{DNNL_ARG_SRC, filled(x)},
                               {DNNL_ARG_WEIGHTS, filled(w)},
                               {DNNL_ARG_DST, filled(y)}};
  return minOf([&] {
    call.execute(queue, arguments);
    queue.wait();
  });
}

/// A primitive between plain tensors: what it reads is reordered into its
/// layouts before, and its result after.
static double between(const primitive &call, stream &queue,
                      const std::vector<std::pair<int, memory::desc>> &plain,
                      const std::vector<memory::desc> &chosen) {
  Arguments outside, inside;
  std::vector<std::pair<memory, memory>> before, after;
  for (size_t i = 0; i < plain.size(); ++i) {
    const auto &[name, layout] = plain[i];
    const memory tensor = filled(layout);
    if (layout == chosen[i]) {
      inside.emplace(name, tensor);
      continue;
    }
    const memory blocked(chosen[i], cpu);
    inside.emplace(name, blocked);
    const bool isResult = i + 1 == plain.size();
    (isResult ? after : before)
        .emplace_back(isResult ? blocked : tensor, isResult ? tensor : blocked);
  }
  std::vector<std::pair<reorder, std::pair<memory, memory>>> first, last;
  for (const auto &pair : before)
    first.emplace_back(reorder(pair.first, pair.second), pair);
  for (const auto &pair : after)
    last.emplace_back(reorder(pair.first, pair.second), pair);
  auto runAll = [&](auto &steps) {
    for (auto &[step, pair] : steps)
      step.execute(queue, pair.first, pair.second);
  };
  return minOf([&] {
    runAll(first);
    call.execute(queue, inside);
    runAll(last);
    queue.wait();
  });
}

static double convolve(const std::string &kind, std::istream &in,
                       stream &queue) {
  memory::dim batch, groups, inputs, outputs;
  Dims from(2), to(2), kernel(2), stride(2), padding(2), dilation(2);
  in >> batch >> groups >> inputs >> outputs;
  for (Dims *pair : {&from, &to, &kernel, &stride, &padding, &dilation})
    in >> (*pair)[0] >> (*pair)[1];
  Dims after(2);
  for (size_t i = 0; i < 2; ++i) {
    const memory::dim reach = dilation[i] * (kernel[i] - 1) + 1;
    after[i] = (to[i] - 1) * stride[i] + reach - from[i] - padding[i];
    --dilation[i];
  }
  using Tag = memory::format_tag;
  const Dims x = {batch, inputs, from[0], from[1]};
  const Dims y = {batch, outputs, to[0], to[1]};
  const Dims w = groups == 1 ? Dims{outputs, inputs, kernel[0], kernel[1]}
                             : Dims{groups, outputs / groups, inputs / groups,
                                    kernel[0], kernel[1]};
  const memory::desc anyX(x, f32, Tag::any), anyW(w, f32, Tag::any),
      anyY(y, f32, Tag::any);
  const memory::desc plainX(x, f32, Tag::nchw), plainY(y, f32, Tag::nchw),
      plainW(w, f32, groups == 1 ? Tag::oihw : Tag::goihw);
  const auto forward = chooseAs<convolution_forward>(
      nullptr, prop_kind::forward_training, algorithm::convolution_direct, anyX,
      anyW, anyY, stride, dilation, padding, after);
  if (kind == "convolution")
    return between(
        convolution_forward(forward), queue,
        {{DNNL_ARG_SRC, plainX},
         {DNNL_ARG_WEIGHTS, plainW},
         {DNNL_ARG_DST, plainY}},
        {forward.src_desc(), forward.weights_desc(), forward.dst_desc()});
  if (kind == "convolution_backward_input") {
    const auto chosen = chooseAs<convolution_backward_data>(
        forward, algorithm::convolution_direct, anyX, anyW, anyY, stride,
        dilation, padding, after);
    return between(convolution_backward_data(chosen), queue,
                   {{DNNL_ARG_DIFF_DST, plainY},
                    {DNNL_ARG_WEIGHTS, plainW},
                    {DNNL_ARG_DIFF_SRC, plainX}},
                   {chosen.diff_dst_desc(), chosen.weights_desc(),
                    chosen.diff_src_desc()});
  }
  const auto chosen = chooseAs<convolution_backward_weights>(
      forward, algorithm::convolution_direct, anyX, anyW, anyY, stride,
      dilation, padding, after);
  return between(
      convolution_backward_weights(chosen), queue,
      {{DNNL_ARG_DIFF_DST, plainY},
       {DNNL_ARG_SRC, plainX},
       {DNNL_ARG_DIFF_WEIGHTS, plainW}},
      {chosen.diff_dst_desc(), chosen.src_desc(), chosen.diff_weights_desc()});
}

int main() {
  stream queue(cpu);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    std::cout << (kind == "matmul" ? product(in, queue)
                                   : convolve(kind, in, queue))
              << std::endl;
  }
}
