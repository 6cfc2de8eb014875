# The tests that are more than one folder's Catch2 cases: programs, MPI runs, and Python tests of the built binary.

# What the attacks of tests/adversarial ask: the prover without its refuter.
add_executable(prove_pairs tests/adversarial/prove_pairs.cc)
target_link_libraries(prove_pairs PRIVATE rulemill_prove $<$<NOT:$<BOOL:${RULEMILL_SANITIZE}>>:${TCMALLOC_LIBRARY}>)

# What tests/independent_checker checks: certificates of false rules.
add_executable(forge tests/independent_checker/forge.cc)
target_link_libraries(forge PRIVATE rulemill_prove)

# What tests/fuzz runs: every parser on mutated bytes.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.cc)
add_executable(fuzz ${fuzz_sources})
target_link_libraries(fuzz PRIVATE rulemill_dedup rulemill_prove rulemill_optimize)
rulemill_unity(fuzz ${fuzz_sources})
rulemill_precompiled(fuzz rulemill_runtime)

# Debian's copy of the ONNX project's operator cases, where it is installed.
add_test(NAME optimize/onnx/debian_cases COMMAND test_optimize "[onnx]" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(optimize/onnx/debian_cases PROPERTIES LABELS cpu TIMEOUT 600 SKIP_REGULAR_EXPRESSION "SKIPPED: ")

# The tests of rewriting, with models of the other float types.
foreach(type float16 bfloat16 float64)
  add_test(NAME optimize/rewriting_in_${type} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMAND test_optimize "[backtrack],[fusion],[match],[optimize],[saturate],[subgraphs],[windows]")
  set_tests_properties(optimize/rewriting_in_${type} PROPERTIES LABELS cpu TIMEOUT 600 ENVIRONMENT RULEMILL_DATA_TYPE=${type})
endforeach()

# Tests from outside: Python files that run the built binary, in the environment that scripts/install-debian.sh makes
# where it is there (onnx and onnxruntime), each under mpirun by itself where it needs ranks.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TEST_PYTHON ${Python3_EXECUTABLE})
if(EXISTS ${CMAKE_SOURCE_DIR}/build/venv/bin/python3)
  set(TEST_PYTHON ${CMAKE_SOURCE_DIR}/build/venv/bin/python3)
endif()
add_test(NAME source_rules COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/source_rules_test.py)
add_test(NAME wording COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/wording_test.py)
set_tests_properties(source_rules wording PROPERTIES LABELS cpu)
if(TARGET rulemill)
  file(GLOB outside_tests RELATIVE ${CMAKE_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*/*_test.py tests/*/*/*_test.py)
  foreach(source ${outside_tests})
    string(REGEX REPLACE "[.]py$" "" test ${source})
    add_test(NAME ${test} COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/${source})
    set_tests_properties(${test} PROPERTIES LABELS "cpu;mpi" TIMEOUT 900 SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "OK .skipped="
      ENVIRONMENT "RULEMILL=$<TARGET_FILE:rulemill>;PROVE_PAIRS=$<TARGET_FILE:prove_pairs>;FORGE=$<TARGET_FILE:forge>;FUZZ=$<TARGET_FILE:fuzz>;PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/cli;RULEMILL_CACHE=${CMAKE_BINARY_DIR}/package_cache"
      DEPENDS optimize/default_rules_test)
  endforeach()
  set_tests_properties(optimize/default_rules_test PROPERTIES DEPENDS "")  # it makes the default rules once, for all others
  # The longest begin first, so that none is left alone at the end. Slurm waits for most of its time.
  set_tests_properties(slurm/slurm_test PROPERTIES LABELS "slurm;mpi" COST 1000)
  set_tests_properties(adversarial/equal_pairs_test adversarial/standard_test cli/discover_test cli/faults_test cli/rules_import_test
    optimize/default_results_test optimize/model_proof_test python/wheel_test PROPERTIES COST 500)
  set_tests_properties(cli/farm_test cli/rules_export_pdl_test independent_checker/checker_test
    optimize/branches_test optimize/model_pairs_test optimize/verify/benchmark_test python/onnxscript_test scripts/pack_test PROPERTIES COST 100)
endif()

# At length: ctest -C Slow -L slow
add_test(NAME adversarial/pairs_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/pairs_test.py --count 20000 --seed 1000)
add_test(NAME adversarial/mutants_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/mutants_test.py --count 20000 --seed 1000)
add_test(NAME adversarial/verdicts_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/verdicts_test.py --count 3000 --seed 1000)
add_test(NAME adversarial/models_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/models_test.py --count 5000 --seed 1000)
add_test(NAME adversarial/standard_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/standard_test.py --budget 200 --programs 3000 --seed 1000)
add_test(NAME adversarial/equal_pairs_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/adversarial/equal_pairs_test.py --different 3000 --equal 1000 --seed 1000)
add_test(NAME fuzz/long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_test.py --runs 50000 --seconds 300 --seed 1000)
add_test(NAME cli/faults_long CONFIGURATIONS Slow COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/cli/faults.py --runs 200)
add_test(NAME optimize/equal_long CONFIGURATIONS Slow
  COMMAND ${TEST_PYTHON} ${CMAKE_SOURCE_DIR}/tests/optimize/equal_test.py --mutations 500 --seed 1000)
target_link_libraries(test_check PRIVATE rulemill_prove)  # its tests ask the solver
add_test(NAME check/steps_long CONFIGURATIONS Slow WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMAND test_check "no step of any kind*")
set_tests_properties(check/steps_long PROPERTIES LABELS slow TIMEOUT 10800 ENVIRONMENT RULEMILL_RANDOM_STEPS=1000000)
add_test(NAME prove/changed_steps_long CONFIGURATIONS Slow WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMAND test_prove "no changed step*")
set_tests_properties(prove/changed_steps_long PROPERTIES LABELS slow TIMEOUT 10800 ENVIRONMENT RULEMILL_MUTANTS=50)
set_tests_properties(adversarial/pairs_long adversarial/mutants_long adversarial/verdicts_long adversarial/models_long
  adversarial/standard_long adversarial/equal_pairs_long fuzz/long cli/faults_long
  optimize/equal_long
  PROPERTIES LABELS slow TIMEOUT 10800
  ENVIRONMENT "RULEMILL=$<TARGET_FILE:rulemill>;PROVE_PAIRS=$<TARGET_FILE:prove_pairs>;FUZZ=$<TARGET_FILE:fuzz>;PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/cli")

add_executable(ranks_check tests/runtime/mpi/ranks_check.cc)
target_link_libraries(ranks_check PRIVATE rulemill_runtime)
foreach(ranks 1 2 3)
  add_test(NAME runtime/ranks_${ranks}
    COMMAND ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --quiet -n ${ranks} $<TARGET_FILE:ranks_check>)
  set_tests_properties(runtime/ranks_${ranks} PROPERTIES LABELS mpi TIMEOUT 120 PASS_REGULAR_EXPRESSION "ranks: ${ranks} ok")
endforeach()

# Nodes are posed: each few ranks have memory of their own.
add_executable(levels_check tests/fingerprint/ranks_check.cc)
target_link_libraries(levels_check PRIVATE rulemill_fingerprint)
foreach(ranks 1 2 5)
  add_test(NAME fingerprint/ranks_${ranks} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMAND ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --quiet -n ${ranks} $<TARGET_FILE:levels_check>)
  set_tests_properties(fingerprint/ranks_${ranks} PROPERTIES LABELS mpi TIMEOUT 120 PASS_REGULAR_EXPRESSION "levels: ${ranks} ok")
endforeach()

# A launcher that lets the others wait: they notice themselves.
add_test(NAME runtime/lost_rank
  COMMAND ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --quiet --enable-recovery -n 3 $<TARGET_FILE:ranks_check> lost)
set_tests_properties(runtime/lost_rank PROPERTIES LABELS mpi TIMEOUT 60 PASS_REGULAR_EXPRESSION "rank 2 is lost")
