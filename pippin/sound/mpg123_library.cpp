#include "pippin/sound/mpg123_library.h"

#include "pippin/base/loaded_library.h"

namespace pippin::sound {

namespace {

Mpg123 load_mpg123() {
  const LoadedLibrary library("mpg123", 0,
                              "MP3 files need libmpg123 (Debian's package libmpg123-0)");
  Mpg123 functions{};
  library.find("mpg123_new", functions.create);
  library.find("mpg123_delete", functions.destroy);
  library.find("mpg123_param", functions.param);
  library.find("mpg123_replace_reader_handle", functions.replace_reader_handle);
  library.find("mpg123_open_handle", functions.open_handle);
  library.find("mpg123_getformat", functions.getformat);
  library.find("mpg123_scan", functions.scan);
  library.find("mpg123_length", functions.length);
  library.find("mpg123_read", functions.read);
  library.find("mpg123_strerror", functions.strerror);
  library.find("mpg123_plain_strerror", functions.plain_strerror);
  return functions;
}

}  // namespace

const Mpg123& libmpg123() {
  static const Mpg123 functions = load_mpg123();
  return functions;
}

}  // namespace pippin::sound
