// Where resizing ops sample an axis, and which pixels the value at a point of an image is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

enum class Sampling { StrictAlignCorners, AlignCorners, Default, OffsetCorners, UnalignCorners };

// The mode of that name.
std::optional<Sampling> find_sampling(std::string_view name);
// The operation's sampling_mode.
Sampling sampling_mode(const OpContext& context);

// Where element i of `count` samples lies on an axis of `size` elements (any real number from 1):
// between 0 and size - 1.
double grid_point(Sampling sampling, int64_t i, double size, int64_t count);

enum class ImagePadding { Constant, Border, Reflection, Symmetric };
enum class Coordinates { Unnormalized, MinusOneToOne, ZeroToOne };

// The mode of that name, in letters of either case.
std::optional<ImagePadding> find_image_padding(std::string_view name);
std::optional<Coordinates> find_coordinates(std::string_view name);
// "bilinear" (false) or "nearest" (true).
std::optional<bool> find_nearest(std::string_view name);

// The sum of some pixels by weight and a constant.
struct PixelMix {
  int64_t pixels[4] = {};  // row * width + column
  double weights[4] = {};  // 0: the pixel does not count, whatever it is
  double constant = 0;     // of what lies outside the image
};

// How a point between pixels becomes a value. Images have at least one pixel.
struct Sampler {
  bool nearest = false;
  ImagePadding padding = ImagePadding::Constant;
  double padding_value = 0;
  Coordinates coordinates = Coordinates::Unnormalized;
  bool align_corners = false;

  // At a point in the coordinates of the coordinates_mode.
  PixelMix mix(int64_t height, int64_t width, double y, double x) const;

 private:
  double to_pixels(double place, int64_t size) const;
  double inside(double place, int64_t size) const;
};

// Where pixel i of `count` that affine computes lies, from -1 to 1.
double affine_point(bool align_corners, int64_t i, int64_t count);

// What crop_resize does with a box of four numbers.
struct Crop {
  int64_t height = 1, width = 1;
  bool normalized = false, centers = false, width_first = false;
  double scale = 1, padding = 0;
  Sampling sampling = Sampling::Default;

  // Where the samples of a row and a column of a box lie, in pixels of an image of that size.
  double row(const double* box, int64_t image_height, int64_t i) const;
  double column(const double* box, int64_t image_width, int64_t i) const;
  // At one of these points.
  PixelMix mix(int64_t image_height, int64_t image_width, double row, double column) const;

  // Sets what a box_coordinate_mode of that name means; false where there is none.
  bool set_box_mode(std::string_view name);

 private:
  double point(const double* box, int64_t size, int64_t i, int64_t count) const;
};

}  // namespace pippin::mil
