// Ops that choose, sort, sum, move and sample elements, against the reference.
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

void expect_planned(const ProgramText& text, const std::string& outputs,
                    const std::vector<std::vector<int64_t>>& shapes) {
  const mil::Model model = text.returns(outputs);
  EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
  expect_same_values(model, {shapes}, {Fill::Ordinary, Fill::Extremes});
}

std::string type_of(const std::vector<int64_t>& shape, const std::string& type = "fp32") {
  return fmt::format("tensor<{}, [{}]>", type, fmt::join(shape, ", "));
}

// Small, and large enough for several threads.
const std::vector<std::vector<int64_t>> kMoveShapes = {{1, 1, 1}, {2, 3, 5}, {2, 150, 120}};
bool is_large(const std::vector<int64_t>& shape) {
  return shape[1] > 100;
}

TEST(MoveRules, TopkAndArgsort) {
  for (const auto& shape : kMoveShapes) {
    for (const int64_t axis : {0, 1, -1}) {
      const size_t at = axis < 0 ? 2 : static_cast<size_t>(axis);
      for (const int64_t k : {int64_t{0}, int64_t{1}, shape[at] / 2, shape[at]}) {
        if (is_large(shape) && (axis == 0 || k != shape[at] / 2)) continue;
        for (const std::string ascending : {"yes", "no"}) {
          SCOPED_TRACE(fmt::format("{} axis {} k {} {}", shape, axis, k, ascending));
          std::vector<int64_t> chosen = shape;
          chosen[at] = k;
          ProgramText text(type_of(shape) + " x");
          text.number("axis", "int32", std::to_string(axis))
              .number("k", "int32", std::to_string(k));
          text.number("as_float", "string", "\"fp32\"");
          text.line(
              fmt::format("{} v, {} i = topk(x = x, k = k, axis = axis, ascending = {})[name "
                          "= string(\"v\")];",
                          type_of(chosen), type_of(chosen, "int32"), ascending));
          text.op("w", type_of(chosen), "cast(x = i, dtype = as_float)");
          text.op("s", type_of(shape, "int32"),
                  fmt::format("argsort(x = x, axis = axis, ascending = {})", ascending));
          text.op("t", type_of(shape), "cast(x = s, dtype = as_float)");
          expect_planned(text, "v, w, t", {shape});
        }
      }
    }
  }
}

TEST(MoveRules, CumulativeSums) {
  for (const auto& shape : kMoveShapes) {
    for (const int64_t axis : {0, 1, 2}) {
      for (const std::string flags :
           {"exclusive = no, reverse = no", "exclusive = yes, reverse = no",
            "exclusive = no, reverse = yes", "exclusive = yes, reverse = yes"}) {
        SCOPED_TRACE(fmt::format("{} axis {} {}", shape, axis, flags));
        ProgramText text(type_of(shape) + " x");
        text.number("axis", "int32", std::to_string(axis));
        text.op("y", type_of(shape), "cumsum(x = x, axis = axis, " + flags + ")");
        expect_planned(text, "y", {shape});
      }
    }
  }
}

TEST(MoveRules, Gathers) {
  ProgramText text("tensor<fp32, [2, 5, 4]> x");
  // From the end, and beyond both ends.
  text.integers("i", {0, -1, 4, 9, -7, 2}).number("one", "int32", "1");
  text.number("pairs", "tensor<int32, [2, 3]>", "[[1, 0, 4], [-1, 7, 3]]");
  text.number("places", "tensor<int32, [2, 2, 4]>",
              "[[[0, 1, 2, 3], [4, 4, -1, 9]], [[3, 2, 1, 0], [-9, 0, 0, 1]]]");
  text.number("points", "tensor<int32, [3, 2]>", "[[0, 1], [1, -1], [5, -9]]");
  text.op("a", "tensor<fp32, [2, 6, 4]>", "gather(x = x, indices = i, axis = one)");
  text.op("b", "tensor<fp32, [2, 3, 4]>",
          "gather(x = x, indices = pairs, axis = one, batch_dims = one)");
  text.op("c", "tensor<fp32, [2, 2, 4]>", "gather_along_axis(x = x, indices = places, axis = one)");
  text.op("d", "tensor<fp32, [3, 4]>", "gather_nd(x = x, indices = points)");
  text.number("inner", "tensor<int32, [2, 3, 1]>", "[[[0], [4], [2]], [[1], [1], [-2]]]");
  text.op("e", "tensor<fp32, [2, 3, 4]>", "gather_nd(x = x, indices = inner, batch_dims = one)");
  // Of a view.
  text.integers("perm", {2, 0, 1});
  text.op("t", "tensor<fp32, [4, 2, 5]>", "transpose(x = x, perm = perm)");
  text.op("f", "tensor<fp32, [4, 6, 5]>", "gather(x = t, indices = i, axis = one)");
  expect_planned(text, "a, b, c, d, e, f", {{2, 5, 4}});
}

