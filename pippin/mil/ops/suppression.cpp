// Non-maximum suppression.
#include "pippin/mil/ops/suppression.h"

#include <algorithm>
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
BoxCandidate best_class_of(size_t box, const double* scores, size_t classes) {
  const double* best = std::max_element(scores, scores + classes);
  const double score = std::isnan(*best) ? -HUGE_VAL : *best;
  return {box, score, static_cast<size_t>(best - scores)};
}

namespace {

// Before CoreML7 boxes are [batch, N, 4] and scores [batch, N, classes]; since then N comes last.
bool boxes_last(const OpContext& context) {
  return context.opset() >= Opset::CoreML7;
}

int64_t max_boxes(const OpContext& context) {
  const int64_t count = context.int_param("max_boxes");
  if (count < 0 || count > INT32_MAX) context.reject("max_boxes is {}", count);
  return count;
}

// The number of rows of the results, which may be known only at run time.
Dim count_of_rows(InferContext& context) {
  const ValueInfo& limit = context.input("max_boxes");
  if (limit.constant != nullptr || limit.elements) return Dim(max_boxes(context));
  return context.data_dependent("max_boxes", Dim(INT32_MAX));
}

Infos infer_suppression(InferContext& context) {
  const ValueInfo &boxes = context.input("boxes"), &scores = context.input("scores");
  if (boxes.shape.size() != 3 || scores.shape.size() != 3) {
    context.reject("boxes have rank {}, scores {}, not 3", boxes.shape.size(), scores.shape.size());
  }
  const bool last = boxes_last(context);
  const size_t items = last ? 2 : 1, numbers = last ? 1 : 2;
  context.require_equal(boxes.shape[0], scores.shape[0], "batches of boxes and scores");
  context.require_equal(boxes.shape[items], scores.shape[items], "boxes and scores");
  context.require_equal(boxes.shape[numbers], Dim(4), "a box has four numbers");
  const Dim count = count_of_rows(context);
  Shape box_shape = boxes.shape, score_shape = scores.shape;
  box_shape[items] = score_shape[items] = count;
  Infos infos = {tensor_info(boxes.type, std::move(box_shape)),
                 tensor_info(scores.type, std::move(score_shape)),
                 tensor_info(DataType::Int32, {scores.shape[0], count})};
  if (!last) infos.push_back(tensor_info(DataType::Int32, {scores.shape[0]}));
  return infos;
}

struct Box {
  double left, right, top, bottom, area;
};

// The numbers are (x, y, width, height); (x, y) is the centre.
Box to_box(const double* n) {
  const double x = n[0], y = n[1], width = n[2], height = n[3];
  return {x - width / 2, x + width / 2, y - height / 2, y + height / 2, width * height};
}

double intersection_over_union(const Box& a, const Box& b) {
  const double width = std::max(0.0, std::min(a.right, b.right) - std::max(a.left, b.left));
  const double height = std::max(0.0, std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  const double both = width * height, either = a.area + b.area - both;
  return either > 0 ? both / either : 0;
}

bool overlap_too_much(const Box& a, const Box& b, const SuppressionRule& rule) {
  const double overlap = intersection_over_union(a, b);
  if (rule.overlap == Overlap::Double) return overlap > rule.iou_threshold;
  const double single = round_to_type(overlap, DataType::Float32);
  return single > rule.iou_threshold ||
         (rule.overlap == Overlap::SingleOrEqual && single > 0 && single == rule.iou_threshold);
}

}  // namespace

std::vector<size_t> keep_boxes(const std::vector<double>& numbers,
                               std::vector<BoxCandidate> candidates, const SuppressionRule& rule) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const BoxCandidate& a, const BoxCandidate& b) { return a.score > b.score; });
  std::vector<BoxCandidate> kept;
  std::vector<Box> boxes;  // those kept
  for (const BoxCandidate& candidate : candidates) {
    if (kept.size() >= rule.limit) break;
    if (!(candidate.score >= rule.score_threshold)) continue;
    const Box box = to_box(numbers.data() + candidate.index * 4);
    bool suppressed = false;
    for (size_t k = 0; k < kept.size() && !suppressed; ++k) {
      suppressed = (!rule.per_class || kept[k].best_class == candidate.best_class) &&
                   overlap_too_much(boxes[k], box, rule);
    }
    if (suppressed) continue;
    kept.push_back(candidate);
    boxes.push_back(box);
  }
  // Keeps the best one if none reaches the threshold: there is always a result.
  if (kept.empty() && !candidates.empty() && rule.limit > 0) kept.push_back(candidates.front());
  std::vector<size_t> indices;
  indices.reserve(kept.size());
  for (const BoxCandidate& candidate : kept) indices.push_back(candidate.index);
  return indices;
}

