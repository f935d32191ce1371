// Attention as encoders and decoders of pictures, speech and text write it: which forms fuse, which
// do not, and that the values match the reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

// Of x [batch, rows, 8] and y [batch, keys, 8] two heads of 4 columns each.
class Attention {
 public:
  explicit Attention(int64_t batch = 2, int64_t rows = 5, int64_t keys = 5)
      : batch_(batch),
        rows_(rows),
        keys_(keys),
        text_(fmt::format("tensor<fp32, [{0}, {1}, 8]> x, tensor<fp32, [{0}, {2}, 8]> y, "
                          "tensor<fp32, [{0}, 2, {1}, {2}]> bias, tensor<fp32, [{0}, 1, 1, {2}]> "
                          "mask",
                          batch, rows, keys)) {
    text_.integers("heads_first", {0, 2, 1, 3}).number("last", "int32", "-1");
    text_.number("scale", 0.5).number("root", 2).number("quarter", 0.75);
    text_.integers("merged", {batch, rows, 8});
  }

  ProgramText& text() { return text_; }
  std::string type(const std::vector<int64_t>& shape) const {
    return fmt::format("tensor<fp32, [{}]>", fmt::join(shape, ", "));
  }
  std::vector<int64_t> scores_shape() const { return {batch_, 2, rows_, keys_}; }
  std::vector<int64_t> heads(int64_t count) const { return {batch_, 2, count, 4}; }

  // A linear layer and its heads [batch, 2, count, 4].
  Attention& project(const std::string& name, const std::string& from, int64_t count) {
    text_.array(name + "_w", {8, 8}).array(name + "_b", {8});
    text_.op(name + "_all", type({batch_, count, 8}),
             fmt::format("linear(x = {}, weight = {}_w, bias = {}_b)", from, name, name));
    text_.integers(name + "_split", {batch_, count, 2, 4});
    text_.op(name + "_apart", type({batch_, count, 2, 4}),
             fmt::format("reshape(x = {0}_all, shape = {0}_split)", name));
    text_.op(name, type(heads(count)),
             fmt::format("transpose(x = {}_apart, perm = heads_first)", name));
    return *this;
  }
  Attention& projections() {
    return project("q", "x", rows_).project("k", "y", keys_).project("v", "y", keys_);
  }
  Attention& op(const std::string& name, const std::vector<int64_t>& shape,
                const std::string& call) {
    text_.op(name, type(shape), call);
    return *this;
  }
  Attention& on_scores(const std::string& name, const std::string& call) {
    return op(name, scores_shape(), call);
  }
  Attention& product(const std::string& q = "q", const std::string& k = "k") {
    return on_scores(
        "s", fmt::format("matmul(x = {}, y = {}, transpose_x = no, transpose_y = yes)", q, k));
  }
  // softmax, the product with v, and the merged heads.
  Attention& finish(const std::string& scores) {
    on_scores("w", fmt::format("softmax(x = {}, axis = last)", scores));
    op("o", heads(rows_), "matmul(x = w, y = v, transpose_x = no, transpose_y = no)");
    op("t", {batch_, rows_, 2, 4}, "transpose(x = o, perm = heads_first)");
    return op("z", {batch_, rows_, 8}, "reshape(x = t, shape = merged)");
  }

  void check(bool fuses) {
    const mil::Model model = text_.returns("z");
    const std::string plan = described(model);
    EXPECT_EQ(plan.find("attention (") != std::string::npos, fuses) << plan;
    EXPECT_EQ(plan.find("softmax") == std::string::npos, fuses) << plan;
    EXPECT_EQ(described(model, false).find("attention ("), std::string::npos);
    expect_same_values(
        model, {{{batch_, rows_, 8}, {batch_, keys_, 8}, scores_shape(), {batch_, 1, 1, keys_}}},
        {Fill::Ordinary, Fill::Zeros});
  }

 private:
  int64_t batch_, rows_, keys_;
  ProgramText text_;
};

