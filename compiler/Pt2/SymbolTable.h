//===- SymbolTable.h - The values of a program's symbols ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the symbols that the inputs' sizes consist of, and gives each the value
// that the user or the example input implies. An input may be sized by more
// than a symbol: `2*s0` as the size of dimension 1 says that s0 is half of it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SYMBOLTABLE_H
#define SHARDC_COMPILER_PT2_SYMBOLTABLE_H

#include "compiler/Pt2/SizeNumber.h"
#include "compiler/Pt2/SymbolBindings.h"

#include <set>

namespace shardc::pt2 {

class SymbolTable {
public:
  /// Collects the symbols of `program` and solves the hints of its inputs.
  explicit SymbolTable(const ExportedProgram &program);

  /// Overrides values as bindSymbols describes. Throws ReadFailure.
  void bind(const std::map<std::string, int64_t> &given);

  const std::vector<BoundSymbol> &symbols() const { return all; }

  /// Whether an expression has a symbol that no input's size and no `define`
  /// says. The empty expression of a literal has none.
  bool dependsOnData(const std::string &expression) const;

  /// Gives the symbol of a size that depends on data the value that it has at
  /// most.
  void setBound(const std::string &symbol, int64_t bound);

  /// Gives the symbol of a size that depends on data the only value with which
  /// a step runs on.
  void define(const std::string &symbol, int64_t value) {
    values.insert_or_assign(symbol, value);
  }

  /// Whether a condition compares one size that depends on data with a number,
  /// and holds from 0 to the size's bound.
  bool alwaysHolds(const SymBool &condition) const;

  /// Whether some symbol has another value than in the example.
  bool differsFromExample() const;

  /// "s77 = 8, s27 = 6", for messages.
  std::string assignments() const;

  /// The value of a literal or of an expression; of the latter, the hint must
  /// agree while nothing differs from the example. Throws ReadFailure: E0119
  /// when it does not agree, E0140 when a symbol is sized by data, E0141 when
  /// there is no value.
  int64_t resolve(const SymInt &size);
  double resolve(const SymFloat &value);
  bool resolve(const SymBool &value);

private:
  /// A size of an input, under the name that a binding may use.
  struct Place {
    std::string name;
    std::string expression;
    std::optional<int64_t> hint;
    std::vector<std::string> symbolNames;
  };

  std::vector<BoundSymbol> all;
  std::vector<Place> places;
  NameMap<size_t> indexByName;
  /// By symbol; absent where the inputs' hints do not say.
  NameMap<int64_t> hints;
  /// The same, and what is defined.
  NameMap<int64_t> values;
  /// By symbol of a size that depends on data.
  NameMap<int64_t> bounds;
  /// Results by expression: a program repeats few expressions often.
  NameMap<SizeNumber> known;

  void addPlace(std::string name, const SymInt &size,
                const NameMap<RangeConstraint> &ranges);
  void solveHints();
  std::optional<int64_t> solve(const Place &place, int64_t size) const;
  const Place *findPlace(const std::string &name) const;
  void assign(const std::string &symbol, const std::string &spelling,
              int64_t value);
  void assignPlace(const Place &place, int64_t size);
  void assignBatch(int64_t size);
  [[noreturn]] void failUnknown(const std::string &name) const;
  void checkRange(const BoundSymbol &symbol) const;
  SizeNumber lookUp(std::string_view symbol) const;
  SizeNumber evaluate(const std::string &expression);
  template <typename T, typename Convert>
  T resolveAs(const Symbolic<T> &symbolic, Convert convert);
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SYMBOLTABLE_H