TEST(MoveRules, Scatters) {
  for (const std::string mode : {"update", "add", "sub", "mul", "div", "max", "min"}) {
    SCOPED_TRACE(mode);
    ProgramText text(
        "tensor<fp32, [2, 5, 4]> x, tensor<fp32, [2, 3, 4]> u, tensor<fp32, [3, 4]> w");
    text.number("mode", "string", "\"" + mode + "\"").number("one", "int32", "1");
    text.integers("i", {4, 0, 4});  // one twice
    text.number("places", "tensor<int32, [2, 3, 4]>",
                "[[[0, 1, 2, 3], [4, 4, -1, 9], [0, 1, 0, 1]], [[3, 2, 1, 0], [-9, 0, 0, 1], [2, "
                "2, 2, 2]]]");
    text.number("points", "tensor<int32, [3, 2]>", "[[0, 1], [1, -1], [0, 1]]");
    text.op("a", "tensor<fp32, [2, 5, 4]>",
            "scatter(data = x, indices = i, updates = u, axis = one, mode = mode)");
    text.op("b", "tensor<fp32, [2, 5, 4]>",
            "scatter_along_axis(data = x, indices = places, updates = u, axis = one, mode = mode)");
    text.op("c", "tensor<fp32, [2, 5, 4]>",
            "scatter_nd(data = x, indices = points, updates = w, mode = mode)");
    expect_planned(text, "a, b, c", {{2, 5, 4}, {2, 3, 4}, {3, 4}});
  }
}

// Wide slices, and many batches, which threads share.
TEST(MoveRules, ScattersByThreads) {
  ProgramText batches("tensor<fp32, [3, 4, 9000]> x, tensor<fp32, [3, 2, 9000]> u");
  batches.number("mode", "string", "\"add\"").number("one", "int32", "1").integers("i", {3, 3});
  batches.op("y", "tensor<fp32, [3, 4, 9000]>",
             "scatter(data = x, indices = i, updates = u, axis = one, mode = mode)");
  expect_same_values(batches.returns("y"), {{{3, 4, 9000}, {3, 2, 9000}}}, {Fill::Ordinary});
  ProgramText slices("tensor<fp32, [4, 20000]> x, tensor<fp32, [2, 20000]> u");
  slices.number("mode", "string", "\"add\"").number("zero", "int32", "0").integers("i", {3, 3});
  slices.op("y", "tensor<fp32, [4, 20000]>",
            "scatter(data = x, indices = i, updates = u, axis = zero, mode = mode)");
  expect_same_values(slices.returns("y"), {{{4, 20000}, {2, 20000}}}, {Fill::Ordinary});
}

TEST(MoveRules, WrongIndices) {
  for (const std::string call :
       {"gather(x = x, indices = i, axis = zero, validate_indices = yes)",
        "gather_along_axis(x = x, indices = i, axis = zero, validate_indices = yes)"}) {
    ProgramText text("tensor<fp32, [3]> x");
    text.integers("i", {0, 2, 3}).number("zero", "int32", "0");
    text.op("y", "tensor<fp32, [3]>", call);
    const mil::Model model = text.returns("y");
    ThreadPool pool(1);
    Execution execution(Plan::make(model, "main", {}), pool);
    State state({});
    execution.bind({{3}}, state);
    EXPECT_ERROR(execution.run(), ErrorCode::InvalidFile,
                 call.substr(0, call.find('(')) + " 'y': index 3 is out of range for size 3");
  }
}

