//===- Table.cpp - Columns of a report ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Widths count code points, of which every one is as wide as another here.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/Table.h"

#include <algorithm>

namespace shardc {

/// Code points of UTF-8.
static size_t widthOf(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
      }));
}

std::string Table::print() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], widthOf(row[i]));
    }
  std::string text;
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - widthOf(row[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += i == left ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

} // namespace shardc
