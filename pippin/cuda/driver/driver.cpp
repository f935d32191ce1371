#include "pippin/cuda/driver/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::cuda {
namespace {

constexpr int kNeededVersion = 12000;  // cuLibraryLoadData, cuGetProcAddress_v2

using FindFunction = Result (*)(const char* symbol, void** function, int version, uint64_t flags,
                                int* status);

template <typename Pointer>
Pointer symbol_in(void* library, const char* name) {
  return reinterpret_cast<Pointer>(::dlsym(library, name));
}

[[noreturn]] void fail_too_old(void* library) {
  int version = 0;
  const auto driver_version = symbol_in<Result (*)(int*)>(library, "cuDriverGetVersion");
  if (driver_version != nullptr) driver_version(&version);
  fail(ErrorCode::Unsupported, "the NVIDIA driver supports CUDA up to {}; {} or later is needed",
       version_text(version), version_text(kNeededVersion));
}

Driver load_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    fail(ErrorCode::Unsupported, "there is no NVIDIA driver: {}",
         reason != nullptr ? reason : "libcuda.so.1 cannot be loaded");
  }
  const auto find = symbol_in<FindFunction>(library, "cuGetProcAddress_v2");
  if (find == nullptr) fail_too_old(library);
  Driver driver;
  bool is_complete = true;
  const auto load = [&](auto& member, const char* symbol) {
    void* function = nullptr;
    int status = 0;
    if (find(symbol, &function, kNeededVersion, 0, &status) != 0 || function == nullptr) {
      is_complete = false;
      return;
    }
    member = reinterpret_cast<std::decay_t<decltype(member)>>(function);
  };
#define PIPPIN_CUDA_FUNCTION(member, symbol, parameters) load(driver.member, #symbol);
#include "pippin/cuda/driver/functions.inc"
#undef PIPPIN_CUDA_FUNCTION
  if (!is_complete) fail_too_old(library);
  if (const Result result = driver.init(0); result != 0) {
    fail(ErrorCode::Unsupported, "the NVIDIA driver cannot be used: cuInit: {}",
         driver.words(result));
  }
  int version = 0;
  driver.check(driver.driver_version(&version), kSymbol<&Driver::driver_version>);
  if (version < kNeededVersion) fail_too_old(library);
  int count = 0;
  driver.check(driver.device_count(&count), kSymbol<&Driver::device_count>);
  if (count == 0) fail(ErrorCode::Unsupported, "the NVIDIA driver finds no GPU");
  return driver;
}

}  // namespace

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string Driver::words(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name(result, &name) != 0 || name == nullptr) {
    return fmt::format("error {}", result);
  }
  if (get_error_text(result, &text) != 0 || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

void Driver::check(Result result, std::string_view function) const {
  if (result == 0) return;
  fail(result == kOutOfMemory ? ErrorCode::LimitExceeded : ErrorCode::Device, "{} failed: {}",
       function, words(result));
}

const Driver& system_driver() {
  static const Driver driver = load_driver();  // the library stays loaded
  return driver;
}

}  // namespace pippin::cuda
