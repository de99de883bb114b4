# Writes a C file with the text of each file of a folder: cmake -DFOLDER=... -DNAMES=a,b -DOUTPUT=... -P embed.cmake
string(REPLACE "," ";" names "${NAMES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const char text_${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", text_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "/* Made by embed.cmake. */\n#include \"cli/templates.h\"\n\n#include <stddef.h>\n\n${arrays}\n"
  "const template_file template_files[] = {\n${rows}    {NULL, NULL},\n};\n")
