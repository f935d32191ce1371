// Converts Core ML's arrays, whose rows may have gaps, to and from the packed arrays of the engine,
// row by row according to their strides.
#pragma once

#include <cstddef>

#include "pippin/coreml/core_model.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"

namespace pippin::coreml {

// Whether plans see elements of the type as fp32; otherwise as int32.
bool is_seen_as_float(mil::DataType type);

// Converts to and from the form that plans see: fp32 from halves, floats and doubles, int32 from
// int32 and int8. Conversions to int8 saturate; conversions to halves overflow to infinity.
void to_plan(const Elements& from, std::byte* packed);
void from_plan(const std::byte* packed, const Elements& to);

// Copies the same elements to packed memory.
void pack(const Elements& from, std::byte* packed);
void unpack(const std::byte* packed, const Elements& to);
// The same of rows, groups of which are `stride` bytes apart in the packed memory.
void pack_rows(const Elements& from, const engine::StateRows& rows, std::byte* packed,
               uint64_t stride);
void unpack_rows(const std::byte* packed, const engine::StateRows& rows, uint64_t stride,
                 const Elements& to);

// Converts between a picture (CoreArray's [height, width, channels]) and the program's fp32 [1,
// channels, height, width]; bytes are rounded and clamped to 0 to 255.
void from_picture(const Elements& from, mil::ColorSpace space, std::byte* packed);
void to_picture(const std::byte* packed, mil::ColorSpace space, const Elements& to);
PixelFormat pixel_format(mil::ColorSpace space);

}  // namespace pippin::coreml
