//===- RecurrentOperators.cpp - Translation of LSTM, GRU and RNN ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recurrent network of PyTorch is one operator for all layers, directions and
// time steps. It becomes its cells, one after the other in time: sequences have
// a fixed length here. The products with the inputs do not wait for each other
// and are one `linear` a layer. Formulas: torch.nn.LSTM, GRU and RNN.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/RandomStream.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// What a cell carries from step to step; only an LSTM has a cell state.
struct CellState {
  Value hidden;
  Value cell;
};

/// The parameters of one layer and direction; biases may be null, and so may
/// the projection that an LSTM's hidden state goes through (proj_size).
struct CellWeights {
  Value input;
  Value hidden;
  Value inputBias;
  Value hiddenBias;
  Value projection;
};

/// The next state from the gates of the input and of the hidden state.
using CellFunction = CellState (*)(Decomposition &build, Value inputGates,
                                   Value hiddenGates, CellState state);

/// One recurrent operator.
class Recurrence {
public:
  Recurrence(NodeCall &call, CellFunction cell, bool hasCellState)
      : call(call), build(call), cell(cell), hasCellState(hasCellState) {}

  LogicalResult translate();

private:
  NodeCall &call;
  Decomposition build;
  CellFunction cell;
  bool hasCellState;
  SmallVector<Value> weights;
  bool isProjected = false;
  /// Final states of every layer and direction.
  SmallVector<Value> lastHidden, lastCell;

  LogicalResult checkWeights();
  CellWeights weightsAt(int64_t index) const;
  Value initial(StringRef name, unsigned number, int64_t index);
  Value runDirection(Value input, int64_t index, bool isReversed);
  Value runLayer(Value input, int64_t layer);
};

} // namespace

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

static Value gate(Decomposition &build, Value gates, int64_t number,
                  int64_t count) {
  if (!gates)
    return nullptr;
  int64_t dim = Decomposition::typeOf(gates).getRank() - 1;
  int64_t size = Decomposition::typeOf(gates).getDimSize(dim) / count;
  return build.slice(gates, dim, number * size, (number + 1) * size);
}

static Value sigmoid(Decomposition &build, Value value) {
  return build.build<aten::SigmoidOp>(value);
}

static Value tanh(Decomposition &build, Value value) {
  return build.build<aten::TanhOp>(value);
}

/// Gates i, f, g, o: c' = f * c + i * g, h' = o * tanh(c').
static CellState stepLstm(Decomposition &build, Value inputGates,
                          Value hiddenGates, CellState state) {
  Value gates = build.add(inputGates, hiddenGates);
  Value input = sigmoid(build, gate(build, gates, 0, 4));
  Value forget = sigmoid(build, gate(build, gates, 1, 4));
  Value candidate = tanh(build, gate(build, gates, 2, 4));
  Value output = sigmoid(build, gate(build, gates, 3, 4));
  Value next =
      build.add(build.mul(forget, state.cell), build.mul(input, candidate));
  return {build.mul(output, tanh(build, next)), next};
}

/// Gates r, z, n: n = tanh(x_n + r * h_n), h' = (1 - z) * n + z * h.
static CellState stepGru(Decomposition &build, Value inputGates,
                         Value hiddenGates, CellState state) {
  auto both = [&](int64_t number) {
    return sigmoid(build, build.add(gate(build, inputGates, number, 3),
                                    gate(build, hiddenGates, number, 3)));
  };
  Value reset = both(0), update = both(1);
  Value candidate =
      tanh(build, build.add(gate(build, inputGates, 2, 3),
                            build.mul(reset, gate(build, hiddenGates, 2, 3))));
  Value rest = build.subtractFrom(Scalar(1.0), update);
  return {
      build.add(build.mul(rest, candidate), build.mul(update, state.hidden)),
      Value()};
}

static CellState stepTanh(Decomposition &build, Value inputGates,
                          Value hiddenGates, CellState) {
  return {tanh(build, build.add(inputGates, hiddenGates)), Value()};
}

