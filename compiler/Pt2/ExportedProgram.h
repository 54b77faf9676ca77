//===- ExportedProgram.h - The program in a .pt2 archive ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The program inside a `.pt2` archive as plain structs: PyTorch's serialised
// export schema (torch/_export/serde/schema.py, major version 8) with its
// unions as std::variant, its enumerations typed, and its metadata strings
// parsed. Nothing is interpreted here: default arguments stay absent, in-place
// operators stay in place, and symbolic sizes keep both their expression and
// their hint.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_EXPORTEDPROGRAM_H
#define SHARDC_COMPILER_PT2_EXPORTEDPROGRAM_H

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardc::pt2 {

/// A map that iterates in the order of its names, and is searched without
/// making a std::string.
template <typename T>
using NameMap = std::map<std::string, T, std::less<>>;

//===----------------------------------------------------------------------===//
// Enumerations; the values are those of the file, not those of c10
//===----------------------------------------------------------------------===//

enum class ScalarType {
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Complex32 = 9,
  Complex64 = 10,
  Complex128 = 11,
  Bool = 12,
  BFloat16 = 13,
  UInt16 = 28,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
  Float8E4M3FNUZ = 31,
  Float8E5M2FNUZ = 32,
  Float8E8M0FNU = 33,
  UInt32 = 34,
  UInt64 = 35,
};

/// Bytes of one element.
int64_t byteSize(ScalarType dtype);

/// PyTorch's spelling without the `torch.` prefix: "float32", "bfloat16".
std::string_view spelling(ScalarType dtype);

enum class Layout {
  SparseCoo = 1,
  SparseCsr = 2,
  SparseCsc = 3,
  SparseBsr = 4,
  SparseBsc = 5,
  Mkldnn = 6,
  Strided = 7,
};

/// PyTorch's spelling without the `torch.` prefix: "strided", "sparse_coo".
std::string_view spelling(Layout layout);

enum class MemoryFormat {
  Contiguous = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3,
  Preserve = 4,
};

/// How a call site spelled an argument; files of torch 2.6 do not say.
enum class ArgumentKind { Unspecified = 0, Positional = 1, Keyword = 2 };

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A scalar that may be symbolic. One of three forms:
/// - a literal: `value` alone;
/// - an expression over symbols (in tensor shapes): `expression`, in sympy's
///   `srepr` notation, and in `value` its hint, the value of the example input;
/// - a value computed in the graph (in arguments): `name`, and in `value` the
///   hint recorded for that name.
/// A hint may be absent; a literal never is.
template <typename T>
struct Symbolic {
  std::optional<T> value;
  std::string expression;
  std::string name;

  bool isLiteral() const { return expression.empty() && name.empty(); }
};

using SymInt = Symbolic<int64_t>;
using SymFloat = Symbolic<double>;
using SymBool = Symbolic<bool>;

struct Graph;

/// An argument that was passed as Python's None.
struct None {};

/// A tensor value of the enclosing graph, by its SSA name.
struct TensorRef {
  std::string name;
};

struct Device {
  std::string type;
  std::optional<int64_t> index;
};

/// A Python operator passed as an argument, such as "_operator.add".
struct OperatorRef {
  std::string name;
};

/// A subgraph passed to a higher-order operator. `graph` is never null. Its
/// inputs bind by position to the arguments that follow it.
struct GraphRef {
  std::string name;
  std::shared_ptr<const Graph> graph;
};

struct Argument;

using TensorList = std::vector<TensorRef>;
using OptionalTensorList = std::vector<std::optional<TensorRef>>;
using NestedTensorList = std::vector<TensorList>;
using IntList = std::vector<int64_t>;
using IntLists = std::vector<IntList>;
using FloatList = std::vector<double>;
using FloatLists = std::vector<FloatList>;
using BoolList = std::vector<bool>;
using StringList = std::vector<std::string>;
using SymIntList = std::vector<SymInt>;
using SymFloatList = std::vector<SymFloat>;
using SymBoolList = std::vector<SymBool>;
using ArgumentMap = NameMap<Argument>;

using ArgumentValue = std::variant<
    None, TensorRef, TensorList, OptionalTensorList, NestedTensorList, int64_t,
    IntList, IntLists, double, FloatList, FloatLists, std::complex<double>,
    bool, BoolList, std::string, StringList, SymInt, SymIntList, SymFloat,
    SymFloatList, SymBool, SymBoolList, ScalarType, MemoryFormat, Layout,
    Device, OperatorRef, GraphRef, std::shared_ptr<const ArgumentMap>>;

/// One value given to, or produced by, a node. `as_optional_tensor` of the
/// file appears as TensorRef or None.
struct Argument {
  ArgumentValue value;

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  /// The value when it has type `T`, null otherwise.
  template <typename T>
  const T *getIf() const {
    return std::get_if<T>(&value);
  }
};

/// What an argument is, for messages: "tensor", "list of ints", "none".
std::string_view kindName(const Argument &argument);

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

/// The type of a tensor value. Strides and offset count elements.
struct TensorMeta {
  ScalarType dtype;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  /// Once symbols are bound: without a value where it depends on data.
  SymInt storageOffset;
  /// By dimension, the symbol of a size that depends on data, "u0": once
  /// symbols are bound, the size is its bound. Empty for every other size, and
  /// altogether where no size depends on data.
  std::vector<std::string> counts;
  /// Meaningful on parameters only: exports write false everywhere else.
  bool requiresGrad = false;
  Device device;

  /// True when a size has an expression instead of a literal.
  bool hasSymbolicSizes() const;

  /// True when sizes, strides and offset are all literals.
  bool isStatic() const;
};

struct NamedArgument {
  /// The argument's name in the operator's schema; empty for higher-order
  /// operators.
  std::string name;
  Argument argument;
  ArgumentKind kind = ArgumentKind::Unspecified;
};

/// One module of the call stack that a node was traced under.
struct ModuleFrame {
  /// The module's fully qualified name ("layers.0.norm"); empty for the root.
  std::string path;
  /// 0 for the first call of the module, 1 for the second, and so on.
  int64_t callIndex = 0;
  /// The Python class: "torch.nn.modules.normalization.LayerNorm".
  std::string typeName;

  bool operator==(const ModuleFrame &) const = default;
};

struct Node {
  /// Unique among the nodes of its graph. Taken from the first output where
  /// the file (torch 2.6) names no node.
  std::string name;
  /// "torch.ops.aten.linear.default", "_operator.mul",
  /// "torch.ops.higher_order.wrap_with_set_grad_enabled".
  std::string target;
  std::vector<NamedArgument> inputs;
  /// A tuple return is several outputs, a list return is one TensorList, an
  /// unused element of a tuple has a name without a type in the graph.
  std::vector<Argument> outputs;
  /// From the root module to the innermost one; empty for nodes that PyTorch
  /// itself inserted.
  std::vector<ModuleFrame> moduleStack;
  /// Metadata other than the module stack, as written: "torch_fn", "custom",
  /// "source_fn_stack", "stack_trace".
  NameMap<std::string> metadata;
  std::optional<bool> isHopSingleTensorReturn;

  /// The input named `name`, or null when the call left it at its default.
  const Argument *findInput(std::string_view name) const;
  /// Fully qualified name of the innermost module, empty for the root.
  std::string_view modulePath() const;
};

/// A straight-line program. Nodes are in topological order, and the reader has
/// checked that every name is defined once and before its first use.
struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  NameMap<TensorMeta> tensorValues;
  NameMap<SymInt> symIntValues;
  NameMap<SymFloat> symFloatValues;
  NameMap<SymBool> symBoolValues;
  bool isSingleTensorReturn = false;

  /// The type of tensor value `name`, or null for an unused tuple element.
  const TensorMeta *findTensor(std::string_view name) const;
};

