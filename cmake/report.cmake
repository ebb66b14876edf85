# The report's page: web/ is bundled by node and its bytes become a source of the layer `report`.
# Without node and npm, -DCAUCUS_REPORT=OFF builds everything but the command `report`.
option(CAUCUS_REPORT "Build the report (needs node 18 or later and npm)" ON)
if(NOT CAUCUS_REPORT)
  return()
endif()
set(web ${PROJECT_SOURCE_DIR}/web)
find_program(NODE_PROGRAM NAMES node nodejs)
find_program(NPM_PROGRAM NAMES npm)
# A source distribution brings the page ready-made, for those who have no node.
if(EXISTS ${web}/dist/page.cc AND NOT CAUCUS_TESTS AND (NOT NODE_PROGRAM OR NOT NPM_PROGRAM))
  set(report_page ${web}/dist/page.cc)
  return()
endif()
if(NOT NODE_PROGRAM OR NOT NPM_PROGRAM)
  message(FATAL_ERROR "The report needs node and npm (Debian: apt-get install nodejs npm), or -DCAUCUS_REPORT=OFF to build without it")
endif()

# Tests need more packages than the bundle. Either way the stamp lies in node_modules, so it goes when that goes.
if(CAUCUS_TESTS)
  set(npm_stamp ${web}/node_modules/.installed-for-tests)
  set(npm_omit "")
else()
  set(npm_stamp ${web}/node_modules/.installed)
  set(npm_omit --omit=dev)
endif()
add_custom_command(OUTPUT ${npm_stamp}
  COMMAND ${NPM_PROGRAM} ci --ignore-scripts --no-audit --no-fund --loglevel=error ${npm_omit}
  COMMAND ${CMAKE_COMMAND} -E touch ${web}/node_modules/.installed ${npm_stamp}
  DEPENDS ${web}/package.json ${web}/package-lock.json ${web}/.npmrc
  WORKING_DIRECTORY ${web} COMMENT "Packages of the report's page" VERBATIM)
add_custom_target(web_packages DEPENDS ${npm_stamp})
file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*.ts ${web}/src/*.css)
file(GLOB_RECURSE serve_sources CONFIGURE_DEPENDS ${web}/src/serve/*)
set(report_sources ${web_sources})
list(REMOVE_ITEM report_sources ${serve_sources})
set(report_page ${PROJECT_BINARY_DIR}/web/page.cc)
add_custom_command(OUTPUT ${report_page} ${PROJECT_BINARY_DIR}/web/page.html
  COMMAND ${NODE_PROGRAM} ${web}/tools/bundle.mjs ${PROJECT_BINARY_DIR}/web
  DEPENDS ${npm_stamp} ${report_sources} ${web}/tools/bundle.mjs
  WORKING_DIRECTORY ${web} COMMENT "The report's page" VERBATIM)

# Called once the command exists.
function(caucus_report_tests)
  add_test(NAME web_types COMMAND ${NPM_PROGRAM} run --silent check WORKING_DIRECTORY ${web})
  add_test(NAME web_views COMMAND ${NPM_PROGRAM} run --silent test WORKING_DIRECTORY ${web})
  # Minutes of a real browser: part of 'make test-report', not of 'make test'.
  add_test(NAME report_in_browser CONFIGURATIONS Browser COMMAND ${PROJECT_SOURCE_DIR}/scripts/test-report.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(report_in_browser PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200)
endfunction()
