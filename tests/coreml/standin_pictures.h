// Pictures of the stand-in: between Core Video's memory and the tensors that programs see.
#pragma once

#include <string>

#include <CoreVideo/CoreVideo.h>

#include "pippin/mil/model.h"
#include "tests/coreml/standin_engine.h"

namespace pippin::standin {

// As fp32 [1, channels, height, width]; what is wrong with it, or nothing.
std::string take_picture(const mil::ImageType& declared, CVPixelBufferRef picture,
                         HostArray& array);
// Of fp32 [1, channels, height, width], rounded and kept to 0 to 255. The caller releases it.
CVPixelBufferRef give_picture(const mil::ImageType& declared, const HostArray& array);

}  // namespace pippin::standin