namespace {

Tensors evaluate_suppression(EvalContext& context) {
  const bool last = boxes_last(context);
  const Dims to_last = {0, 2, 1};
  const Tensor boxes = last ? transposed(context.input("boxes"), to_last) : context.input("boxes");
  const Tensor scores =
      last ? transposed(context.input("scores"), to_last) : context.input("scores");
  const int64_t batch = boxes.shape[0], limit = max_boxes(context);
  const auto count = static_cast<size_t>(boxes.shape[1]),
             classes = static_cast<size_t>(scores.shape[2]);
  if (classes == 0 && count > 0) context.reject("boxes without scores");
  SuppressionRule rule;
  rule.iou_threshold = context.float_param("iou_threshold");
  rule.score_threshold = last ? -HUGE_VAL : context.float_param("score_threshold");
  rule.per_class = context.bool_param("per_class_suppression");
  rule.overlap = last ? Overlap::SingleOrEqual : Overlap::Single;
  rule.limit = static_cast<size_t>(limit);

  Tensor out_boxes(boxes.type, {batch, limit, 4});
  Tensor out_scores(scores.type, {batch, limit, static_cast<int64_t>(classes)});
  Tensor out_indices(DataType::Int32, {batch, limit});
  Tensor out_counts(DataType::Int32, {batch});
  out_indices.values.assign(out_indices.values.size(), -1);
  for (size_t b = 0; b < static_cast<size_t>(batch); ++b) {
    const double* box_numbers = boxes.values.data() + b * count * 4;
    const double* box_scores = scores.values.data() + b * count * classes;
    std::vector<BoxCandidate> candidates;
    for (size_t i = 0; i < count; ++i) {
      candidates.push_back(best_class_of(i, box_scores + i * classes, classes));
    }
    const auto kept =
        keep_boxes({box_numbers, box_numbers + count * 4}, std::move(candidates), rule);
    for (size_t k = 0; k < kept.size(); ++k) {
      const size_t place = b * static_cast<size_t>(limit) + k;
      std::copy_n(box_numbers + kept[k] * 4, 4, out_boxes.values.data() + place * 4);
      std::copy_n(box_scores + kept[k] * classes, classes,
                  out_scores.values.data() + place * classes);
      out_indices.values[place] = static_cast<double>(kept[k]);
    }
    out_counts.values[b] = static_cast<double>(kept.size());
  }
  if (last) {
    out_boxes = transposed(out_boxes, to_last);
    out_scores = transposed(out_scores, to_last);
  }
  Tensors outputs;
  outputs.push_back(std::move(out_boxes));
  outputs.push_back(std::move(out_scores));
  outputs.push_back(std::move(out_indices));
  if (!last) outputs.push_back(std::move(out_counts));
  return outputs;
}

OpDef suppression_op(Opset since) {
  OpDef def{
      .name = "non_maximum_suppression",
      .since = since,
      .parameters = {tensor("boxes", "f"), tensor("scores", "f"), tensor("iou_threshold", "f")},
      .infer = infer_suppression,
      .evaluate = evaluate_suppression,
      .doc =
          "Up to max_boxes boxes (centre x, centre y, width, height) in descending order "
          "of their best score, without those that overlap a better one (of the same "
          "class, with per_class_suppression) by more than iou_threshold: boxes, scores, "
          "indices, padded with 0, 0, -1; before CoreML7 also their number, and only "
          "scores from score_threshold on (if there are any)."};
  if (since < Opset::CoreML7) {
    def.parameters.push_back(tensor("score_threshold", "f"));
  }
  def.parameters.push_back(tensor("max_boxes", "i"));
  def.parameters.push_back(optional_constant("per_class_suppression", "b", false));
  def.num_outputs = since < Opset::CoreML7 ? 4 : 3;
  return def;
}

// The number of rows that pick_top_boxes returns: `max` < 0 means any number.
struct RowLimits {
  int64_t min = 0, max = -1;
};

RowLimits row_limits(const OpContext& context) {
  const RowLimits limits{context.int_param("min_rows"), context.int_param("max_rows")};
  if (limits.min < 0 || limits.min > INT32_MAX || (limits.max >= 0 && limits.max < limits.min)) {
    context.reject("from {} to {} rows", limits.min, limits.max);
  }
  return limits;
}

Infos infer_pick_top(InferContext& context) {
  const ValueInfo &confidence = context.input("confidence"),
                  &coordinates = context.input("coordinates");
  for (const ValueInfo* info : {&confidence, &coordinates}) {
    if (info->shape.size() < 2) context.reject("a matrix of rank {}", info->shape.size());
    for (size_t i = 0; i + 2 < info->shape.size(); ++i) {
      context.require_equal(info->shape[i], Dim(1), "axes before the last two");
    }
  }
  for (const char* name : {"iou_threshold", "confidence_threshold"}) {
    context.require_equal(num_elements(context.input(name).shape), Dim(1), "a threshold");
  }
  const Dim rows = *(confidence.shape.end() - 2), classes = confidence.shape.back();
  context.require_equal(*(coordinates.shape.end() - 2), rows, "confidences and boxes");
  context.require_equal(coordinates.shape.back(), Dim(4), "a box has four numbers");
  if (context.has("classes")) {
    const ValueInfo& labels = context.input("classes");
    if (!labels.length) context.reject("classes must be a constant list");
    context.require_equal(classes, *labels.length, "as many confidences as classes");
  }
  const RowLimits limits = row_limits(context);
  Dim most = maximum(rows, Dim(limits.min));
  if (limits.max >= 0) most = minimum(most, Dim(limits.max));
  const Dim count =
      limits.min == limits.max ? Dim(limits.min) : context.data_dependent("rows", most);
  return {tensor_info(confidence.type, {count, classes}),
          tensor_info(coordinates.type, {count, Dim(4)})};
}

Tensors evaluate_pick_top(EvalContext& context) {
  const Tensor &confidence = context.input("confidence"),
               &coordinates = context.input("coordinates");
  const auto count = static_cast<size_t>(*(confidence.shape.end() - 2)),
             classes = static_cast<size_t>(confidence.shape.back());
  const double iou = context.input("iou_threshold").values.at(0),
               threshold = context.input("confidence_threshold").values.at(0);
  std::vector<BoxCandidate> candidates;
  for (size_t i = 0; i < count; ++i) {
    BoxCandidate candidate{i, -HUGE_VAL, 0};
    for (size_t c = 0; c < classes; ++c) {
      const double score = confidence.values[i * classes + c];
      if (score > candidate.score) candidate = {i, score, c};  // never NaN
    }
    if (candidate.score >= threshold) candidates.push_back(candidate);
  }
  const RowLimits limits = row_limits(context);
  SuppressionRule rule;
  rule.iou_threshold = iou;
  rule.per_class = context.bool_param("per_class");
  rule.limit = limits.max < 0 ? candidates.size() : static_cast<size_t>(limits.max);
  const std::vector<size_t> kept = keep_boxes(coordinates.values, std::move(candidates), rule);
  const int64_t rows = std::max(std::ssize(kept), limits.min);
  Tensor out_confidence(confidence.type, {rows, static_cast<int64_t>(classes)});
  Tensor out_coordinates(coordinates.type, {rows, 4});
  for (size_t k = 0; k < kept.size(); ++k) {
    std::copy_n(confidence.values.data() + kept[k] * classes, classes,
                out_confidence.values.data() + k * classes);
    std::copy_n(coordinates.values.data() + kept[k] * 4, 4, out_coordinates.values.data() + k * 4);
  }
  Tensors outputs;
  outputs.push_back(std::move(out_confidence));
  outputs.push_back(std::move(out_coordinates));
  return outputs;
}

OpDef pick_top_op() {
  return {.name = "pick_top_boxes",
          .parameters = {tensor("confidence", "f"), tensor("coordinates", "f"),
                         tensor("iou_threshold", "f"), tensor("confidence_threshold", "f"),
                         constant("per_class", "b"), constant("min_rows", "i"),
                         constant("max_rows", "i"), optional_constant("classes", "sil")},
          .infer = infer_pick_top,
          .evaluate = evaluate_pick_top,
          .doc =
              "Pippin's own, for models of the kind nonMaximumSuppression: the rows of confidence "
              "[boxes, classes] and coordinates [boxes, 4] (centre x, centre y, width, height) "
              "whose best confidence reaches confidence_threshold, best first, without those that "
              "overlap a better one (of the same class, with per_class) by more than "
              "iou_threshold. Rows of zeros make up min_rows; there are at most max_rows (-1: any "
              "number). The classes are the names of confidence's columns.",
          .num_outputs = 2};
}

}  // namespace

std::vector<OpDef> suppression_ops() {
  return {suppression_op(Opset::CoreML5), suppression_op(Opset::CoreML7), pick_top_op()};
}

}  // namespace pippin::mil
