# Instruction-set flags are set on single files, named by feature (x86_avx2.cpp, arm_neon.cpp). Such a file includes
# only intrinsics and plain structs: otherwise the linker could keep an inline function compiled with AVX-512 for every
# CPU.
#
# Kernels do not throw, and -fno-exceptions keeps out the compiler's own weak symbol for exception handling.
# tests/weak_symbols.cmake checks the objects.
#
# pippin_isa_sources(OUT x86_avx2.cpp x86_avx512.cpp arm_neon.cpp) sets OUT to the files that apply to the target
# machine, with their flags.
function(pippin_isa_sources out)
  set(kept "")
  foreach(file ${ARGN})
    get_filename_component(stem ${file} NAME_WE)
    set(flags "")
    set(use FALSE)
    if(stem MATCHES "^x86_" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
      set(use TRUE)
      if(stem MATCHES "avx512(vnni|bf16)")
        set(flags "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mavx512vbmi;-mfma;-mf16c")
        if(stem MATCHES "bf16")
          list(APPEND flags -mavx512bf16)
        endif()
      elseif(stem MATCHES "vnni256")
        set(flags "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mfma;-mf16c")
      elseif(stem MATCHES "avxvnni|avx2vnni")
        set(flags "-mavx2;-mavxvnni;-mfma;-mf16c")
      elseif(stem MATCHES "avx512")
        set(flags "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c")
      elseif(stem MATCHES "avx2")
        set(flags "-mavx2;-mfma;-mf16c")
      endif()
    elseif(stem MATCHES "^arm_" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      set(use TRUE)
      if(stem MATCHES "neoni8mm")
        set(flags "-march=armv8.2-a+dotprod+i8mm")
      elseif(stem MATCHES "neondot")
        set(flags "-march=armv8.2-a+dotprod")
      endif()
    endif()
    if(stem MATCHES "avx512|vnni256" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC's own headers start from undefined registers and cause this warning (GCC bug 105593).
      list(APPEND flags -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    if(use)
      list(APPEND flags -fno-exceptions)
      if(PIPPIN_SANITIZED)
        list(APPEND flags -O0)
      else()
        list(APPEND flags -O3)
      endif()
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}" SKIP_PRECOMPILE_HEADERS ON
        SKIP_UNITY_BUILD_INCLUSION ON)
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${out} ${kept} PARENT_SCOPE)
endfunction()
