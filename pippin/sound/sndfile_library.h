// The functions of libsndfile, which is loaded on first use: programs that read no sound start
// without it, and releases need not contain it.
#pragma once

#include <sndfile.h>

namespace pippin::sound {

struct Sndfile {
  decltype(&sf_open_virtual) open_virtual;
  decltype(&sf_close) close;
  decltype(&sf_readf_float) readf_float;
  decltype(&sf_error) error;
  decltype(&sf_strerror) strerror;
};

// Throws Unsupported if the library cannot be loaded.
const Sndfile& libsndfile();

}  // namespace pippin::sound
