#include "pippin/hub/curl.h"

namespace pippin::hub {

const Curl& libcurl() {
  static constexpr Curl kCurl = {curl_global_init,   curl_easy_init,     curl_easy_cleanup,
                                 curl_easy_reset,    curl_easy_setopt,   curl_easy_getinfo,
                                 curl_easy_perform,  curl_easy_strerror, curl_slist_append,
                                 curl_slist_free_all};
  return kCurl;
}

}  // namespace pippin::hub
