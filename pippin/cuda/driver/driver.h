// CUDA's driver as a table of functions: of libcuda, which is looked for when the program runs, or
// of a stand-in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pippin/cuda/driver/types.h"

namespace pippin::cuda {

struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define PIPPIN_CUDA_FUNCTION(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "pippin/cuda/driver/functions.inc"
#undef PIPPIN_CUDA_FUNCTION

  // Throws Error(Device), or LimitExceeded if memory is short, with the function's name and the
  // driver's words, if a function failed: driver.check(driver.init(0), "cuInit").
  void check(Result result, std::string_view function) const;
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string words(Result result) const;
};

// The driver's name of a function: kSymbol<&Driver::allocate> is "cuMemAlloc". GCC shows explicit
// specializations unless each of them is hidden.
template <auto Member>
inline constexpr std::string_view kSymbol = "";
#define PIPPIN_CUDA_FUNCTION(member, symbol, parameters)                                     \
  template <>                                                                                \
  [[gnu::visibility("hidden")]] inline constexpr std::string_view kSymbol<&Driver::member> = \
      #symbol;
#include "pippin/cuda/driver/functions.inc"
#undef PIPPIN_CUDA_FUNCTION

// "12.4", of 12040.
std::string version_text(int version);

// The system's driver, initialized; the same for all callers. Throws Unsupported without a driver,
// for one older than CUDA 12.0 (with both versions), and without a GPU.
const Driver& system_driver();

}  // namespace pippin::cuda
