#include <dlfcn.h>

#include "pippin/base/error.h"
#include "pippin/hub/curl.h"

namespace pippin::hub {
namespace {

#ifdef __APPLE__
constexpr const char* kLibrary = "libcurl.4.dylib";
#else
constexpr const char* kLibrary = "libcurl.so.4";
#endif

template <typename Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) fail(ErrorCode::Unsupported, "{} has no {}", kLibrary, name);
}

Curl load() {
  // Never unloaded: threads may be in it.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(ErrorCode::Unsupported, "downloads need libcurl, which cannot be loaded: {}", dlerror());
  }
  Curl curl{};
  find(library, "curl_global_init", curl.global_init);
  find(library, "curl_easy_init", curl.init);
  find(library, "curl_easy_cleanup", curl.cleanup);
  find(library, "curl_easy_reset", curl.reset);
  find(library, "curl_easy_setopt", curl.setopt);
  find(library, "curl_easy_getinfo", curl.getinfo);
  find(library, "curl_easy_perform", curl.perform);
  find(library, "curl_easy_strerror", curl.strerror);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);
  return curl;
}

}  // namespace

const Curl& libcurl() {
  static const Curl curl = load();
  return curl;
}

}  // namespace pippin::hub
