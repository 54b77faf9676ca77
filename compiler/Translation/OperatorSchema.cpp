//===- OperatorSchema.cpp - Operator signatures as PyTorch writes them ----===//
// SPDX-License-Identifier: Apache-2.0
//
// A parser for the part of PyTorch's signature grammar that the operator table
// uses.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorSchema.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

#include <cassert>

using namespace shardc;
using namespace shardc::translation;
using llvm::StringRef;

namespace {

/// Reads one signature from left to right.
class SchemaParser {
public:
  explicit SchemaParser(StringRef text) : rest(text) {}

  OperatorSchema parse() {
    OperatorSchema schema;
    schema.name = takeUntil("(").str();
    expect("(");
    while (!accept(")")) {
      if (!accept("*"))
        schema.parameters.push_back(parseParameter());
      accept(",");
    }
    expect("->");
    bool isTuple = accept("(");
    while (!(isTuple ? accept(")") : rest.empty())) {
      schema.results.push_back(parseResult());
      accept(",");
    }
    assert(rest.empty() && "text after an operator's signature");
    return schema;
  }

private:
  StringRef rest;

  bool accept(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  void expect(StringRef token) {
    [[maybe_unused]] bool found = accept(token);
    assert(found && "malformed operator signature");
  }

  StringRef takeUntil(StringRef characters) {
    rest = rest.ltrim();
    StringRef taken =
        rest.take_until([&](char c) { return characters.contains(c); });
    rest = rest.drop_front(taken.size());
    return taken;
  }

  StringRef takeIdentifier() {
    rest = rest.ltrim();
    StringRef taken =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(taken.size());
    return taken;
  }

  /// `(a)` or `(a!)` after a tensor type.
  void parseAlias(char &aliasSet, bool &isMutated) {
    if (!rest.consume_front("("))
      return;
    aliasSet = rest.front();
    rest = rest.drop_front();
    isMutated = rest.consume_front("!");
    expect(")");
  }

  SchemaParameter parseParameter() {
    SchemaParameter parameter;
    parameter.kind = llvm::StringSwitch<ParameterKind>(takeIdentifier())
                         .Case("Tensor", ParameterKind::Tensor)
                         .Case("TensorOrScalar", ParameterKind::TensorOrScalar)
                         .Cases({"int", "SymInt"}, ParameterKind::Integer)
                         .Case("float", ParameterKind::Float)
                         .Case("bool", ParameterKind::Boolean)
                         .Case("Scalar", ParameterKind::Scalar)
                         .Case("str", ParameterKind::String)
                         .Case("ScalarType", ParameterKind::Dtype)
                         .Default(ParameterKind::Any);
    parseAlias(parameter.aliasSet, parameter.isMutated);
    // `Tensor?[]` is a list of optional tensors, `int[]?` an optional list.
    parameter.isOptional = rest.consume_front("?");
    if (rest.consume_front("[")) {
      parameter.isList = true;
      StringRef length = takeUntil("]");
      length.getAsInteger(10, parameter.listLength);
      expect("]");
    }
    parameter.isOptional |= rest.consume_front("?");
    parameter.name = takeIdentifier().str();
    if (accept("="))
      parameter.defaultValue = parseDefault(parameter);
    return parameter;
  }

  pt2::Argument parseDefault(const SchemaParameter &parameter) {
    if (accept("[")) {
      pt2::IntList values;
      while (!accept("]")) {
        values.push_back(parseInteger(takeUntil(",]")));
        accept(",");
      }
      return {values};
    }
    StringRef text = takeUntil(",)").rtrim();
    if (text == "None" || parameter.kind == ParameterKind::Any)
      return {pt2::None()};
    if (text == "True" || text == "False")
      return {text == "True"};
    if (text.consume_front("'"))
      return {text.drop_back().str()};
    double number = 0;
    if (parameter.kind == ParameterKind::Float ||
        (parameter.kind == ParameterKind::Scalar && text.contains('.'))) {
      [[maybe_unused]] bool failed = text.getAsDouble(number);
      assert(!failed && "malformed default value");
      return {number};
    }
    return {parseInteger(text)};
  }

  /// An integer, or the name of a reduction.
  int64_t parseInteger(StringRef text) {
    if (text == "Mean")
      return 1;
    int64_t value = 0;
    [[maybe_unused]] bool failed = text.trim().getAsInteger(10, value);
    assert(!failed && "malformed default value");
    return value;
  }

  SchemaResult parseResult() {
    SchemaResult result;
    [[maybe_unused]] StringRef type = takeIdentifier();
    assert(type == "Tensor" && "operators return tensors");
    parseAlias(result.aliasSet, result.isMutated);
    if (rest.consume_front("[")) {
      result.isList = true;
      expect("]");
    }
    takeIdentifier(); // Results of a tuple may have names.
    rest = rest.ltrim();
    return result;
  }
};

} // namespace

std::string OperatorSchema::target() const {
  auto [space, rest] = StringRef(name).split("::");
  if (rest.empty())
    std::tie(space, rest) = std::pair(StringRef("aten"), StringRef(name));
  StringRef overload = rest.contains('.') ? "" : ".default";
  return ("torch.ops." + space + "." + rest + overload).str();
}

const SchemaParameter *OperatorSchema::find(StringRef parameter) const {
  for (const SchemaParameter &candidate : parameters)
    if (candidate.name == parameter)
      return &candidate;
  return nullptr;
}

bool OperatorSchema::returnsItself() const {
  // As PyTorch 2.15 does: `y is x` of each.
  static constexpr llvm::StringLiteral names[] = {
      "to",           "type_as",
      "contiguous",   "flatten",
      "dropout",      "feature_dropout",
      "positive",     "lift_fresh",
      "real",         "conj",
      "resolve_conj", "resolve_neg",
      "atleast_1d",   "atleast_2d",
      "atleast_3d",   "broadcast_tensors"};
  return llvm::is_contained(names, StringRef(name).split('.').first);
}

OperatorSchema shardc::translation::parseSchema(StringRef text) {
  return SchemaParser(text).parse();
}
