//===- NodeCall.h - One node of an export being translated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the translation of one operator works with: the node's arguments by
// their names in the operator's signature, defaults filled in and kinds
// checked; the SSA values behind tensor arguments; a builder that reports
// instead of aborting when operators do not fit together; and the place to put
// the results. Errors name the operator, the node and the module.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_NODECALL_H
#define SHARDC_COMPILER_TRANSLATION_NODECALL_H

#include "compiler/Translation/Autocast.h"
#include "compiler/Translation/OperatorSchema.h"
#include "compiler/Translation/Requirements.h"
#include "compiler/Translation/TensorSlots.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TypeUtilities.h"

#include <complex>
#include <variant>

namespace shardc::translation {

/// A Python number, as exports keep it: an int stays an int.
using Scalar = std::variant<int64_t, double>;

/// The number as a float.
double toDouble(const Scalar &scalar);

class NodeCall {
public:
  NodeCall(const pt2::Graph &graph, const pt2::Node &node,
           const OperatorSchema &schema, TensorSlots &slots,
           Requirements &requirements, mlir::OpBuilder &builder,
           mlir::Location location, const Autocast *autocast,
           bool &floatTypesDiffer)
      : graph(graph), node(node), schema(schema), slots(slots),
        requirements(requirements), opBuilder(builder), location(location),
        autocast(autocast), floatTypesDiffer(floatTypesDiffer) {}

  /// Checks the arguments against the signature; the accessors below may be
  /// called after success. Reports what does not fit.
  llvm::LogicalResult checkArguments();

  mlir::OpBuilder &builder() { return opBuilder; }
  mlir::Location loc() const { return location; }
  const pt2::Node &getNode() const { return node; }

  //===--------------------------------------------------------------------===//
  // Arguments, by their names in the signature
  //===--------------------------------------------------------------------===//

  /// Whether the operator's signature has such a parameter.
  bool hasParameter(llvm::StringRef name) const {
    return schema.find(name) != nullptr;
  }
  bool isNone(llvm::StringRef name) const;
  /// Whether a number was passed for a tensor parameter, as in `x + 1`.
  bool isNumber(llvm::StringRef name) const;

  /// Whether True or False was passed for a number.
  bool isBoolean(llvm::StringRef name) const;

  /// The value of a tensor argument, or a complex number as a constant. A
  /// parameter or buffer is read here.
  mlir::Value tensor(llvm::StringRef name);
  /// The same as the operator `op` takes it, which PyTorch makes of this one: a
  /// list of autocast has the name of that.
  mlir::Value tensorOf(llvm::StringRef op, llvm::StringRef name);
  /// Null for None.
  mlir::Value optionalTensor(llvm::StringRef name);
  llvm::SmallVector<mlir::Value> tensors(llvm::StringRef name);
  /// The elements of a `Tensor?[]`, null for None.
  llvm::SmallVector<mlir::Value> optionalTensors(llvm::StringRef name);
  mlir::RankedTensorType typeOf(llvm::StringRef name) const;
  /// Whether a tensor argument is contiguous in PyTorch, row-major without
  /// gaps.
  bool isContiguous(llvm::StringRef name) const;
  /// Where a tensor argument starts in its memory in PyTorch, in elements;
  /// nothing where that depends on data.
  std::optional<int64_t> storageOffset(llvm::StringRef name) const;

