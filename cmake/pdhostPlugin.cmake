# pdhost_add_plugin(NAME KIND SOURCES... [LIBRARIES ...] [AUTHOR "name"]): one loadable plugin; KIND is SCENARIO, SINK,
# DEVICE, READER or COMMUNICATOR, and AUTHOR is whom `pdhost --list` tells one to ask.
# The same function in the tree and in the installed package.
include(GNUInstallDirs)
function(pdhost_add_plugin name kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "AUTHOR" "LIBRARIES")
  string(TOLOWER "${kind}" folder)
  if(NOT folder MATCHES "^(scenario|sink|device|reader|communicator)$")
    message(FATAL_ERROR "pdhost_add_plugin(${name}): kind is ${kind}; write SCENARIO, SINK, DEVICE, READER or COMMUNICATOR")
  endif()
  # A plugin may be called like a library of the project: the target's name is its own.
  set(target "${folder}_${name}")
  add_library(${target} MODULE ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE pdhost::abi ${arg_LIBRARIES})
  if(arg_AUTHOR)
    target_compile_definitions(${target} PRIVATE "PD_PLUGIN_AUTHOR=\"${arg_AUTHOR}\"")
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${name}" C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/pdhost/${folder}")
  if(NOT CMAKE_CXX_STANDARD) # the rows of options need C++20
    set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  endif()
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=")
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/pdhost/${folder}")
endfunction()