//===----------------------------------------------------------------------===//
// Signature and program
//===----------------------------------------------------------------------===//

enum class InputKind {
  Parameter,
  Buffer,
  TensorConstant,
  UserInput,
  ConstantInput,
  Token,
};

/// What graph input number i stands for; same order as `Graph::inputs`.
struct InputSpec {
  InputKind kind;
  /// SSA name of the placeholder; empty for a user input that is a constant.
  std::string name;
  /// Name in the model of a parameter, buffer or tensor constant: the name to
  /// ask Weights for. Empty for the other kinds.
  std::string target;
  /// Buffers only: whether the buffer is part of the state dict.
  bool persistent = true;
  /// The graph's argument, or the value of a constant input.
  Argument argument;
};

enum class OutputKind {
  UserOutput,
  LossOutput,
  BufferMutation,
  ParameterMutation,
  UserInputMutation,
  GradientToParameter,
  GradientToUserInput,
  Token,
};

/// What graph output number i stands for; same order as `Graph::outputs`.
struct OutputSpec {
  OutputKind kind;
  Argument argument;
  /// The buffer, parameter or user input that a mutation or gradient is of.
  std::string target;
};

struct GraphSignature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
};

/// The calling convention of a module whose signature was preserved.
/// `inSpec` and `outSpec` are PyTorch's tree specifications, as JSON text.
struct ModuleCallSignature {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::string inSpec;
  std::string outSpec;
  std::vector<std::string> forwardArgumentNames;
};

/// One called module, containers included, in order of first call.
struct ModuleCallEntry {
  std::string fqn;
  std::optional<ModuleCallSignature> signature;
};

/// Bounds of a symbol, both inclusive; absent means unbounded.
struct RangeConstraint {
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
};

struct SchemaVersion {
  int64_t major = 0;
  int64_t minor = 0;
};

struct ExportedProgram {
  Graph graph;
  GraphSignature signature;
  std::vector<ModuleCallEntry> moduleCallGraph;
  /// Names of the root module's `forward` arguments, when the file says.
  std::vector<std::string> forwardArgumentNames;
  /// By symbol name, as it appears in the expressions ("s77").
  NameMap<RangeConstraint> rangeConstraints;
  /// Further conditions on the inputs' sizes, as Python expressions such as
  /// "L['x'].size()[0] != 3".
  std::vector<std::string> guards;
  SchemaVersion schemaVersion;
  std::string torchVersion;
  /// {"TRAINING"}: the raw output of torch.export.export, in-place operators
  /// possible. {"ATEN"}: after run_decompositions, functional.
  std::vector<std::string> verifiers;

  bool isTrainingIr() const;
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_EXPORTEDPROGRAM_H
