// The functions of libheif, which is loaded on first use.
#pragma once

#include <libheif/heif.h>

namespace pippin::image {

struct Heif {
  decltype(&heif_context_alloc) context_alloc;
  decltype(&heif_context_free) context_free;
  decltype(&heif_context_read_from_memory_without_copy) read_memory;
  decltype(&heif_context_get_primary_image_handle) get_primary;
  decltype(&heif_image_handle_release) handle_release;
  decltype(&heif_image_handle_get_width) handle_width;
  decltype(&heif_image_handle_get_height) handle_height;
  decltype(&heif_image_handle_has_alpha_channel) handle_alpha;
  decltype(&heif_decode_image) decode;
  decltype(&heif_image_release) image_release;
  decltype(&heif_image_get_width) image_width;
  decltype(&heif_image_get_height) image_height;
  decltype(&heif_image_get_plane_readonly) get_plane;
};

// Throws Unsupported if the library cannot be loaded.
const Heif& libheif();

}  // namespace pippin::image
