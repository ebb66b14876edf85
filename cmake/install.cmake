include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/caucus)
set(targets caucus_flags caucus_all)
foreach(layer IN LISTS CAUCUS_LAYERS)
  list(APPEND targets caucus_${layer})
endforeach()
install(TARGETS ${targets} EXPORT caucusTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} FILE_SET HEADERS)
install(TARGETS caucus_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT caucusTargets NAMESPACE caucus:: DESTINATION ${package_dir})
configure_package_config_file(cmake/caucusConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/caucusConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/caucusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/caucusConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/caucusConfigVersion.cmake
  DESTINATION ${package_dir})
