//===- Table.h - Columns of a report --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lines of cells as aligned text.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_TABLE_H
#define SHARDC_COMPILER_PLAN_TABLE_H

#include "runtime/format/Quantities.h"

#include <string>
#include <vector>

namespace shardc {

class Table {
public:
  /// `left`: the column whose cells begin at the left; those of others end at
  /// the right.
  explicit Table(size_t left = 0) : left(left) {}

  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

  std::string print() const;

private:
  size_t left;
  std::vector<std::vector<std::string>> rows;
};

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_TABLE_H
