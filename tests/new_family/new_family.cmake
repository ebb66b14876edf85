# The command line with one more family: its folder here, and one line more in the list of families. Nothing else is compiled again.
file(READ ${PROJECT_SOURCE_DIR}/src/caucus/service/families.cc list)
string(REPLACE "    return made;" "    made.push_back(make_babington_smith_family());\n    return made;" longer "${list}")
if(longer STREQUAL list)
  message(FATAL_ERROR "tests/new_family: the list in service/families.cc looks different")
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/new_family/families.cc
  CONTENT "#include \"babington_smith/family.h\"\n${longer}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caucus/service/families.cc)
add_executable(caucus_new_family ${PROJECT_BINARY_DIR}/new_family/families.cc
  ${CMAKE_CURRENT_LIST_DIR}/babington_smith/family.cc $<TARGET_OBJECTS:caucus_cli> $<TARGET_OBJECTS:caucus_commands>)
target_include_directories(caucus_new_family PRIVATE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(caucus_new_family PRIVATE caucus::caucus)
add_test(NAME new_family COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_new_family.py $<TARGET_FILE:caucus_new_family>)
