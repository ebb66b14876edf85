# Every *_bench.cc is a program of its own, linked with Google Benchmark.
find_package(benchmark REQUIRED)
file(GLOB_RECURSE benches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/caucus/*_bench.cc ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
foreach(bench IN LISTS benches)
  get_filename_component(name ${bench} NAME_WE)
  add_executable(${name} ${bench})
  target_link_libraries(${name} PRIVATE caucus::caucus benchmark::benchmark)
endforeach()
