#include "pippin/base/error.h"
#include "pippin/io/npz.h"

// The input is read as an archive and as a single array.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  const NpyLimits limits{size_t{1} << 20};
  try {
    const NpzFile file = NpzFile::parse(bytes, "x.npz", limits);
    for (const std::string& name : file.names()) file.read(name).to_doubles();
  } catch (const Error&) {
  }
  try {
    parse_npy(bytes, "x.npy", limits).to_floats();
  } catch (const Error&) {
  }
  return 0;
}
