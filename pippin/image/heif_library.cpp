#include "pippin/image/heif_library.h"

#include "pippin/base/loaded_library.h"

namespace pippin::image {
namespace {

Heif load_heif() {
  const LoadedLibrary library("heif", 1, "HEIC pictures need libheif (Debian's package libheif1)");
  Heif functions{};
  library.find("heif_context_alloc", functions.context_alloc);
  library.find("heif_context_free", functions.context_free);
  library.find("heif_context_read_from_memory_without_copy", functions.read_memory);
  library.find("heif_context_get_primary_image_handle", functions.get_primary);
  library.find("heif_image_handle_release", functions.handle_release);
  library.find("heif_image_handle_get_width", functions.handle_width);
  library.find("heif_image_handle_get_height", functions.handle_height);
  library.find("heif_image_handle_has_alpha_channel", functions.handle_alpha);
  library.find("heif_decode_image", functions.decode);
  library.find("heif_image_release", functions.image_release);
  library.find("heif_image_get_width", functions.image_width);
  library.find("heif_image_get_height", functions.image_height);
  library.find("heif_image_get_plane_readonly", functions.get_plane);
  return functions;
}

}  // namespace

const Heif& libheif() {
  static const Heif functions = load_heif();
  return functions;
}

}  // namespace pippin::image
