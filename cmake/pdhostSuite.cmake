# pdhost_add_suite(NAME SOURCES... [LIBRARIES ...] [LABELS ...] [TIMEOUT seconds] [ENVIRONMENT ...]): one Criterion
# suite as one CTest test. Under ThreadSanitizer Criterion does not start, so there suites are neither built with the rest nor registered.
function(pdhost_add_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LIBRARIES;LABELS;ENVIRONMENT")
  set(target "test_${name}")
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support" "${PROJECT_SOURCE_DIR}/core")
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} pdhost::abi PkgConfig::CRITERION)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=[a-z,]*thread")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  # A suite under AddressSanitizer is compiled in a quarter of the time where it is not optimised; what it tests is.
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=[a-z,]*address")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  add_test(NAME ${name} COMMAND ${target} --jobs 1)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # Tests run side by side: threads that wait for one another leave the core to those that work.
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "OMP_WAIT_POLICY=passive;${arg_ENVIRONMENT}")
endfunction()

# For a suite that loads the plugins of tests/fixtures, or the built ones.
function(pdhost_suite_fixtures name)
  target_compile_definitions(test_${name} PRIVATE FIXTURES="${PROJECT_BINARY_DIR}/tests/fixtures"
    TEST_LIB="${PROJECT_BINARY_DIR}/lib/pdhost" VERSION="${PROJECT_VERSION}")
  add_dependencies(test_${name} fixtures)
endfunction()

# Every test_*.c under tests/ is a suite of this build, but for those that only a GPU runs: none is written and forgotten.
function(pdhost_expect_suites)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/test_*.c")
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    set(needs "")
    if(source MATCHES "/tests/devices/cupti/")
      set(needs pdhost_cupti) # and that CUPTI's headers
    elseif(name MATCHES "^test_nccl_")
      set(needs communicator_nccl) # and that NCCL's
    elseif(name MATCHES "^test_cuda_")
      set(needs device_cuda)
    endif()
    if(NOT TARGET ${name} AND (NOT needs OR TARGET ${needs}))
      message(FATAL_ERROR "${source}: no suite is made of it; add it to the CMakeLists.txt beside it")
    endif()
  endforeach()
endfunction()
