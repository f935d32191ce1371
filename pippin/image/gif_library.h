// The functions of giflib, which is loaded on first use.
#pragma once

#include <gif_lib.h>

namespace pippin::image {

struct Giflib {
  decltype(&DGifOpen) open;
  decltype(&DGifCloseFile) close;
  decltype(&DGifGetRecordType) get_record_type;
  decltype(&DGifGetImageDesc) get_image_desc;
  decltype(&DGifGetLine) get_line;
  decltype(&DGifGetExtension) get_extension;
  decltype(&DGifGetExtensionNext) get_extension_next;
  decltype(&GifErrorString) error_string;
};

// Throws Unsupported if the library cannot be loaded.
const Giflib& giflib();

}  // namespace pippin::image
