# -DMODULE= -DMANIFEST= -DINTO=: copies a tool.yaml and says in its annotations what the
# module hashes to.  The source's own manifest has no digest: each build makes another.
file(SHA256 ${MODULE} digest)
file(READ ${MANIFEST} text)
if(text MATCHES "nacre/digest")
  message(FATAL_ERROR "${MANIFEST}: nacre/digest is put in by the build, leave it out")
endif()
string(REGEX REPLACE "(\n( *)annotations:[^\n{]*\n)"
  "\\1\\2  nacre/digest: \"${digest}\"\n" stamped "${text}")
if(stamped STREQUAL text)
  message(FATAL_ERROR "${MANIFEST}: metadata needs annotations: on a line of its own")
endif()
file(WRITE ${INTO} "${stamped}")
