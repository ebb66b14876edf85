# One program; experiments/paperN.cc has the tables and figures of paper N.
file(GLOB experiments CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/*.cc)
add_executable(caucus-experiments ${experiments})
target_link_libraries(caucus-experiments PRIVATE caucus::caucus)
