// The interface of a recorded vision tower: a function from the pixel values of an image, as
// Hugging Face's processors name them, to rows of embeddings.
//
//   main   pixel_values float (...)   image_features float (batch, rows, width)
//
// All that depends on the image's size is constant in a program. A folder of two packages is a
// model that reads images: kLanguagePart of the family `stateful`, with the function `rows`, and
// kPart, which has one such program.
#pragma once

namespace pippin::families::vision {

inline constexpr const char* kName = "vision";

inline constexpr const char* kPixels = "pixel_values";
inline constexpr const char* kRows = "image_features";

inline constexpr const char* kPart = "vision";
inline constexpr const char* kLanguagePart = "language";

// User-defined metadata: the numbers besides the dims of its input that the program depends on
// (image::VisionShape::sizes), separated by commas, if it depends on any.
inline constexpr const char* kSizesKey = "pippin.image_sizes";
// HEIGHTxWIDTH of the images that it takes, if the model's tower takes any.
inline constexpr const char* kImageKey = "pippin.image_size";

// meta.json, which identifies the folder.
namespace meta {
inline constexpr const char* kFile = "meta.json";
inline constexpr const char* kFamily = "family";
inline constexpr const char* kContext = "context";
}  // namespace meta

}  // namespace pippin::families::vision
