# A wheel of what another build of this tree has made, CAUCUS_BUILT: the same files in the same places as a wheel that is compiled, without
# compiling. python/CMakeLists.txt has the other way.
file(GLOB extension ${CAUCUS_BUILT}/python/caucus/_core*.so)
list(LENGTH extension number)
if(NOT number EQUAL 1 OR NOT EXISTS ${CAUCUS_BUILT}/caucus)
  message(FATAL_ERROR "${CAUCUS_BUILT} holds no extension module and program: build caucus_python and caucus_cli there")
endif()
add_custom_target(caucus_python)
add_custom_target(caucus_cli)
install(FILES ${extension} ${PROJECT_SOURCE_DIR}/examples/town.soi DESTINATION caucus)
install(PROGRAMS ${CAUCUS_BUILT}/caucus DESTINATION ${SKBUILD_SCRIPTS_DIR})
get_filename_component(extension ${extension} NAME)
install(CODE "execute_process(COMMAND ${CMAKE_STRIP} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/caucus/${extension}\" \"\$ENV{DESTDIR}${SKBUILD_SCRIPTS_DIR}/caucus\" COMMAND_ERROR_IS_FATAL ANY)")