static CellState stepRelu(Decomposition &build, Value inputGates,
                          Value hiddenGates, CellState) {
  return {build.build<aten::ReluOp>(build.add(inputGates, hiddenGates)),
          Value()};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Weights and biases of each layer and direction, in PyTorch's order.
LogicalResult Recurrence::checkWeights() {
  weights = call.tensors("params");
  int64_t cells =
      call.integer("num_layers") * (call.boolean("bidirectional") ? 2 : 1);
  int64_t each = call.boolean("has_biases") ? 4 : 2;
  auto count = static_cast<int64_t>(weights.size());
  isProjected = hasCellState && count == cells * (each + 1);
  if (cells < 1 || (count != cells * each && !isProjected))
    return call.unsupported("params", Twine(cells * each) + " tensors");
  return success();
}

CellWeights Recurrence::weightsAt(int64_t index) const {
  bool hasBiases = call.boolean("has_biases");
  int64_t count = (hasBiases ? 4 : 2) + (isProjected ? 1 : 0);
  auto own = ArrayRef(weights).slice(index * count, count);
  return {own[0], own[1], hasBiases ? own[2] : Value(),
          hasBiases ? own[3] : Value(), isProjected ? own.back() : Value()};
}

/// State `number` of an operator's `hx`, [cells, B, H], at one cell.
Value Recurrence::initial(StringRef name, unsigned number, int64_t index) {
  SmallVector<Value> states = call.tensors(name);
  Value whole = states.empty() ? call.tensor(name) : states[number];
  return build.select(whole, 0, index);
}

/// All steps of one layer in one direction: [T, B, I] to [T, B, H].
Value Recurrence::runDirection(Value input, int64_t index, bool isReversed) {
  CellWeights of = weightsAt(index);
  Value gates = build.build<aten::LinearOp>(input, of.input, of.inputBias);
  CellState state{initial("hx", 0, index), Value()};
  if (hasCellState)
    state.cell = initial("hx", 1, index);
  if (!gates || !state.hidden)
    return nullptr;
  int64_t steps = Decomposition::typeOf(input).getDimSize(0);
  SmallVector<Value> outputs(steps);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t time = isReversed ? steps - 1 - i : i;
    Value hidden =
        build.build<aten::LinearOp>(state.hidden, of.hidden, of.hiddenBias);
    state = cell(build, build.select(gates, 0, time), hidden, state);
    if (of.projection)
      state.hidden =
          build.build<aten::LinearOp>(state.hidden, of.projection, Value());
    if (!state.hidden)
      return nullptr;
    outputs[time] = build.unsqueeze(state.hidden, 0);
  }
  lastHidden.push_back(build.unsqueeze(state.hidden, 0));
  if (hasCellState)
    lastCell.push_back(build.unsqueeze(state.cell, 0));
  return build.cat(outputs, 0);
}

Value Recurrence::runLayer(Value input, int64_t layer) {
  if (!call.boolean("bidirectional"))
    return runDirection(input, layer, /*isReversed=*/false);
  Value forward = runDirection(input, 2 * layer, /*isReversed=*/false);
  Value backward = runDirection(input, 2 * layer + 1, /*isReversed=*/true);
  return forward && backward ? build.cat({forward, backward}, 2) : Value();
}

LogicalResult Recurrence::translate() {
  if (failed(checkWeights()))
    return failure();
  if (call.typeOf("input").getRank() != 3)
    return call.unsupported("input", "a batch of sequences");
  bool isBatchFirst = call.boolean("batch_first");
  Value value = call.tensor("input");
  if (isBatchFirst)
    value = build.transpose(value, 0, 1);
  int64_t layers = call.integer("num_layers");
  for (int64_t layer = 0; layer < layers && value; ++layer) {
    value = runLayer(value, layer);
    if (value && call.boolean("train") && call.number("dropout") > 0 &&
        layer + 1 < layers)
      value = buildDropout(call, value, call.number("dropout"));
  }
  if (!value)
    return failure();
  SmallVector<Value> results{isBatchFirst ? build.transpose(value, 0, 1)
                                          : value,
                             build.cat(lastHidden, 0)};
  if (hasCellState)
    results.push_back(build.cat(lastCell, 0));
  return build.finish(ArrayRef<Value>(results));
}

/// One step of one cell: lstm_cell, gru_cell and rnn_*_cell.
template <CellFunction cell, bool hasCellState>
static LogicalResult translateCell(NodeCall &call) {
  Decomposition build(call);
  SmallVector<Value> states = call.tensors("hx");
  CellState state{hasCellState ? states.front() : call.tensor("hx"),
                  hasCellState ? states.back() : Value()};
  Value inputGates = build.build<aten::LinearOp>(
      call.tensor("input"), call.tensor("w_ih"), call.optionalTensor("b_ih"));
  Value hiddenGates = build.build<aten::LinearOp>(
      state.hidden, call.tensor("w_hh"), call.optionalTensor("b_hh"));
  state = cell(build, inputGates, hiddenGates, state);
  SmallVector<Value> results{state.hidden};
  if (hasCellState)
    results.push_back(state.cell);
  return build.finish(ArrayRef<Value>(results));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <CellFunction cell, bool hasCellState>
static LogicalResult translateRecurrence(NodeCall &call) {
  return Recurrence(call, cell, hasCellState).translate();
}

void translation::addRecurrentOperators(OperatorTable &table) {
  const std::string rest =
      "Tensor[] params, bool has_biases, int num_layers, float dropout, "
      "bool train, bool bidirectional, bool batch_first) -> ";
  table.add("lstm.input(Tensor input, Tensor[] hx, " + rest +
                "(Tensor, Tensor, Tensor)",
            translateRecurrence<stepLstm, true>);
  const std::string two = "(Tensor, Tensor)";
  table.add("gru.input(Tensor input, Tensor hx, " + rest + two,
            translateRecurrence<stepGru, false>);
  table.add("rnn_tanh.input(Tensor input, Tensor hx, " + rest + two,
            translateRecurrence<stepTanh, false>);
  table.add("rnn_relu.input(Tensor input, Tensor hx, " + rest + two,
            translateRecurrence<stepRelu, false>);
  const std::string weights =
      "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> ";
  table.add("lstm_cell(Tensor input, Tensor[] hx, " + weights + two,
            translateCell<stepLstm, true>);
  const std::string one =
      "_cell(Tensor input, Tensor hx, " + weights + "Tensor";
  table.add("gru" + one, translateCell<stepGru, false>);
  table.add("rnn_tanh" + one, translateCell<stepTanh, false>);
  table.add("rnn_relu" + one, translateCell<stepRelu, false>);
}