TEST(AttentionOfModels, ScaledQueries) {
  Attention attention;
  attention.projections().op("qs", attention.heads(5), "mul(x = q, y = scale)");
  attention.product("qs").finish("s").check(true);
}

TEST(AttentionOfModels, ScaledBeforeTheHeads) {
  Attention attention;
  attention.text().array("q_w", {8, 8}).array("q_b", {8}).integers("split", {2, 5, 2, 4});
  attention.op("q_all", {2, 5, 8}, "linear(x = x, weight = q_w, bias = q_b)");
  attention.op("q_small", {2, 5, 8}, "mul(x = q_all, y = scale)");
  attention.op("q_apart", {2, 5, 2, 4}, "reshape(x = q_small, shape = split)");
  attention.op("q", {2, 2, 5, 4}, "transpose(x = q_apart, perm = heads_first)");
  attention.project("k", "y", 5).project("v", "y", 5).product().finish("s").check(true);
}

TEST(AttentionOfModels, DividedScoresAndAMaskOfKeys) {
  Attention attention;
  attention.projections().product();
  attention.on_scores("d", "real_div(x = s, y = root)").on_scores("m", "add(x = d, y = mask)");
  attention.finish("m").check(true);
}

// Queries and keys each scaled by the fourth root, keys transposed, another length.
TEST(AttentionOfModels, CrossAttentionWithBothScaled) {
  Attention attention(2, 3, 7);
  attention.projections().op("qs", attention.heads(3), "mul(x = q, y = quarter)");
  attention.op("ks", attention.heads(7), "mul(x = k, y = quarter)");
  attention.text().integers("turn", {0, 1, 3, 2});
  attention.op("kt", {2, 2, 4, 7}, "transpose(x = ks, perm = turn)");
  attention.on_scores("s", "matmul(x = qs, y = kt, transpose_x = no, transpose_y = no)");
  attention.finish("s").check(true);
}

TEST(AttentionOfModels, Einsum) {
  Attention attention;
  attention.projections();
  attention.text().number("to_scores", "string", "\"bhid,bhjd->bhij\"");
  attention.text().number("to_rows", "string", "\"bhij,bhjd->bhid\"");
  attention.on_scores("s", "einsum(values = (q, k), equation = to_scores)");
  attention.on_scores("d", "mul(x = s, y = scale)").on_scores("w", "softmax(x = d, axis = last)");
  attention.op("o", {2, 2, 5, 4}, "einsum(values = (w, v), equation = to_rows)");
  attention.op("t", {2, 5, 2, 4}, "transpose(x = o, perm = heads_first)");
  attention.op("z", {2, 5, 8}, "reshape(x = t, shape = merged)").check(true);
}

TEST(AttentionOfModels, RelativePositions) {
  Attention attention;
  attention.projections().product().on_scores("m", "add(x = s, y = bias)");
  attention.finish("m").check(true);
}

// Positions, then a causal mask: two masks, of which one is the same for all heads.
TEST(AttentionOfModels, PositionsAndAMask) {
  Attention attention;
  attention.projections().product().on_scores("p", "add(x = s, y = bias)");
  attention.on_scores("m", "add(x = mask, y = p)").finish("m").check(true);
}

TEST(AttentionOfModels, PositionsBeforeTheScale) {
  Attention attention;
  attention.projections().product().on_scores("p", "add(x = s, y = bias)");
  attention.on_scores("d", "mul(x = p, y = scale)").on_scores("m", "sub(x = d, y = mask)");
  attention.finish("m").check(true);
}

