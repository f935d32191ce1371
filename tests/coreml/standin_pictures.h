// Pictures of the stand-in: conversion between Core Video's memory and programs' tensors.
#pragma once

#include <string>

#include <CoreVideo/CoreVideo.h>

#include "pippin/mil/model.h"
#include "tests/coreml/standin_engine.h"

namespace pippin::standin {

// Converts to fp32 [1, channels, height, width]; returns the error, or an empty string.
std::string take_picture(const mil::ImageType& declared, CVPixelBufferRef picture,
                         HostArray& array);
// Converts from fp32 [1, channels, height, width], rounded and clamped to 0 to 255. The caller
// releases it.
CVPixelBufferRef give_picture(const mil::ImageType& declared, const HostArray& array);

}  // namespace pippin::standin