TEST(MoveRules, OneHot) {
  ProgramText text("tensor<fp32, [2, 3]> x");
  text.number("as_int", "string", "\"int32\"").number("four", "int32", "4");
  text.number("on", 2.5).number("off", -1);
  text.number("low", 0).number("high", 5);
  text.op("c", "tensor<fp32, [2, 3]>", "clip(x = x, alpha = low, beta = high)");
  text.op("i", "tensor<int32, [2, 3]>", "cast(x = c, dtype = as_int)");
  for (const int64_t axis : {0, 1, -1}) {
    std::vector<int64_t> shape = {2, 3};
    shape.insert(shape.begin() + (axis < 0 ? 2 : axis), 4);
    text.number(fmt::format("axis{}", axis + 1), "int32", std::to_string(axis));
    text.op(fmt::format("y{}", axis + 1), type_of(shape),
            fmt::format("one_hot(indices = i, one_hot_vector_size = four, axis = axis{}, on_value "
                        "= on, off_value = off)",
                        axis + 1));
  }
  const mil::Model model = text.returns("y0, y1, y2");
  EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
  expect_same_values(model, {{{2, 3}}}, {Fill::Ordinary, Fill::Zeros});
}

TEST(MoveRules, ReversedAndInWindows) {
  for (const auto& shape : kMoveShapes) {
    SCOPED_TRACE(fmt::format("{}", shape));
    ProgramText text(type_of(shape) + " x");
    text.integers("ends", {0, 2}).number("one", "int32", "1").number("size", "int32", "1");
    text.op("a", type_of(shape), "reverse(x = x)");
    text.op("b", type_of(shape), "reverse(x = x, axes = ends)");
    text.op("c", type_of(shape), "add(x = a, y = b)");
    std::vector<int64_t> windows = shape;
    const int64_t size = (shape[1] + 1) / 2;
    text.number("half", "int32", std::to_string(size)).number("two", "int32", "2");
    windows[1] = (shape[1] - size) / 2 + 1;
    windows.insert(windows.begin() + 2, size);
    text.op("d", type_of(windows), "sliding_windows(x = x, axis = one, size = half, stride = two)");
    text.op("e", type_of(windows), "relu(x = d)");
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < shape[0]; ++i) lengths.push_back(i % (shape[2] + 1));
    text.integers("lengths", lengths).number("last", "int32", "-1").number("zero", "int32", "0");
    text.op("f", type_of(shape),
            "reverse_sequence(x = x, lengths = lengths, seq_axis = last, batch_axis = zero)");
    expect_planned(text, "a, c, d, e, f", {shape});
  }
}

TEST(MoveRules, Bands) {
  for (const int64_t lower : {-1, 0, 1, 100}) {
    for (const int64_t upper : {-1, 0, 2, 100}) {
      for (const auto& shape : kMoveShapes) {
        if (is_large(shape) && (lower != 1 || upper != 2)) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", lower, upper, shape));
        ProgramText text(type_of(shape) + " x");
        text.number("lower", "int32", std::to_string(lower));
        text.number("upper", "int32", std::to_string(upper));
        text.op("y", type_of(shape), "band_part(x = x, lower = lower, upper = upper)");
        expect_planned(text, "y", {shape});
      }
    }
  }
}

TEST(MoveRules, SpaceAndBatches) {
  ProgramText text("tensor<fp32, [2, 3, 4, 5]> x");
  text.integers("blocks", {2, 3}).number("pads", "tensor<int32, [2, 2]>", "[[1, 1], [0, 1]]");
  text.op("a", "tensor<fp32, [12, 3, 3, 2]>",
          "space_to_batch(x = x, block_shape = blocks, paddings = pads)");
  text.op("b", "tensor<fp32, [2, 3, 4, 5]>",
          "batch_to_space(x = a, block_shape = blocks, crops = pads)");
  expect_planned(text, "a, b", {{2, 3, 4, 5}});
}

