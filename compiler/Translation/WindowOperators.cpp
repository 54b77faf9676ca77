//===- WindowOperators.cpp - Translation of window functions --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// hann_window, hamming_window, blackman_window and bartlett_window are
// constants of their length. A periodic window of N is a symmetric one of N + 1
// without its last element.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {
/// Of the place in a window, from 0 to 1.
using WindowFunction = double (*)(NodeCall &, double);
} // namespace

static double cosine(double place, double times = 1) {
  return std::cos(2 * std::numbers::pi * times * place);
}

static double hann(NodeCall &, double place) {
  return 0.5 - 0.5 * cosine(place);
}

static double hamming(NodeCall &call, double place) {
  double alpha = call.hasParameter("alpha") ? call.number("alpha") : 0.54;
  double beta = call.hasParameter("beta") ? call.number("beta") : 0.46;
  return alpha - beta * cosine(place);
}

static double blackman(NodeCall &, double place) {
  return 0.42 - 0.5 * cosine(place) + 0.08 * cosine(place, 2);
}

static double bartlett(NodeCall &, double place) {
  return 1 - std::abs(2 * place - 1);
}

template <WindowFunction window>
static LogicalResult translateWindow(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type || !isa<FloatType>(type.getElementType()))
    return call.error("E0136") << "the window's dtype is not supported";
  bool isPeriodic = !call.hasParameter("periodic") || call.boolean("periodic");
  int64_t length = type.getNumElements();
  int64_t last = length + isPeriodic - 1;
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < length; ++i)
    elements.push_back(elementAttribute(
        type.getElementType(),
        length == 1 ? 1.0 : window(call, double(i) / double(last))));
  call.setResult(aten::ConstantOp::create(
      call.builder(), call.loc(), DenseElementsAttr::get(type, elements)));
  return success();
}

void translation::addWindowOperators(OperatorTable &table) {
  const std::pair<StringRef, TranslateFunction> windows[] = {
      {"hann_window", translateWindow<hann>},
      {"hamming_window", translateWindow<hamming>},
      {"blackman_window", translateWindow<blackman>},
      {"bartlett_window", translateWindow<bartlett>}};
  StringRef options = ", *, ScalarType? dtype=None, Layout? layout=None, "
                      "Device? device=None, bool? pin_memory=None) -> Tensor";
  auto add = [&](StringRef name, StringRef parameters,
                 TranslateFunction translate) {
    table.add((name + "(int window_length" + parameters + options).str(),
              translate);
  };
  for (const auto &[name, translate] : windows) {
    add(name, "", translate);
    add((name + ".periodic").str(), ", bool periodic", translate);
  }
  add("hamming_window.periodic_alpha", ", bool periodic, float alpha",
      translateWindow<hamming>);
  add("hamming_window.periodic_alpha_beta",
      ", bool periodic, float alpha, float beta", translateWindow<hamming>);
}
