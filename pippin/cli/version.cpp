#include "pippin/cli/version.h"

#include <boost/version.hpp>
#include <curl/curlver.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <openssl/opensslv.h>

#include "pippin/base/cpu_features.h"
#include "pippin/cuda/device.h"
#include "pippin/kernels/quantized_dot/quantized_dot.h"
#include "pippin/page/page.h"

namespace pippin::cli {
namespace {

// The level in a name of kernels: AVX2 for "quantized_dot_avx2". All families use the same one.
std::string level_of(std::string_view kernels) {
  return std::string(kernels.substr(kernels.rfind('_') + 1));
}

std::string kernels() {
  std::string names;
  for (const auto& one : kernels::quantized_dot_kernels()) {
    names += (names.empty() ? "" : ", ") + level_of(one.kernels->name);
  }
  return names;
}

}  // namespace

std::string version_text() {
  const CpuFeatures cpu = cpu_features();
  return fmt::format(
      "pippin {} ({})\n"
      "built with    {} {}\n"
      "kernels       {}; here: {}\n"
      "cuda kernels  {}\n"
      "web page      {}\n"
      "libraries     Boost {}.{}, curl {}, OpenSSL {}, protobuf {}.{}, fmt {}.{}",
      PIPPIN_VERSION, commit(),
#if defined(__clang__)
      "clang", __clang_version__,
#else
      "GCC", __VERSION__,
#endif
      kernels(), level_of(kernels::choose_quantized_dot(cpu).name),
      cuda::has_kernels() ? cuda::kernel_targets() : "built without nvcc",
      page::files().empty() ? "no" : "yes", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
      LIBCURL_VERSION, OPENSSL_VERSION_STR, GOOGLE_PROTOBUF_VERSION / 1000000,
      GOOGLE_PROTOBUF_VERSION / 1000 % 1000, FMT_VERSION / 10000, FMT_VERSION / 100 % 100);
}

}  // namespace pippin::cli
