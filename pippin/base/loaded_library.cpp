#include "pippin/base/loaded_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin {

LoadedLibrary::LoadedLibrary(std::string_view name, int version, std::string_view purpose) {
#ifdef __APPLE__
  name_ = fmt::format("lib{}.{}.dylib", name, version);
#else
  name_ = fmt::format("lib{}.so.{}", name, version);
#endif
  handle_ = dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
  const std::string reason = dlerror();
#ifdef __APPLE__
  // Homebrew's folder, where the system does not look.
  handle_ = dlopen(fmt::format("/opt/homebrew/lib/{}", name_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
#endif
  fail(ErrorCode::Unsupported, "{}, which cannot be loaded: {}", purpose, reason);
}

void* LoadedLibrary::address(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) fail(ErrorCode::Unsupported, "{} has no {}", name_, name);
  return found;
}

}  // namespace pippin
