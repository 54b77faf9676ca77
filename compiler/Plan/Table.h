//===- Table.h - Columns of a report --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lines of cells as aligned text; the first column begins at the left, the
// others end at the right.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_TABLE_H
#define SHARDC_COMPILER_PLAN_TABLE_H

#include "runtime/format/Quantities.h"

#include <string>
#include <vector>

namespace shardc {

class Table {
public:
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

  std::string print() const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_TABLE_H
