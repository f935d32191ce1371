// Boxes cut out of images and resized. MIL's crop_resize sets points outside the image to a
// constant, but networks use the nearest pixel: the points are computed here.
#pragma once

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

void translate_crop_resize(Network& network, const Layer& layer);

}  // namespace pippin::mil::networks