// Windows: positions in each, and the visible part of a shifted window, which is the same for each
// picture.
TEST(AttentionOfModels, ShiftedWindows) {
  Attention attention(6, 4, 4);  // two pictures of three windows
  attention.text().array("own", {1, 2, 4, 4}).array("seen", {1, 3, 1, 4, 4});
  attention.text().integers("by_picture", {2, 3, 2, 4, 4}).integers("by_window", {6, 2, 4, 4});
  attention.projections().op("qs", attention.heads(4), "mul(x = q, y = scale)").product("qs");
  attention.on_scores("p", "add(x = s, y = own)");
  attention.op("a", {2, 3, 2, 4, 4}, "reshape(x = p, shape = by_picture)");
  attention.op("b", {2, 3, 2, 4, 4}, "add(x = a, y = seen)");
  attention.on_scores("m", "reshape(x = b, shape = by_window)").finish("m").check(true);
}

// Heads as part of the batch, with masks of four axes.
TEST(AttentionOfModels, HeadsInTheBatch) {
  Attention attention;
  attention.projections();
  attention.text().integers("flat", {4, 5, 4}).integers("by_head", {2, 2, 5, 5});
  attention.text().integers("flat_scores", {4, 5, 5});
  for (const std::string name : {"q", "k", "v"}) {
    attention.op(name + "f", {4, 5, 4}, fmt::format("reshape(x = {}, shape = flat)", name));
  }
  attention.op("qs", {4, 5, 4}, "mul(x = qf, y = scale)");
  attention.op("s", {4, 5, 5}, "matmul(x = qs, y = kf, transpose_x = no, transpose_y = yes)");
  attention.on_scores("a", "reshape(x = s, shape = by_head)");
  attention.on_scores("m", "add(x = a, y = mask)");
  attention.op("f", {4, 5, 5}, "reshape(x = m, shape = flat_scores)");
  attention.op("w", {4, 5, 5}, "softmax(x = f, axis = last)");
  attention.op("o", {4, 5, 4}, "matmul(x = w, y = vf, transpose_x = no, transpose_y = no)");
  attention.text().integers("apart", {2, 2, 5, 4});
  attention.op("h", {2, 2, 5, 4}, "reshape(x = o, shape = apart)");
  attention.op("t", {2, 5, 2, 4}, "transpose(x = h, perm = heads_first)");
  attention.op("z", {2, 5, 8}, "reshape(x = t, shape = merged)").check(true);
}

// Queries, keys and values from one product.
TEST(AttentionOfModels, OneProductOfAllThree) {
  Attention attention;
  attention.text().array("all_w", {24, 8}).array("all_b", {24}).integers("split", {2, 5, 3, 2, 4});
  attention.text().integers("three_first", {2, 0, 3, 1, 4}).integers("first", {0});
  attention.text().number("three", "int32", "3").number("zero", "int32", "0");
  attention.op("all", {2, 5, 24}, "linear(x = x, weight = all_w, bias = all_b)");
  attention.op("apart", {2, 5, 3, 2, 4}, "reshape(x = all, shape = split)");
  attention.op("by_three", {3, 2, 2, 5, 4}, "transpose(x = apart, perm = three_first)");
  const std::string part = "tensor<fp32, [1, 2, 2, 5, 4]>";
  attention.text().line(fmt::format(
      "{0} q1, {0} k1, {0} v1 = split(x = by_three, num_splits = three, axis = zero)[name = "
      "string(\"q1\")];",
      part));
  for (const std::string name : {"q", "k", "v"}) {
    attention.op(name, {2, 2, 5, 4}, fmt::format("squeeze(x = {}1, axes = first)", name));
  }
  attention.product().on_scores("d", "mul(x = s, y = scale)").finish("d").check(true);
}

TEST(AttentionOfModels, WhatStays) {
  {
    Attention attention;  // a mask within the cap
    attention.projections().product().on_scores("p", "add(x = s, y = bias)");
    attention.on_scores("c", "tanh(x = p)").finish("c").check(false);
  }
  {
    Attention attention;  // a factor for each score
    attention.projections().product().on_scores("p", "mul(x = s, y = bias)");
    attention.finish("p").check(false);
  }
  {
    Attention attention;  // mask - scores
    attention.projections().product().on_scores("p", "sub(x = bias, y = s)");
    attention.finish("p").check(false);
  }
}

}  // namespace
}  // namespace pippin::engine
