// A .npy file. An array that was read round-trips unchanged.
#include "pippin/base/error.h"
#include "pippin/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const NpyLimits limits{size_t{1} << 20};
  try {
    const NpyArray array = parse_npy(std::as_bytes(std::span(data, size)), "x.npy", limits);
    array.to_floats();
    array.to_doubles();
    const std::string bytes = format_npy(array);
    const NpyArray again = parse_npy(as_byte_span(bytes), "again", limits);
    if (again.shape != array.shape || again.data != array.data) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
