# Writes HEADER with the commit that is built, and leaves it alone if it says so already: cmake -D HEADER= -D SOURCE_DIR= -P
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=10 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown commit")
endif()
set(text "#define RULEMILL_COMMIT \"${commit}\"\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${HEADER} "${text}")
endif()
