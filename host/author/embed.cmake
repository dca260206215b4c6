# -DFROM= -DINTO=: the templates of guest-tools/templates as one C source, a row a file.
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/*)
list(SORT files)
set(rows "")
foreach(file ${files})
  file(READ ${FROM}/${file} text HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
  string(REGEX MATCH "^([^/]+)/(.*)$" whole ${file})
  set(language ${CMAKE_MATCH_1})
  set(path ${CMAKE_MATCH_2})
  string(APPEND rows
    "    { \"${language}\", \"${path}\", (const char[]){ ${text}0x00 } },\n")
endforeach()
file(WRITE ${INTO} "/* Made by embed.cmake from guest-tools/templates. */
#include \"templates.h\"

const struct author_template author_templates[] = {
${rows}    { 0 },
};
")
