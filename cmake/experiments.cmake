# Every experiments/*.cc is a program of its own: it reproduces a table or a figure and writes small JSON and Markdown files.
file(GLOB experiments CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/*.cc)
foreach(experiment IN LISTS experiments)
  get_filename_component(name ${experiment} NAME_WE)
  add_executable(${name} ${experiment})
  target_link_libraries(${name} PRIVATE caucus::caucus)
endforeach()
