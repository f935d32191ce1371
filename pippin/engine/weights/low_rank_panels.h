// The second matrix of a change of low rank in the panels that its kernels read.
#pragma once

#include "pippin/engine/weights/cached_array.h"
#include "pippin/engine/weights/dot_panels.h"

namespace pippin::engine {

struct LowRankPanels {
  SharedBytes bytes;
  mil::Shape shape;  // [panels, ranks, columns of a panel]
};

// Of B [columns, ranks], shared by the plans of a model.
LowRankPanels low_rank_panels(const PlainWeight& b, mil::Opset opset);

}  // namespace pippin::engine
