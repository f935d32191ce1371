# Kernels for NVIDIA's GPUs: compiled by nvcc to one file for several targets, without CMake's language CUDA. Programs
# look for the driver when they run, so kernels need nothing of CUDA where they are used.
#
# Sets PIPPIN_NVCC, PIPPIN_NVCC_HOST, PIPPIN_CUDA_CODE (arguments of nvcc) and PIPPIN_CUDA_TARGETS ("sm_80 sm_90
# compute_90"); the last is empty for a build without kernels.
set(PIPPIN_CUDA AUTO CACHE STRING "Build the kernels for NVIDIA's GPUs: AUTO (if nvcc 12.0 or later is found), ON or OFF")
set_property(CACHE PIPPIN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PIPPIN_CUDA_ARCHITECTURES "80;90" CACHE STRING
  "Compute capabilities to compile kernels for: a list such as 80;90, or `all`; later GPUs compile those of the last")
set(PIPPIN_CUDA_TARGETS "")
set(PIPPIN_CUDA_CODE "")

function(pippin_find_nvcc)
  if(NOT PIPPIN_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PIPPIN_CUDA: '${PIPPIN_CUDA}' is not AUTO, ON or OFF")
  endif()
  # Instrumented code is for checks on the CPU.
  if(PIPPIN_CUDA STREQUAL "OFF" OR (PIPPIN_SANITIZED AND PIPPIN_CUDA STREQUAL "AUTO"))
    return()
  endif()
  set(level FATAL_ERROR)
  if(PIPPIN_CUDA STREQUAL "AUTO")
    set(level STATUS)
  endif()
  find_program(PIPPIN_NVCC nvcc HINTS ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH} PATHS /usr/local/cuda
    PATH_SUFFIXES bin)
  mark_as_advanced(PIPPIN_NVCC)
  if(NOT PIPPIN_NVCC)
    message(${level} "No CUDA kernels: nvcc is not installed")
    return()
  endif()
  execute_process(COMMAND ${PIPPIN_NVCC} --version OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+[.][0-9]+)" found "${said}")
  set(version "${CMAKE_MATCH_1}")
  if(NOT found OR version VERSION_LESS 12.0)
    message(${level} "No CUDA kernels: ${PIPPIN_NVCC} is version '${version}', 12.0 or later is needed")
    return()
  endif()
  set(host ${CMAKE_CXX_COMPILER})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(host g++)
  endif()
  # An nvcc may not support the host's compiler.
  set(trial ${PROJECT_BINARY_DIR}/cuda_trial)
  if(NOT PIPPIN_NVCC_WORKS STREQUAL "${PIPPIN_NVCC} ${version} ${host}")
    file(WRITE ${trial}.cu "#include <cuda_fp16.h>\n__global__ void trial() {}\n")
    execute_process(COMMAND ${PIPPIN_NVCC} -std=c++17 -ccbin ${host} -arch=sm_80 -cubin -o ${trial}.cubin ${trial}.cu
      RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
      message(${level} "No CUDA kernels: ${PIPPIN_NVCC} fails with ${host}:\n${said}")
      return()
    endif()
    set(PIPPIN_NVCC_WORKS "${PIPPIN_NVCC} ${version} ${host}" CACHE INTERNAL "")
  endif()

  execute_process(COMMAND ${PIPPIN_NVCC} --list-gpu-arch OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
  set(wanted ${PIPPIN_CUDA_ARCHITECTURES})
  if(wanted STREQUAL "all")
    set(wanted 75 80 86 89 90 100 120)
  endif()
  set(code "")
  set(targets "")
  foreach(number ${wanted})
    if(known MATCHES "compute_${number}[^0-9]")
      # Kernels differ only between these (kernels/machine.h), so their first half is compiled once for all of a kind.
      set(kind 90)
      if(number LESS 80)
        set(kind ${number})
      elseif(number LESS 90)
        set(kind 80)
      endif()
      list(APPEND code -gencode arch=compute_${kind},code=sm_${number})
      list(APPEND targets sm_${number})
    elseif(NOT PIPPIN_CUDA_ARCHITECTURES STREQUAL "all")
      message(FATAL_ERROR "PIPPIN_CUDA_ARCHITECTURES: nvcc ${version} has no compute_${number}")
    endif()
  endforeach()
  if(NOT targets)
    message(FATAL_ERROR "PIPPIN_CUDA_ARCHITECTURES: '${PIPPIN_CUDA_ARCHITECTURES}' has no target")
  endif()
  list(APPEND code -gencode arch=compute_${kind},code=compute_${kind})
  list(APPEND targets compute_${kind})
  list(JOIN targets " " targets)
  message(STATUS "CUDA kernels: nvcc ${version} for ${targets}")
  set(PIPPIN_NVCC_HOST ${host} PARENT_SCOPE)
  set(PIPPIN_CUDA_CODE ${code} PARENT_SCOPE)
  set(PIPPIN_CUDA_TARGETS "${targets}" PARENT_SCOPE)
endfunction()
pippin_find_nvcc()

# pippin_cuda_fatbin(OUTPUT kernels.cu): OUTPUT has the kernels for all targets, compressed; OUTPUT.log the registers of
# each.
function(pippin_cuda_fatbin output source)
  add_custom_command(OUTPUT ${output} ${output}.log
    COMMAND sh -c [["$@" >"$0" 2>&1 || (cat "$0" && false)]] ${output}.log
      ${PIPPIN_NVCC} -std=c++17 -O3 --resource-usage -I ${PROJECT_SOURCE_DIR}
      -ccbin ${PIPPIN_NVCC_HOST} -fatbin -Xfatbin -compress-all ${PIPPIN_CUDA_CODE}
      -MD -MF ${output}.d -o ${output} ${source}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Compiling CUDA kernels for ${PIPPIN_CUDA_TARGETS}" VERBATIM)
endfunction()