  /// Whether PyTorch can view a tensor argument in `shape` without a copy,
  /// which depends on its strides.
  bool isViewable(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;

  int64_t integer(llvm::StringRef name) const;
  std::optional<int64_t> optionalInteger(llvm::StringRef name) const;
  /// A list of integers, repeated to the signature's length when it has one;
  /// empty for None.
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  double number(llvm::StringRef name) const;
  /// A list of floats; empty for None.
  llvm::SmallVector<double> numbers(llvm::StringRef name) const;
  bool boolean(llvm::StringRef name) const;
  llvm::StringRef text(llvm::StringRef name) const;
  Scalar scalar(llvm::StringRef name) const;
  /// The element type of a dtype argument; null for None and for a dtype that
  /// is not supported.
  mlir::Type dtype(llvm::StringRef name) const;
  /// Checks that the integers of an argument lie in [minimum, 2^31).
  llvm::LogicalResult checkRange(llvm::StringRef name, int64_t minimum);
  /// A dimension argument, counted from the front. Fails outside of `rank`.
  llvm::FailureOr<int64_t> dimension(llvm::StringRef name, int64_t rank);

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// How many tensors the node has for results, lists counted by element.
  size_t resultCount() const;
  /// The type that the export gives result `index`; null for an element of a
  /// tuple that nothing uses.
  mlir::RankedTensorType resultType(size_t index = 0) const;

  /// The results, one value a tensor; null where nothing uses it.
  void setResults(mlir::ValueRange values) {
    results.assign(values.begin(), values.end());
  }
  void setResult(mlir::Value value) { results.assign({value}); }

  /// The results are memory of their own whatever the signature says.
  void setResultsAreCopies() { resultsAreCopies = true; }

  /// Whether the operator changes an argument and returns it.
  bool isInPlace() const {
    return !schema.results.empty() && schema.results.front().isMutated;
  }

  /// The argument that such an operator changes: `self`, or `out`.
  llvm::StringRef mutatedParameter() const;

  /// Gives the tensor argument `name` a new value, as an in-place operator
  /// does. Every view of its memory changes with it, and a buffer is written
  /// back; a change of a parameter is an error.
  llvm::LogicalResult change(llvm::StringRef name, mlir::Value value);

  /// Checks the results against the export's types and defines their names by
  /// the signature's alias annotations.
  llvm::LogicalResult defineResults();

  //===--------------------------------------------------------------------===//
  // Building and reporting
  //===--------------------------------------------------------------------===//

  /// Builds an operator with inferred result types. Fails, with a diagnostic,
  /// where the operands' types do not fit; `Op::create` would abort.
  template <typename Op, typename... Arguments>
  llvm::FailureOr<Op> create(Arguments &&...arguments) {
    mlir::OperationState state(location, Op::getOperationName());
    llvm::SmallVector<mlir::Type> placeholders(
        numberOfResults<Op>(), mlir::NoneType::get(opBuilder.getContext()));
    Op::build(opBuilder, state, mlir::TypeRange(placeholders),
              std::forward<Arguments>(arguments)...);
    mlir::Operation *op = createInferred(state);
    if (!op)
      return mlir::failure();
    return llvm::cast<Op>(op);
  }

  /// Builds an operator whose first result is the node's only one.
  template <typename Op, typename... Arguments>
  llvm::LogicalResult translate(Arguments &&...arguments) {
    llvm::FailureOr<Op> op = create<Op>(std::forward<Arguments>(arguments)...);
    if (mlir::failed(op))
      return mlir::failure();
    setResult((*op)->getResult(0));
    return mlir::success();
  }

  /// `value`, which has the floating-point dtype of the argument `self` in the
  /// export, in the one that `self` has under any policy.
  mlir::Value followSelf(mlir::Value value);

  /// `value` in another element type; `value` itself where it has it. Complex
  /// numbers in a floating-point type get parts of it.
  mlir::Value convert(mlir::Value value, mlir::Type element);

  /// `value` in the dtype that the argument `dtype` asks for; `value` itself
  /// without one. Like the author's own `.to()`, the conversion stays where it
  /// changes nothing in the export: under a policy it says what is computed in
  /// f32. Fails with E0136.
  mlir::FailureOr<mlir::Value> inAskedDtype(mlir::Value value);

  /// Where an element of `condition` (i1, any shape) is false, PyTorch raises
  /// at this node, and the loss is NaN. Null for null.
  void require(mlir::Value condition) {
    requirements.add(opBuilder, location, condition);
  }
  /// The same for integers below `min`, or from `limit` on.
  void requireBounds(mlir::Value integers, int64_t min,
                     std::optional<int64_t> limit = std::nullopt) {
    requirements.addBounds(opBuilder, location, integers, min, limit);
  }

  /// Starts an error at this node: "E0131: aten.relu.default: ".
  mlir::InFlightDiagnostic error(llvm::StringRef number);

  /// Reports that translation does not handle this value of an argument.
  llvm::LogicalResult unsupported(llvm::StringRef argument,
                                  const llvm::Twine &expected,
                                  const llvm::Twine &help = {});

private:
  const pt2::Graph &graph;
  const pt2::Node &node;
  const OperatorSchema &schema;
  TensorSlots &slots;
  Requirements &requirements;
  mlir::OpBuilder &opBuilder;
  mlir::Location location;
  /// The autocast region that encloses the node, or null.
  const Autocast *autocast;
  /// Whether the export's floating-point types are no longer the program's,
  /// because it did not record what autocast does.
  bool &floatTypesDiffer;
  llvm::SmallVector<mlir::Value> results;
  bool resultsAreCopies = false;

  template <typename Op>
  static constexpr unsigned numberOfResults() {
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneResult>())
      return 1;
    else if constexpr (Op::template hasTrait<
                           mlir::OpTrait::NResults<2>::Impl>())
      return 2;
    else if constexpr (Op::template hasTrait<
                           mlir::OpTrait::NResults<3>::Impl>())
      return 3;
    else if constexpr (Op::template hasTrait<
                           mlir::OpTrait::NResults<4>::Impl>())
      return 4;
    else
      return 5; // batch_norm; a mismatch asserts in Op::build.
  }

  mlir::Operation *createInferred(mlir::OperationState &state);
  const pt2::Argument &argument(llvm::StringRef name) const;
  mlir::Value valueOf(const pt2::TensorRef &tensor, llvm::StringRef op);
  mlir::RankedTensorType complexNumberType() const;
  mlir::Value complexNumber(std::complex<double> number);
  llvm::LogicalResult checkArgument(const SchemaParameter &parameter);
  llvm::LogicalResult checkLength(const SchemaParameter &parameter,
                                  const pt2::Argument &given);
  llvm::LogicalResult checkTensor(const pt2::TensorRef &tensor);
  llvm::SmallVector<llvm::StringRef> resultNames() const;
  llvm::LogicalResult checkResult(size_t index, llvm::StringRef name);
  llvm::StringRef itselfName(const SchemaResult &result, size_t index) const;
  llvm::LogicalResult defineResult(const SchemaResult &result, size_t index,
                                   llvm::StringRef name, mlir::Value value);
  /// `value`, which replaces that of the tensor called `original`, in the dtype
  /// that this has under any policy: PyTorch writes into memory that stays.
  mlir::Value inDtypeOf(llvm::StringRef original, mlir::Value value);
  bool isLikeSelf() const;
  const SchemaParameter *aliasedParameter(const SchemaResult &result) const;
  llvm::StringRef tensorName(llvm::StringRef argument) const;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_NODECALL_H
