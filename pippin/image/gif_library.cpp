#include "pippin/image/gif_library.h"

#include "pippin/base/loaded_library.h"

namespace pippin::image {
namespace {

Giflib load_giflib() {
  const LoadedLibrary library("gif", 7, "GIF pictures need giflib (Debian's package libgif7)");
  Giflib functions{};
  library.find("DGifOpen", functions.open);
  library.find("DGifCloseFile", functions.close);
  library.find("DGifGetRecordType", functions.get_record_type);
  library.find("DGifGetImageDesc", functions.get_image_desc);
  library.find("DGifGetLine", functions.get_line);
  library.find("DGifGetExtension", functions.get_extension);
  library.find("DGifGetExtensionNext", functions.get_extension_next);
  library.find("GifErrorString", functions.error_string);
  return functions;
}

}  // namespace

const Giflib& giflib() {
  static const Giflib functions = load_giflib();
  return functions;
}

}  // namespace pippin::image
