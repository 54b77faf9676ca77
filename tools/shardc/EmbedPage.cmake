# SPDX-License-Identifier: Apache-2.0
# cmake -D PAGE=page/plan-page -D D3=d3.min.js -D OUTPUT=PlanPage.cpp
#       -P EmbedPage.cmake
# Writes PAGE.html with PAGE.css, PAGE.js and the library D3 in the places of
# @PLAN_PAGE_CSS@, @PLAN_PAGE_JS@ and @D3@, as the C++ string
# `const char *const shardc::planPage`. @DATA@ stays.
file(READ ${PAGE}.html page)
foreach(part "PLAN_PAGE_CSS;${PAGE}.css" "D3;${D3}" "PLAN_PAGE_JS;${PAGE}.js")
  list(GET part 0 name)
  list(GET part 1 path)
  file(READ ${path} text)
  string(REPLACE "@${name}@" "${text}" page "${page}")
endforeach()
# String literals have a greatest length.
set(literals "")
string(LENGTH "${page}" length)
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${page}" ${begin} 8000 part)
  string(APPEND literals "\n    R\"shardc(${part})shardc\"")
  math(EXPR begin "${begin} + 8000")
endwhile()
file(WRITE ${OUTPUT} "namespace shardc {
extern const char *const planPage;
const char *const planPage =${literals};
} // namespace shardc
")
