# One program; experiments/paperN.cc has the tables and figures of paper N.
file(GLOB experiments CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/*.cc)
add_executable(caucus-experiments ${experiments})
target_link_libraries(caucus-experiments PRIVATE caucus_service)  # no page, so no report library
# Results say which commit made them.
set(commit_header ${PROJECT_BINARY_DIR}/experiments/caucus_commit.h)
add_custom_target(caucus_commit COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${commit_header} -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
  BYPRODUCTS ${commit_header} VERBATIM)
add_dependencies(caucus-experiments caucus_commit)
target_include_directories(caucus-experiments PRIVATE ${PROJECT_BINARY_DIR}/experiments)
