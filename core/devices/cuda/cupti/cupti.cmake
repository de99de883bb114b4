# Defines pdhost_cupti, the CUPTI part of the CUDA device: needs the toolkit's headers to build and nothing of CUDA to
# load. Included by the device and by the tests; without the headers it defines nothing.
if(TARGET pdhost_cupti)
  return()
endif()
find_path(PDHOST_CUPTI_INCLUDE_DIR cupti.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include)
find_path(PDHOST_CUDA_HEADERS_DIR cuda_occupancy.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} "${PDHOST_CUPTI_INCLUDE_DIR}" ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
mark_as_advanced(PDHOST_CUPTI_INCLUDE_DIR PDHOST_CUDA_HEADERS_DIR)
if(NOT PDHOST_CUPTI_INCLUDE_DIR OR NOT PDHOST_CUDA_HEADERS_DIR)
  message(STATUS "CUPTI: no cupti.h or cuda_occupancy.h found; pdhost_cupti is not built")
  return()
endif()
set(cupti_folder "${CMAKE_CURRENT_LIST_DIR}")
add_library(pdhost_cupti STATIC
  ${cupti_folder}/cupti_api.c ${cupti_folder}/cupti_allowlist.c ${cupti_folder}/cupti_buffers.c
  ${cupti_folder}/cupti_match.c ${cupti_folder}/cupti_decode.c ${cupti_folder}/cupti_settle.c ${cupti_folder}/cupti_callbacks.c
  ${cupti_folder}/demangle.c
  ${cupti_folder}/cupti_session.c ${cupti_folder}/cupti_collect.c ${cupti_folder}/cupti_profile.c
  ${cupti_folder}/occupancy.c ${cupti_folder}/comma_list.c ${cupti_folder}/cupti_places.c
  ${cupti_folder}/cupti_rows.c ${cupti_folder}/../cuda_peaks.c)
target_include_directories(pdhost_cupti PUBLIC "${PROJECT_SOURCE_DIR}/core")
target_include_directories(pdhost_cupti SYSTEM PUBLIC "${PDHOST_CUPTI_INCLUDE_DIR}" "${PDHOST_CUDA_HEADERS_DIR}")
target_link_libraries(pdhost_cupti PUBLIC pdhost::abi Threads::Threads ${CMAKE_DL_LIBS})
# Static, as its distributors build it: the device's plugin carries it, and does not show its names to other plugins.
find_path(PDHOST_LIBIBERTY_INCLUDE_DIR libiberty/demangle.h)
find_library(PDHOST_LIBIBERTY_LIBRARY NAMES libiberty.a)
mark_as_advanced(PDHOST_LIBIBERTY_INCLUDE_DIR PDHOST_LIBIBERTY_LIBRARY)
if(PDHOST_LIBIBERTY_INCLUDE_DIR AND PDHOST_LIBIBERTY_LIBRARY)
  target_compile_definitions(pdhost_cupti PUBLIC PDHOST_HAS_LIBIBERTY)
  target_include_directories(pdhost_cupti SYSTEM PRIVATE "${PDHOST_LIBIBERTY_INCLUDE_DIR}")
  target_link_libraries(pdhost_cupti PUBLIC "${PDHOST_LIBIBERTY_LIBRARY}")
  target_link_options(pdhost_cupti INTERFACE "LINKER:--exclude-libs,libiberty.a")
else()
  message(STATUS "CUPTI: no libiberty (package libiberty-dev); names of kernels beyond 1024 characters stay mangled")
endif()
