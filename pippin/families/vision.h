// The interface of a recorded vision tower: a function from the pixel values of an image, as
// Hugging Face's processors name them, to rows of embeddings.
#pragma once

namespace pippin::families::vision {

inline constexpr const char* kPixels = "pixel_values";
inline constexpr const char* kRows = "image_features";

}  // namespace pippin::families::vision