TEST(MoveRules, Reductions) {
  for (const auto& shape : kMoveShapes) {
    ProgramText text(type_of(shape) + " x");
    text.integers("axes", {0, 2}).op("p", type_of(shape), "abs(x = x)");
    std::string outputs;
    for (const std::string name : {"l1_norm", "l2_norm", "log_sum", "prod"}) {
      text.op("y_" + name, type_of({1, shape[1], 1}),
              fmt::format("reduce_{}(x = p, axes = axes, keep_dims = yes)", name));
      outputs += (outputs.empty() ? "y_" : ", y_") + name;
    }
    const mil::Model model = text.returns(outputs);
    EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
    expect_same_values(model, {{shape}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
  }
}

TEST(MoveRules, Functions) {
  const std::vector<int64_t> shape = {3, 5, 7};
  ProgramText text(type_of(shape) + " x");
  text.number("alpha", 0.5).number("beta", 0.75);
  std::string outputs;
  for (const std::string name : {"acos", "asin", "atan", "atanh", "cosh", "sinh", "tan"}) {
    text.op(name + "_y", type_of(shape), name + "(x = x)");
    outputs += name + "_y, ";
  }
  text.op("r", type_of(shape), "clamped_relu(x = x, alpha = alpha, beta = beta)");
  text.op("t", type_of(shape), "thresholded_relu(x = x, alpha = alpha)");
  text.array("a", {5}).array("b", {5});
  text.op("s", type_of(shape), "softplus_parametric(x = x, alpha = a, beta = b)");
  const mil::Model model = text.returns(outputs + "r, t, s");
  EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
  expect_same_values(model, {{shape}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
}

TEST(MoveRules, Norms) {
  ProgramText text("tensor<fp32, [2, 6, 3, 5]> x");
  text.number("size", "int32", "3").number("even", "int32", "4").number("k", 1.5);
  text.number("alpha", 0.5).number("beta", 0.75).number("epsilon", 1e-3);
  text.op("a", "tensor<fp32, [2, 6, 3, 5]>",
          "local_response_norm(x = x, size = size, alpha = alpha, beta = beta, k = k)");
  text.op("b", "tensor<fp32, [2, 6, 3, 5]>", "local_response_norm(x = x, size = even)");
  text.op("c", "tensor<fp32, [2, 6, 3, 5]>", "l2_norm(x = x, epsilon = epsilon)");
  expect_planned(text, "a, b, c", {{2, 6, 3, 5}});
}

TEST(MoveRules, Sampling) {
  for (const std::string mode : {"bilinear", "nearest"}) {
    for (const std::string padding : {"constant", "border", "reflection", "symmetric"}) {
      for (const std::string coordinates :
           {"unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one"}) {
        for (const std::string align : {"yes", "no"}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", mode, padding, coordinates, align));
          ProgramText text("tensor<fp32, [2, 3, 4, 5]> x, tensor<fp32, [2, 3, 70, 2]> c");
          text.number("mode", "string", "\"" + mode + "\"").number("value", 0.25);
          text.number("padding", "string", "\"" + padding + "\"");
          text.number("which", "string", "\"" + coordinates + "\"");
          text.op("y", "tensor<fp32, [2, 3, 3, 70]>",
                  "resample(x = x, coordinates = c, sampling_mode = mode, padding_mode = padding, "
                  "padding_value = value, coordinates_mode = which, align_corners = " +
                      align + ")");
          const mil::Model model = text.returns("y");
          EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
          expect_same_values(model, {{{2, 3, 4, 5}, {2, 3, 70, 2}}},
                             {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
        }
      }
    }
  }
}

TEST(MoveRules, Suppression) {
  ProgramText text("tensor<fp32, [2, 4, 50]> b, tensor<fp32, [2, 3, 50]> s");
  text.number("iou", 0.3).number("count", "int32", "20").number("as_float", "string", "\"fp32\"");
  for (const std::string by_class : {"yes", "no"}) {
    text.line(fmt::format(
        "tensor<fp32, [2, 4, 20]> boxes_{0}, tensor<fp32, [2, 3, 20]> scores_{0}, tensor<int32, "
        "[2, 20]> i_{0} = non_maximum_suppression(boxes = b, scores = s, iou_threshold = iou, "
        "max_boxes = count, per_class_suppression = {0})[name = string(\"boxes_{0}\")];",
        by_class));
    text.op("places_" + by_class, "tensor<fp32, [2, 20]>",
            fmt::format("cast(x = i_{}, dtype = as_float)", by_class));
  }
  expect_planned(text, "boxes_yes, scores_yes, places_yes, boxes_no, scores_no, places_no",
                 {{2, 4, 50}, {2, 3, 50}});
}

}  // namespace
}  // namespace pippin::engine
