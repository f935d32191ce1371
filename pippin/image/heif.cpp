// HEIC and AVIF through libheif, which applies the rotation of the container.
#include <memory>

#include "pippin/base/error.h"
#include "pippin/image/heif_library.h"
#include "pippin/image/picture_formats.h"
#include "pippin/image/picture_frames.h"

namespace pippin::image {

Picture parse_heif(ByteSpan file, const std::string& name, const PictureLimits& limits) {
  const Heif& heif = libheif();
  const auto check = [&](const heif_error& error) {
    if (error.code != heif_error_Ok) {
      fail(ErrorCode::InvalidFile, "{}: {}", name,
           error.message == nullptr ? "damaged" : error.message);
    }
  };
  const std::unique_ptr<heif_context, void (*)(heif_context*)> context(heif.context_alloc(),
                                                                       heif.context_free);
  check(heif.read_memory(context.get(), file.data(), file.size(), nullptr));
  heif_image_handle* raw_handle = nullptr;
  check(heif.get_primary(context.get(), &raw_handle));
  const std::unique_ptr<heif_image_handle, void (*)(const heif_image_handle*)> handle(
      raw_handle, heif.handle_release);
  check_picture_size(heif.handle_width(raw_handle), heif.handle_height(raw_handle), name, limits);

  const bool alpha = heif.handle_alpha(raw_handle) != 0;
  heif_image* raw_image = nullptr;
  check(heif.decode(raw_handle, &raw_image, heif_colorspace_RGB,
                    alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, nullptr));
  const std::unique_ptr<heif_image, void (*)(const heif_image*)> image(raw_image,
                                                                       heif.image_release);
  Picture picture{heif.image_width(raw_image, heif_channel_interleaved),
                  heif.image_height(raw_image, heif_channel_interleaved),
                  alpha ? 4 : 3,
                  {}};
  check_picture_size(picture.width, picture.height, name, limits);
  int stride = 0;
  const uint8_t* plane = heif.get_plane(raw_image, heif_channel_interleaved, &stride);
  const int64_t row_size = picture.width * picture.channels;
  if (plane == nullptr || stride < row_size) {
    fail(ErrorCode::InvalidFile, "{}: libheif gives rows of {} bytes, expected {}", name, stride,
         row_size);
  }
  picture.pixels.reserve(static_cast<size_t>(row_size * picture.height));
  for (int64_t y = 0; y < picture.height; ++y, plane += stride) {
    picture.pixels.insert(picture.pixels.end(), plane, plane + row_size);
  }
  return picture;
}

}  // namespace pippin::image
