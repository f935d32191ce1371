// The functions of mpg123, which is loaded on first use, as libsndfile.
#pragma once

#include <mpg123.h>

namespace pippin::sound {

// With 64-bit offsets, the library's names are those without a suffix.
struct Mpg123 {
  decltype(&mpg123_new) create;
  decltype(&mpg123_delete) destroy;
  decltype(&mpg123_param) param;
  decltype(&mpg123_replace_reader_handle) replace_reader_handle;
  decltype(&mpg123_open_handle) open_handle;
  decltype(&mpg123_getformat) getformat;
  decltype(&mpg123_scan) scan;
  decltype(&mpg123_length) length;
  decltype(&mpg123_read) read;
  decltype(&mpg123_strerror) strerror;
  decltype(&mpg123_plain_strerror) plain_strerror;
};

// Throws Unsupported if the library cannot be loaded.
const Mpg123& libmpg123();

}  // namespace pippin::sound
