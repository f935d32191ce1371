#include "pippin/base/loaded_library.h"
#include "pippin/hub/curl.h"

namespace pippin::hub {
namespace {

Curl load() {
  const LoadedLibrary library("curl", 4, "downloads need libcurl");
  Curl curl{};
  library.find("curl_global_init", curl.global_init);
  library.find("curl_easy_init", curl.init);
  library.find("curl_easy_cleanup", curl.cleanup);
  library.find("curl_easy_reset", curl.reset);
  library.find("curl_easy_setopt", curl.setopt);
  library.find("curl_easy_getinfo", curl.getinfo);
  library.find("curl_easy_perform", curl.perform);
  library.find("curl_easy_strerror", curl.strerror);
  library.find("curl_slist_append", curl.slist_append);
  library.find("curl_slist_free_all", curl.slist_free_all);
  return curl;
}

}  // namespace

const Curl& libcurl() {
  static const Curl curl = load();
  return curl;
}

}  // namespace pippin::hub
