// Positions at which resizing ops sample an axis, and the pixels that form the value at a point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

enum class Sampling { StrictAlignCorners, AlignCorners, Default, OffsetCorners, UnalignCorners };

// The mode with that name.
std::optional<Sampling> find_sampling(std::string_view name);
// The operation's sampling_mode.
Sampling sampling_mode(const OpContext& context);

// The position of element i of `count` samples on an axis of `size` elements (any real number from
// 1): between 0 and size - 1.
double grid_point(Sampling sampling, int64_t i, double size, int64_t count);

enum class ImagePadding { Constant, Border, Reflection, Symmetric };
enum class Coordinates { Unnormalized, MinusOneToOne, ZeroToOne };

// The mode with that name, ignoring case.
std::optional<ImagePadding> find_image_padding(std::string_view name);
std::optional<Coordinates> find_coordinates(std::string_view name);
// "bilinear" (false) or "nearest" (true).
std::optional<bool> find_nearest(std::string_view name);

// A weighted sum of some pixels plus a constant.
struct PixelMix {
  int64_t pixels[4] = {};  // row * width + column
  double weights[4] = {};  // 0: the pixel is ignored, whatever its value
  double constant = 0;     // the contribution of points outside the image
};

// Interpolates a value at a point between pixels. Images have at least one pixel.
struct Sampler {
  bool nearest = false;
  ImagePadding padding = ImagePadding::Constant;
  double padding_value = 0;
  Coordinates coordinates = Coordinates::Unnormalized;
  bool align_corners = false;

  // At a point given in the coordinates of coordinates_mode.
  PixelMix mix(int64_t height, int64_t width, double y, double x) const;

 private:
  double to_pixels(double place, int64_t size) const;
  double inside(double place, int64_t size) const;
};

// The position, from -1 to 1, of pixel i of `count` that affine computes.
double affine_point(bool align_corners, int64_t i, int64_t count);

// The way crop_resize uses a box of four numbers.
struct Crop {
  int64_t height = 1, width = 1;
  bool normalized = false, centers = false, width_first = false;
  double scale = 1, padding = 0;
  Sampling sampling = Sampling::Default;

  // The positions of the samples of a box's row and column, in pixels of an image of that size.
  double row(const double* box, int64_t image_height, int64_t i) const;
  double column(const double* box, int64_t image_width, int64_t i) const;
  // The pixels at one of these points.
  PixelMix mix(int64_t image_height, int64_t image_width, double row, double column) const;

  // Applies the box_coordinate_mode with that name; returns false if none exists.
  bool set_box_mode(std::string_view name);

 private:
  double point(const double* box, int64_t size, int64_t i, int64_t count) const;
};

}  // namespace pippin::mil
