# SPDX-License-Identifier: Apache-2.0
# cmake -D INPUT=page.md -D NAME=thePage -D OUTPUT=page.cpp -P EmbedText.cmake
# Writes a text file as the C++ string `const char *const shardc::NAME`. String
# literals have a greatest length, so every section is a literal of its own.
file(READ ${INPUT} text)
string(REPLACE "\n## " "\n)shardc\"\n    R\"shardc(## " text "${text}")
file(WRITE ${OUTPUT} "namespace shardc {
extern const char *const ${NAME};
const char *const ${NAME} =
    R\"shardc(${text})shardc\";
} // namespace shardc
")
