# cmake --install: the program with its data, and the libraries as a CMake package (find_package(rulemill), rulemill::prove, ...).
include(CMakePackageConfigHelpers)

set(FOLDERS runtime algebra enumerate execute fingerprint dedup egraph check prove optimize pipeline)
list(TRANSFORM FOLDERS PREPEND rulemill_ OUTPUT_VARIABLE libraries)
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/rulemill)

install(TARGETS rulemill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY data/ pages DESTINATION ${CMAKE_INSTALL_DATADIR}/rulemill)
install(CODE "execute_process(COMMAND bash ${CMAKE_SOURCE_DIR}/scripts/install_manual.sh $<TARGET_FILE:rulemill>
  \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR} COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY python/onnxruntime_helpers python/rulemill DESTINATION ${CMAKE_INSTALL_DATADIR}/rulemill/python PATTERN __pycache__ EXCLUDE)
install(TARGETS rulemill_settings ${libraries} EXPORT rulemill ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT rulemill NAMESPACE rulemill:: FILE rulemillTargets.cmake DESTINATION ${PACKAGE_FOLDER})
install(DIRECTORY ${FOLDERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rulemill FILES_MATCHING PATTERN *.h)
install(FILES ${RULE_SET_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rulemill)
configure_package_config_file(cmake/rulemillConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/rulemillConfig.cmake
  INSTALL_DESTINATION ${PACKAGE_FOLDER})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rulemillConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rulemillConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/rulemillConfigVersion.cmake
  DESTINATION ${PACKAGE_FOLDER})
