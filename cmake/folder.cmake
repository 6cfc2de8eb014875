# rulemill_folder: one static library per top-level folder, with its Catch2 tests.
include(Catch)

# Small folders that are compiled as one, because most of their time goes into headers that they share. Not those of the GPU that the
# stand-in compiles again (gpu_stand_in.cmake): a program links either copy.
set(FOLDERS_COMPILED_TOGETHER
  "cli cli/info cli/manual cli/models cli/operators"
  "algebra/language algebra/library"
  "dedup/join dedup/terms"
  "enumerate/levels enumerate/terms"
  "optimize optimize/report"
  "optimize/gpu/library optimize/gpu/lowering optimize/gpu/plan"
  "optimize/onnx/format optimize/onnx/identity optimize/onnx/inputs"
  "prove prove/certificate prove/core"
  "prove/cache prove/distributed prove/tasks"
  "prove/prover prove/refuter"
  "runtime/process runtime/text")

# The folders with the loops that the job consists of. In the preset release all others are compiled with -O1, which takes a quarter
# less time: none of them took more than 1.1% of the processor time of a discovery of three or four operators, or of an optimization.
set(HOT_FOLDERS
  algebra/execution algebra/expansion algebra/operators algebra/sizes algebra/terms check/kernel dedup/candidates dedup/join egraph
  enumerate/levels fingerprint optimize/model optimize/search prove/elaboration prove/solver)

# rulemill_unity_folder(RESULT FOLDER): the folder that names the unit in which the sources of FOLDER are compiled.
function(rulemill_unity_folder result folder)
  foreach(together ${FOLDERS_COMPILED_TOGETHER})
    separate_arguments(folders UNIX_COMMAND ${together})
    if(folder IN_LIST folders)
      list(GET folders 0 folder)
    endif()
  endforeach()
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

# rulemill_unity(TARGET source...): with RULEMILL_UNITY, the sources of one folder, or of several small ones, are compiled as one.
# File-local names are therefore unique within a folder, and within those above.
function(rulemill_unity target)
  if(NOT RULEMILL_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    rulemill_unity_folder(folder ${folder})
    string(REPLACE "/" "_" group ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    if(NOT folder IN_LIST HOT_FOLDERS)  # CMake leaves a source with options of its own out of the unit, so the unit has them
      set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity/unity_${group}_cxx.cxx
        PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
    endif()
  endforeach()
endfunction()

# The standard headers that most sources include.
set(COMMON_HEADERS
  <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
  <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# rulemill_precompiled(TARGET FIRST [header...]): with RULEMILL_PRECOMPILE, TARGET reads the common headers and others precompiled.
# The target FIRST precompiles them for all that name it. A source includes what it needs all the same: other presets, clang-tidy and nvcc
# read it without them.
function(rulemill_precompiled target first)
  if(NOT RULEMILL_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# rulemill_folder(NAME DEPENDS folder... LIBRARIES target-or-file... SYSTEM include-dir... EXTRA generated-source...)
# The library rulemill_NAME is made of NAME/**/*.cc. Its tests are tests/NAME/**/*_test.cc, one program that runs in the source
# folder; each Catch2 case is a test of its own.
function(rulemill_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;SYSTEM;EXTRA" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${name}/*.cc)
  if(RULEMILL_HAVE_CUDA)
    file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${name}/*.cu)
  endif()
  add_library(rulemill_${name} STATIC ${sources} ${cuda_sources} ${ARG_EXTRA})
  set_target_properties(rulemill_${name} PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME ${name})
  if(NOT name STREQUAL execute)  # its kernels are compiled one by one, as they are measured
    rulemill_unity(rulemill_${name} ${sources})
    rulemill_precompiled(rulemill_${name} rulemill_runtime)
  endif()
  set_source_files_properties(${ARG_EXTRA} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(TRANSFORM ARG_DEPENDS PREPEND rulemill_)
  target_link_libraries(rulemill_${name} PUBLIC rulemill_settings ${ARG_DEPENDS} ${ARG_LIBRARIES})
  target_include_directories(rulemill_${name} SYSTEM PUBLIC ${ARG_SYSTEM})
  if(RULEMILL_HAVE_CUDA)
    target_compile_definitions(rulemill_${name} PUBLIC RULEMILL_HAVE_CUDA)
  endif()

  file(GLOB_RECURSE tests CONFIGURE_DEPENDS tests/${name}/*_test.cc)
  if(tests)
    add_executable(test_${name} ${tests})
    rulemill_unity(test_${name} ${tests})
    rulemill_precompiled(test_${name} test_runtime <catch2/catch.hpp>)
    target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # what takes time is in the libraries
    # tcmalloc as in rulemill: a quarter of the time of tests that prove.
    target_link_libraries(test_${name} PRIVATE rulemill_${name} Catch2::Catch2WithMain $<$<NOT:$<BOOL:${RULEMILL_SANITIZE}>>:${TCMALLOC_LIBRARY}>)
    target_compile_definitions(test_${name} PRIVATE RULEMILL_SOURCE_DIR=".")
    catch_discover_tests(test_${name} TEST_PREFIX "${name}: " WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      PROPERTIES LABELS cpu TIMEOUT 600 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  endif()
endfunction()
