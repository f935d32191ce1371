#include "pippin/sound/sndfile_library.h"

#include "pippin/base/loaded_library.h"

namespace pippin::sound {

namespace {

Sndfile load_sndfile() {
  const LoadedLibrary library(
      "sndfile", 1,
      "sound files other than WAV and MP3 need libsndfile (Debian's package libsndfile1)");
  Sndfile functions{};
  library.find("sf_open_virtual", functions.open_virtual);
  library.find("sf_close", functions.close);
  library.find("sf_readf_float", functions.readf_float);
  library.find("sf_error", functions.error);
  library.find("sf_strerror", functions.strerror);
  return functions;
}

}  // namespace

const Sndfile& libsndfile() {
  static const Sndfile functions = load_sndfile();
  return functions;
}

}  // namespace pippin::sound
