# The GPU code linked with a stand-in for the GPU and its libraries (tests/gpu_stand_in): test_gpu_stand_in, and
# rulemill_stand_in for tests from outside. Needs headers of CUDA and cuDNN, but neither nvcc nor a GPU; a build for GPUs has no
# stand-in, because its folders are linked with the libraries.
find_path(CUDA_HEADERS cuda_runtime_api.h HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
find_path(CUDNN_HEADERS cudnn.h HINTS ${CUDA_HEADERS} ENV CUDNN_PATH PATH_SUFFIXES include)
if(NOT CUDA_HEADERS OR NOT CUDNN_HEADERS OR NOT EXISTS ${CUDA_HEADERS}/nvrtc.h OR NOT EXISTS ${CUDA_HEADERS}/cublasLt.h OR RULEMILL_HAVE_CUDA)
  message(STATUS "Stand-in for a GPU: no, for want of headers, or because this build is for GPUs")
  add_test(NAME gpu_stand_in COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no headers of CUDA and cuDNN, or a build for GPUs")
  set_tests_properties(gpu_stand_in PROPERTIES LABELS "cpu;gpu" SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  return()
endif()
message(STATUS "Stand-in for a GPU: ${CUDA_HEADERS}")

file(GLOB stand_in_sources CONFIGURE_DEPENDS tests/gpu_stand_in/*.cc)
set(stand_in_tests ${stand_in_sources})
list(FILTER stand_in_tests INCLUDE REGEX "(_test|/main)[.]cc$")
list(REMOVE_ITEM stand_in_sources ${stand_in_tests})
list(APPEND stand_in_tests tests/optimize/gpu/device/plan_executor_test.cc)
file(GLOB gpu_sources CONFIGURE_DEPENDS optimize/gpu/device/*.cc optimize/gpu/kernels/*.cc execute/gpu/gpu_evaluator.cc)
add_library(gpu_stand_in OBJECT ${stand_in_sources} ${gpu_sources})
target_link_libraries(gpu_stand_in PUBLIC rulemill_fingerprint rulemill_optimize)
target_include_directories(gpu_stand_in SYSTEM PUBLIC ${CUDA_HEADERS} ${CUDNN_HEADERS})
target_compile_definitions(gpu_stand_in PUBLIC RULEMILL_HAVE_GPU RULEMILL_HAVE_CUDA)
target_compile_options(gpu_stand_in PRIVATE -Wno-deprecated-declarations -O1)  # quick to compile
if(RULEMILL_UNITY)
  set_target_properties(gpu_stand_in PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${stand_in_sources} PROPERTIES UNITY_GROUP tests_gpu_stand_in)
  set_source_files_properties(tests/gpu_stand_in/cuda_backend_on_host.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

add_executable(test_gpu_stand_in ${stand_in_tests})
target_link_libraries(test_gpu_stand_in PRIVATE gpu_stand_in Catch2::Catch2)
target_compile_definitions(test_gpu_stand_in PRIVATE RULEMILL_SOURCE_DIR=".")
target_compile_options(test_gpu_stand_in PRIVATE -O0)
set_target_properties(test_gpu_stand_in PROPERTIES ENABLE_EXPORTS ON)  # the test of calls looks up functions by name
add_test(NAME gpu_stand_in COMMAND test_gpu_stand_in WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(gpu_stand_in PROPERTIES LABELS "cpu;gpu" TIMEOUT 600)

# A rulemill whose GPU is the stand-in: the same objects, but for those that call the libraries.
add_executable(rulemill_stand_in $<TARGET_OBJECTS:rulemill>)
target_link_libraries(rulemill_stand_in PRIVATE gpu_stand_in rulemill_pipeline CLI11::CLI11)
