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
  ${cupti_folder}/cupti_match.c ${cupti_folder}/cupti_decode.c
  ${cupti_folder}/cupti_session.c ${cupti_folder}/cupti_collect.c ${cupti_folder}/profile.c
  ${cupti_folder}/occupancy.c)
target_include_directories(pdhost_cupti PUBLIC "${PROJECT_SOURCE_DIR}/core" "${cupti_folder}")
target_include_directories(pdhost_cupti SYSTEM PUBLIC "${PDHOST_CUPTI_INCLUDE_DIR}" "${PDHOST_CUDA_HEADERS_DIR}")
target_link_libraries(pdhost_cupti PUBLIC pdhost::abi Threads::Threads ${CMAKE_DL_LIBS})
