# SPDX-License-Identifier: Apache-2.0
# cmake -D FOLDER=machines -D FUNCTION=embeddedMachines -D OUTPUT=machines.cpp
#       -P EmbedFiles.cmake
# Writes the JSON files of a folder as a function that returns their names
# without the suffix, and texts, sorted by name.
file(GLOB files ${FOLDER}/*.json)
list(SORT files)
set(entries "")
foreach(file ${files})
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"passes/CostModel/EmbeddedFiles.h\"

namespace shardc {

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr EmbeddedFile files[] = {
${entries}  };
  return files;
}

} // namespace shardc
")
