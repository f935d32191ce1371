// Boxes cut out of images and resized. MIL's crop_resize gives points outside of the image a
// constant value, where networks take the nearest pixel: the points are computed here.
#pragma once

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

void translate_crop_resize(Network& network, const Layer& layer);

}  // namespace pippin::mil::networks
