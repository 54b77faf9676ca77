//===- SymbolTable.cpp - The values of a program's symbols ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are affine in one symbol are solved by evaluating them at 0 and 1,
// and the solution is checked by evaluating it.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SymbolTable.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/SizeExpression.h"

#include <algorithm>
#include <array>

namespace shardc::pt2 {

namespace {

/// The symbols that `expression` mentions; none when it is not understood.
std::vector<std::string> symbolsOf(const std::string &expression) {
  std::set<std::string, std::less<>> names;
  // Two values, so that a division by one of them does not hide the others.
  for (int64_t value : {1, 7})
    (void)catchFailure<bool>([&] {
      (void)evaluateExpression(expression, [&](std::string_view symbol) {
        names.emplace(symbol);
        return SizeNumber(value);
      });
      return true;
    }).ok();
  return {names.begin(), names.end()};
}

std::string boundText(const std::optional<int64_t> &bound, const char *none) {
  return bound ? std::to_string(*bound) : none;
}

std::string rangeText(const RangeConstraint &range) {
  if (!range.maximum)
    return boundText(range.minimum, "any") + (range.minimum ? " or more" : "");
  return boundText(range.minimum, "up") + " to " +
         std::to_string(*range.maximum);
}

} // namespace

std::string describe(const BoundSymbol &symbol) {
  std::string text = symbol.name + " (";
  for (const std::string &place : symbol.places)
    text += place + (&place == &symbol.places.back() ? "; " : ", ");
  return text + rangeText(symbol.range) + ")";
}

//===----------------------------------------------------------------------===//
// Symbols and hints
//===----------------------------------------------------------------------===//

SymbolTable::SymbolTable(const ExportedProgram &program) {
  const Graph &graph = program.graph;
  for (const InputSpec &input : program.signature.inputs) {
    if (input.kind != InputKind::UserInput)
      continue;
    if (const TensorMeta *meta = graph.findTensor(input.name))
      for (size_t i = 0; i < meta->sizes.size(); ++i)
        addPlace(input.name + "." + std::to_string(i), meta->sizes[i],
                 program.rangeConstraints);
    auto number = graph.symIntValues.find(input.name);
    if (number != graph.symIntValues.end())
      addPlace(input.name, number->second, program.rangeConstraints);
  }
  solveHints();
}

void SymbolTable::addPlace(std::string name, const SymInt &size,
                           const NameMap<RangeConstraint> &ranges) {
  if (size.expression.empty())
    return;
  Place place{std::move(name), size.expression, size.value,
              symbolsOf(size.expression)};
  for (const std::string &symbolName : place.symbolNames) {
    auto [position, isNew] = indexByName.try_emplace(symbolName, all.size());
    if (isNew) {
      BoundSymbol &symbol = all.emplace_back();
      symbol.name = symbolName;
      auto range = ranges.find(symbolName);
      if (range != ranges.end())
        symbol.range = range->second;
    }
    if (place.symbolNames.size() == 1)
      all[position->second].places.push_back(place.name);
  }
  places.push_back(std::move(place));
}

void SymbolTable::solveHints() {
  for (const Place &place : places) {
    if (!place.hint || place.symbolNames.size() != 1)
      continue;
    if (std::optional<int64_t> value = solve(place, *place.hint))
      hints.emplace(place.symbolNames.front(), *value);
  }
  values = hints;
  for (BoundSymbol &symbol : all)
    if (auto hint = hints.find(symbol.name); hint != hints.end())
      symbol.value = hint->second;
}

/// The value of the only symbol of `place` that makes its size `size`.
std::optional<int64_t> SymbolTable::solve(const Place &place,
                                          int64_t size) const {
  auto at = [&](const SizeNumber &value) {
    return evaluateExpression(place.expression,
                              [&](std::string_view) { return value; });
  };
  StatusOr<std::optional<int64_t>> solution =
      catchFailure<std::optional<int64_t>>([&]() -> std::optional<int64_t> {
        SizeNumber start = at(0);
        SizeNumber slope = at(1) - start;
        if (!slope.isTrue())
          return std::nullopt;
        SizeNumber value = (SizeNumber(size) - start) / slope;
        return at(value) == SizeNumber(size) ? value.toInteger() : std::nullopt;
      });
  return solution.ok() ? *solution : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values of the user
//===----------------------------------------------------------------------===//

const SymbolTable::Place *
SymbolTable::findPlace(const std::string &name) const {
  auto found = std::ranges::find(places, name, &Place::name);
  return found == places.end() ? nullptr : &*found;
}

void SymbolTable::failUnknown(const std::string &name) const {
  if (all.empty())
    fail(ErrorCode::E0001,
         "cannot bind '" + name + "': the model has no symbolic sizes",
         "export it with dynamic_shapes to choose sizes later");
  Status status(ErrorCode::E0001,
                "cannot bind '" + name +
                    "': the model has no symbolic size of that name");
  for (const BoundSymbol &symbol : all)
    status.addNote("it has " + describe(symbol));
  status.setHelp("bind a symbol or one of its inputs' dimensions, such as " +
                 (all.front().places.empty() ? all.front().name
                                             : all.front().places.front()) +
                 "=" + std::to_string(all.front().value));
  throw ReadFailure{std::move(status)};
}

void SymbolTable::checkRange(const BoundSymbol &symbol) const {
  const RangeConstraint &range = symbol.range;
  if ((range.minimum && symbol.value < *range.minimum) ||
      (range.maximum && symbol.value > *range.maximum))
    fail(ErrorCode::E0003,
         "expected " + rangeText(range) + " for " + symbol.name + ", got " +
             std::to_string(symbol.value),
         "the export holds for this range alone; export the model with other "
         "dynamic_shapes");
  if (symbol.value < 0)
    fail(ErrorCode::E0003, "expected 0 or more for " + symbol.name + ", got " +
                               std::to_string(symbol.value));
}

void SymbolTable::assign(const std::string &name, const std::string &spelling,
                         int64_t value) {
  BoundSymbol &symbol = all[indexByName.find(name)->second];
  if (symbol.isGiven && symbol.value != value)
    fail(ErrorCode::E0001,
         "'" + spelling + "' makes " + name + " " + std::to_string(value) +
             ", but another binding makes it " + std::to_string(symbol.value));
  symbol.isGiven = true;
  symbol.value = value;
  checkRange(symbol);
  values.insert_or_assign(name, value);
}

void SymbolTable::assignPlace(const Place &place, int64_t size) {
  if (place.symbolNames.size() != 1) {
    Status status(ErrorCode::E0001,
                  "cannot bind '" + place.name + "': its size depends on " +
                      std::to_string(place.symbolNames.size()) + " symbols");
    for (const std::string &name : place.symbolNames)
      status.addNote("bind " + describe(all[indexByName.find(name)->second]));
    throw ReadFailure{std::move(status)};
  }
  std::optional<int64_t> value = solve(place, size);
  if (!value)
    fail(ErrorCode::E0003, "no value of " + place.symbolNames.front() +
                               " makes '" + place.name + "' " +
                               std::to_string(size));
  assign(place.symbolNames.front(), place.name, *value);
}

void SymbolTable::assignBatch(int64_t size) {
  const auto first = std::ranges::find_if(
      places, [](const Place &place) { return place.name.ends_with(".0"); });
  if (first == places.end())
    fail(ErrorCode::E0001,
         "--micro-batch: the first dimension of the model's inputs is fixed",
         "export the model with shardc_export.py --dynamic-batch, or with "
         "dynamic_shapes of your own");
  assignPlace(*first, size);
}

void SymbolTable::bind(const std::map<std::string, int64_t> &given) {
  for (const auto &[name, value] : given) {
    if (name == anyBatch)
      assignBatch(value);
    else if (indexByName.contains(name))
      assign(name, name, value);
    else if (const Place *place = findPlace(name))
      assignPlace(*place, value);
    else
      failUnknown(name);
  }
  known.clear();
}

bool SymbolTable::differsFromExample() const { return values != hints; }

std::string SymbolTable::assignments() const {
  std::string text;
  for (const auto &[name, value] : values)
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

//===----------------------------------------------------------------------===//
// Sizes that depend on data
//===----------------------------------------------------------------------===//

bool SymbolTable::dependsOnData(const std::string &expression) const {
  return !expression.empty() &&
         std::ranges::any_of(symbolsOf(expression), [&](const auto &symbol) {
           return !indexByName.contains(symbol) && !values.contains(symbol);
         });
}

void SymbolTable::setBound(const std::string &symbol, int64_t bound) {
  bounds.insert_or_assign(symbol, bound);
}

bool SymbolTable::alwaysHolds(const SymBool &condition) const {
  const std::string &text = condition.expression;
  // What is monotonic holds everywhere if it does at both ends: the comparison
  // of a symbol and a number, "GreaterThan(Symbol('u0'), Integer(0))".
  auto has = [&](const char *name) {
    return text.find(name) != std::string::npos;
  };
  bool isComparison = std::ranges::count(text, '(') == 3 &&
                      (has("GreaterThan(") || has("LessThan("));
  std::vector<std::string> names = symbolsOf(text);
  if (!isComparison || names.size() != 1 || !bounds.contains(names.front()))
    return false;
  return std::ranges::all_of(
      std::array{int64_t(0), bounds.find(names.front())->second},
      [&](int64_t count) {
        return evaluateExpression(
                   text, [&](std::string_view) { return SizeNumber(count); })
            .isTrue();
      });
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SizeNumber SymbolTable::lookUp(std::string_view symbol) const {
  auto value = values.find(symbol);
  if (value != values.end())
    return SizeNumber(value->second);
  if (auto bound = bounds.find(symbol); bound != bounds.end())
    return SizeNumber(bound->second);
  if (indexByName.contains(symbol))
    fail(errors::uncomputableSize,
         "the value of symbol " + std::string(symbol) +
             " does not follow from the inputs' sizes",
         "bind it with --bind " + std::string(symbol) + "=N");
  fail(errors::dataDependentSize,
       "the size " + std::string(symbol) +
           " depends on the values of tensors, not on their sizes",
       "compute it with tensors of fixed size, for example torch.where or a "
       "mask instead of nonzero, boolean indexing or .item()");
}

SizeNumber SymbolTable::evaluate(const std::string &expression) {
  auto found = known.find(expression);
  if (found != known.end())
    return found->second;
  SizeNumber value = evaluateExpression(
      expression, [&](std::string_view symbol) { return lookUp(symbol); });
  known.emplace(expression, value);
  return value;
}

/// `convert` makes a T of a number, or nothing when it is none.
template <typename T, typename Convert>
T SymbolTable::resolveAs(const Symbolic<T> &symbolic, Convert convert) {
  if (symbolic.expression.empty()) {
    if (!symbolic.value)
      fail(errors::inconsistentProgram, "a symbolic value has no expression");
    return *symbolic.value;
  }
  std::optional<T> computed;
  try {
    SizeNumber number = evaluate(symbolic.expression);
    computed = convert(number);
    if (!computed)
      fail(errors::uncomputableSize,
           "expected a whole number as size, got " + number.toText());
  } catch (ReadFailure &failure) {
    // The example's values are right even where this reader cannot say why.
    bool isExample = symbolic.value && !differsFromExample();
    if (isExample && failure.status.code() == errors::uncomputableSize)
      return *symbolic.value;
    if (failure.status.code() == errors::uncomputableSize && !values.empty())
      failure.status.addNote("with " + assignments());
    throw;
  }
  if (symbolic.value && !differsFromExample() && *symbolic.value != *computed)
    fail(errors::inconsistentProgram, "a size is " + std::to_string(*computed) +
                                          " by its expression, but was " +
                                          std::to_string(*symbolic.value) +
                                          " for the example");
  return *computed;
}

int64_t SymbolTable::resolve(const SymInt &size) {
  return resolveAs(size,
                   [](const SizeNumber &value) { return value.toInteger(); });
}

double SymbolTable::resolve(const SymFloat &value) {
  // Hints of floats are rounded in their own way; they are not compared.
  SymFloat withoutHint = value;
  if (!value.expression.empty() && differsFromExample())
    withoutHint.value.reset();
  else if (value.value)
    return *value.value;
  return resolveAs(withoutHint, [](const SizeNumber &number) {
    return std::optional(number.toDouble());
  });
}

bool SymbolTable::resolve(const SymBool &value) {
  return resolveAs(value, [](const SizeNumber &number) {
    return std::optional(number.isTrue());
  });
}

} // namespace shardc::pt2
