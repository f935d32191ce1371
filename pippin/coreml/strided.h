// Core ML's arrays, whose rows may lie apart, to and from the packed ones of the engine: row by
// row, as their strides say.
#pragma once

#include <cstddef>

#include "pippin/coreml/core_model.h"
#include "pippin/mil/model.h"

namespace pippin::coreml {

// Whether plans see elements of the type as fp32; else as int32.
bool is_seen_as_float(mil::DataType type);

// As plans see them: fp32 from halves, floats and doubles, int32 from int32 and int8. To int8,
// numbers beyond its range become its limits; to halves, infinities.
void to_plan(const Elements& from, std::byte* packed);
void from_plan(const std::byte* packed, const Elements& to);

// The same elements, packed.
void pack(const Elements& from, std::byte* packed);
void unpack(const std::byte* packed, const Elements& to);

// Between a picture (CoreArray's [height, width, channels]) and the program's fp32
// [1, channels, height, width]; bytes are rounded and kept to 0 to 255.
void from_picture(const Elements& from, mil::ColorSpace space, std::byte* packed);
void to_picture(const std::byte* packed, mil::ColorSpace space, const Elements& to);
PixelFormat pixel_format(mil::ColorSpace space);

}  // namespace pippin::coreml
