# Writes a C file with the text of files, as an array of names and texts that ends with NULL:
# cmake -DFILES=a,b -DTYPE=template_file -DARRAY=template_files -DHEADER=cli/templates.h -DOUTPUT=... -P embed.cmake
# TYPE is a struct of two const char *, the name without its folder and the text; HEADER declares it and the array.
string(REPLACE "," ";" files "${FILES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  file(READ "${file}" bytes HEX)
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const char text_${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", text_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "/* Made by embed.cmake. */\n#include \"${HEADER}\"\n\n#include <stddef.h>\n\n${arrays}\n"
  "const ${TYPE} ${ARRAY}[] = {\n${rows}    {NULL, NULL},\n};\n")
