// Elements selected by data: look-ups by indices, images at any points, non-maximum suppression.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/mil/ops/sampling.h"
#include "pippin/mil/ops/suppression.h"

namespace pippin::engine {

struct QuantizedWeight;

// Places given by indices: an array [A, B, C, coordinates]. Each names a slice of a table: index k
// selects an element of an axis of sizes[k] elements, strides[k] apart. The table's view gives the
// slices for indices of 0: [A, B, C, slice], mostly with strides of 0 among the first three axes.
// Scalars: the sizes, then the strides, of each coordinate.
struct Places {
  std::string name, where;  // `where` names the operation in messages
  // Indices outside [0, size):
  bool from_end = true;  // negative ones count from the end
  bool refuse = false;   // the run fails; otherwise the nearest element is used
};

// views: y [A, B, C, slice] without gaps, the table, the indices. The table may be stored in
// another type of floats.
struct GatherNode {
  Places places;
};

// views: the table, which is written; the updates [A, B, C, slice] without gaps, the indices. fp32
// or int32 (except for Div). Places are processed in order.
enum class Combine : uint8_t { Update, Add, Sub, Mul, Div, Max, Min };
struct ScatterNode {
  Places places;
  Combine combine{};
};

// Rows of a compressed weight; views: y [indices, k], indices [indices]. Negative indices count
// from the end; an index that is still outside reads the nearest row.
struct QuantizedGatherNode {
  std::shared_ptr<const QuantizedWeight> weight;
  std::string form;  // "int4"
};

// Images sampled at any points. views: y [images, channels, rows, columns], x [images of x,
// channels, height, width], both fp32 without gaps, x not empty; then the points: coordinates
// [images, rows, columns, 2], x before y.
struct ResampleNode {
  mil::Sampler sampler;
};
// The transformations [images or 1, 6].
struct AffineNode {
  mil::Sampler sampler;
};
// The boxes [boxes, 4], or [boxes, 5] with the image's index first; the images' indices int32
// [boxes] if they are separate. Without indices every box is for all images, or box i for image i.
struct CropNode {
  enum class Images : uint8_t { InBoxes, Apart, InOrder, All };
  std::string where;  // for messages
  mil::Crop crop;
  Images images = Images::InOrder;
};

// views: boxes [N, kept, 4], scores [N, kept, classes], indices int32 [N, kept], optionally their
// counts int32 [N], all written; boxes [N, count, 4], scores [N, count, classes] of any strides.
struct SuppressionNode {
  mil::SuppressionRule rule;
};

}  // namespace pippin::engine
