// The functions of libcurl that downloads use. Programs link the library (curl_linked.cpp). The
// Python module must be importable without it, so it loads libcurl with the first download
// (curl_loaded.cpp), and does not depend on libcurl's thirty libraries.
#pragma once

#include <curl/curl.h>

namespace pippin::hub {

struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_reset) reset;
  decltype(&curl_easy_setopt) setopt;
  decltype(&curl_easy_getinfo) getinfo;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_strerror) strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// Throws Unsupported if libcurl is not installed.
const Curl& libcurl();

}  // namespace pippin::hub
