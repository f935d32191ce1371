# Fails if an object compiled for one instruction set defines a weak symbol: the linker may keep that copy of an inline
# function for every CPU, and an older CPU then meets an illegal instruction.
#
# cmake -DNM=nm "-DOBJECTS=a.o;b.o" -P weak_symbols.cmake
if(NOT OBJECTS)
  message(FATAL_ERROR "no objects to check")
endif()
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} -C --defined-only ${object}
    OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${object}")
  endif()
  string(REGEX MATCHALL "[^\n]* [WwVvu] [^\n]*" weak "${symbols}")
  if(weak)
    string(REPLACE ";" "\n" weak "${weak}")
    message(SEND_ERROR "${object} defines weak symbols:\n${weak}")
  endif()
endforeach()
