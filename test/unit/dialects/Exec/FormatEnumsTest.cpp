//===- FormatEnumsTest.cpp - Enumerations on both sides -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every enumerator of the dialect has the format's of its name, and no other of
// them does.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/FormatEnums.h"

#include "gtest/gtest.h"

#include <set>

using namespace shardc;

/// Of `count` enumerators of the dialect: as many different ones of the format,
/// which has `names`.
template <typename Enum, typename Symbolize, typename Names>
static void expectTheSame(Symbolize symbolize, uint32_t last,
                          const Names &names) {
  std::set<int> seen;
  for (uint32_t number = 0; number <= last; ++number) {
    const std::optional<Enum> enumerator = symbolize(number);
    ASSERT_TRUE(enumerator);
    const auto place = static_cast<size_t>(exec::toFormat(*enumerator));
    ASSERT_LT(place, names.size());
    EXPECT_EQ(stringifyEnum(*enumerator).str(), names[place]);
    seen.insert(static_cast<int>(place));
  }
  EXPECT_EQ(seen.size(), names.size());
}

TEST(FormatEnums, HaveTheNamesOfTheFormat) {
  using namespace exec;
  expectTheSame<Access>([](uint32_t n) { return symbolizeAccess(n); },
                        getMaxEnumValForAccess(), format::accessNames);
  expectTheSame<Repeat>([](uint32_t n) { return symbolizeRepeat(n); },
                        getMaxEnumValForRepeat(), format::repeatNames);
  expectTheSame<RunKind>([](uint32_t n) { return symbolizeRunKind(n); },
                         getMaxEnumValForRunKind(), format::runNames);
  expectTheSame<Space>([](uint32_t n) { return symbolizeSpace(n); },
                       getMaxEnumValForSpace(), format::spaceNames);
}

TEST(FormatEnums, HaveTheRolesOfTheFormat) {
  std::set<std::string_view> names;
  for (uint32_t number = 0; number <= exec::getMaxEnumValForRole(); ++number) {
    const exec::Role role = *exec::symbolizeRole(number);
    names.insert(format::roleName(exec::toFormat(role)));
    EXPECT_EQ(exec::stringifyRole(role).str(),
              format::roleName(exec::toFormat(role)));
  }
  EXPECT_EQ(names.size(), exec::getMaxEnumValForRole() + 1);
}
