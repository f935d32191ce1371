#include "pippin/base/loaded_library.h"

#include <dlfcn.h>

#include "pippin/base/error.h"

namespace pippin {

LoadedLibrary::LoadedLibrary(std::initializer_list<const char*> names, const char* purpose) {
  std::string reason;
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    if (reason.empty()) reason = dlerror();
  }
  fail(ErrorCode::Unsupported, "{}, which cannot be loaded: {}", purpose, reason);
}

void* LoadedLibrary::address(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) fail(ErrorCode::Unsupported, "{} has no {}", name_, name);
  return found;
}

}  // namespace pippin
