// Random programs of typical net operations: fused, unfused and by the reference they give the same
// values, whichever of their values are read.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

// Relative to the largest value: errors of many operations add up, and the reference rounds each
// result to its type.
constexpr double kTolerance = 1e-3, kHalfTolerance = 0.1;

// Operations on values written before, mostly on the last ones.
class RandomProgram {
 public:
  // Not with rows in fp16: a softmax of products amplifies a rounding error.
  RandomProgram(uint32_t seed, const std::vector<int64_t>& shape)
      : random_(seed),
        type_(seed % 4 == 3 && shape.size() == 4 ? "fp16" : "fp32"),
        text_(type_of(shape) + " x") {
    values_.push_back({"x", shape});
  }

  mil::Model finished() {
    std::string outputs = values_.back().name;
    for (int i = 0; i < 2; ++i) {
      const std::string other = any().name;
      const bool listed = (", " + outputs + ",").find(", " + other + ",") != std::string::npos;
      if (other != "x" && !listed) outputs += ", " + other;
    }
    source_ += "returns " + outputs + "\n";
    return text_.returns(outputs);
  }
  const std::string& source() const { return source_; }
  bool is_half() const { return type_ == "fp16"; }

  // One of the recipes for maps [1, C, H, W].
  void add_of_map() {
    const Value x = like(values_.front());
    switch (below(14)) {
      case 0:
        return convolve(x, 1, 1);
      case 1:
        return convolve(x, 3, 1);
      case 2:
        return convolve(x, 3, x.shape[1]);
      case 3:
        return normalize(x);
      case 4:
        return pool(x);
      case 5:
        return in_other_shape(x);
      case 6:
        return squeeze_and_excite(x);
      case 7:
        return join_and_part(x);
      default:
        return add_elementwise(x);
    }
  }
  // One of the recipes for rows [1, T, D].
  void add_of_rows() {
    const Value x = like(values_.front());
    switch (below(12)) {
      case 0:
      case 1:
        return multiply(x);
      case 2:
        return root_mean_square(x);
      case 3:
        op(x.shape, "layer_norm(x = " + x.name + ", axes = " + integers({-1}) + ")");
        return;
      case 4:
        return attend(x);
      default:
        return add_elementwise(x);
    }
  }

 private:
  struct Value {
    std::string name;
    std::vector<int64_t> shape;
  };

  uint32_t below(uint32_t count) { return random_() % count; }
  // -1: a size that differs from call to call.
  std::string type_of(const std::vector<int64_t>& shape) const { return type_of(shape, type_); }
  static std::string type_of(const std::vector<int64_t>& shape, const std::string& type) {
    std::string sizes;
    for (const int64_t size : shape) {
      sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? "?" : std::to_string(size));
    }
    return "tensor<" + type + ", [" + sizes + "]>";
  }
  std::string fresh(const char* kind) { return fmt::format("{}{}", kind, names_++); }
  Value any() {
    const auto count = static_cast<uint32_t>(values_.size());
    return values_[below(3) == 0 ? below(count) : count - 1 - below(std::min(count, 3U))];
  }
  Value like(const Value& x) {
    for (int tries = 0; tries < 8; ++tries) {
      const Value other = any();
      if (other.shape == x.shape) return other;
    }
    return x;
  }

  std::string number(double value) {
    const std::string name = fresh("n");
    text_.number(
        name, type_,
        fmt::format("{:a}", mil::round_to_type(value, is_half() ? mil::DataType::Float16
                                                                : mil::DataType::Float32)));
    return name;
  }
  std::string word(const std::string& value) {
    const std::string name = fresh("s");
    text_.number(name, "string", "\"" + value + "\"");
    return name;
  }
  std::string integer(int64_t value) {
    const std::string name = fresh("i");
    text_.number(name, "int32", std::to_string(value));
    return name;
  }
  std::string integers(const std::vector<int64_t>& values) {
    const std::string name = fresh("l");
    text_.integers(name, values);
    return name;
  }
  std::string array(const std::vector<int64_t>& shape, double center) {
    const std::string name = fresh("a");
    text_.array(name, shape, center, type_);
    return name;
  }
  // Sometimes writes the same operation again, under another name that is used from then on.
  std::string op(const std::vector<int64_t>& shape, const std::string& call) {
    std::string name;
    for (int times = below(8) == 0 ? 2 : 1; times > 0; --times) {
      name = fresh("v");
      text_.op(name, type_of(shape), call);
      source_ += name + " = " + call + "\n";
      values_.push_back({name, shape});
    }
    return name;
  }
  std::string unary(const std::string& type, const Value& x, const std::string& more = "") {
    return op(x.shape, type + "(x = " + x.name + more + ")");
  }
  std::string binary(const std::string& type, const Value& like, const std::string& x,
                     const std::string& y) {
    const bool swaps = type != "sub" && type != "real_div" && below(2) == 0;
    return op(like.shape, fmt::format("{}(x = {}, y = {})", type, swaps ? y : x, swaps ? x : y));
  }

  // To the other type and back. At half width it may lose digits, at full width nothing.
  std::string casts(const Value& x) {
    if (!is_half()) return unary("identity", x);
    const std::string wide = fresh("w");
    text_.op(wide, type_of(x.shape, "fp32"),
             fmt::format("cast(x = {}, dtype = {})", x.name, word("fp32")));
    source_ += wide + " = cast(x = " + x.name + ")\n";
    return op(x.shape, fmt::format("cast(x = {}, dtype = {})", wide, word("fp16")));
  }
  void gate(const Value& x, const std::string& type, const Value& up) {
    const std::string open = unary(type, x);
    binary("mul", up, open, up.name);
  }
  void add_elementwise(const Value& x) {
    switch (below(14)) {
      case 0:
      case 1:
        binary("add", x, x.name, like(x).name);
        return;
      case 2: {
        const std::string bounded = unary("tanh", x), other = like(x).name;
        // In halves, the difference of two similar values is mostly rounding error.
        binary(is_half() || below(2) == 0 ? "mul" : "sub", x, bounded, other);
        return;
      }
      case 3:
        binary("mul", x, x.name, number(0.75));
        return;
      case 4:
        binary("mul", x, x.name, unary("sigmoid", x));
        return;
      case 5:
        binary(
            "mul", x, x.name,
            unary("sigmoid_hard", x, ", alpha = " + number(1 / 6.0) + ", beta = " + number(0.5)));
        return;
      case 6: {
        const Value sum = {binary("add", x, x.name, number(3)), x.shape};
        const std::string product = binary("mul", x, x.name, unary("relu6", sum));
        binary("real_div", x, product, number(6));
        return;
      }
      case 7:
        gate(x, "silu", like(x));
        return;
      case 8:
        gate(like(x), "sigmoid", x);
        return;
      case 9: {
        const Value half = {binary("mul", x, x.name, number(0.70710678)), x.shape};
        const std::string sum = binary("add", x, unary("erf", half), number(1));
        binary("mul", x, binary("mul", x, x.name, number(0.5)), sum);
        return;
      }
      case 10: {
        const Value part = {binary("real_div", x, x.name, number(5)), x.shape};
        binary("mul", x, unary("tanh", part), number(5));
        return;
      }
      case 11:
        unary("clip", x, ", alpha = " + number(-0.5) + ", beta = " + number(1.5));
        return;
      case 12:
        below(2) == 0 ? unary("identity", x) : casts(x);
        return;
      default:
        const char* const types[] = {"relu", "relu6", "silu", "sigmoid", "softsign", "square"};
        // Squares of squares grow.
        const std::string name = unary(types[below(6)], x);
        unary("tanh", {name, x.shape});
    }
  }
  void convolve(const Value& x, int64_t side, int64_t groups) {
    const int64_t channels = x.shape[1];
    const std::vector<int64_t> weight = {channels, channels / groups, side, side};
    std::string call = fmt::format("conv(x = {}, weight = {}, pad_type = {}, groups = {}", x.name,
                                   array(weight, 0.01), word("same"), integer(groups));
    if (below(2) == 0) call += ", bias = " + array({channels}, 0.1);
    op(x.shape, call + ")");
  }
  void normalize(const Value& x) {
    const int64_t channels = x.shape[1];
    op(x.shape, fmt::format("batch_norm(x = {}, mean = {}, variance = {}, gamma = {}, beta = {})",
                            x.name, array({channels}, 0), array({channels}, 1),
                            array({channels}, 0.6), array({channels}, 0)));
  }
  void pool(const Value& x) {
    op(x.shape, fmt::format("{}(x = {}, kernel_sizes = {}, strides = {}, pad_type = {}{})",
                            below(2) == 0 ? "max_pool" : "avg_pool", x.name, integers({3, 3}),
                            integers({1, 1}), word("same"), ""));
  }
  // As [1, C, H W] or with channels last, and back.
  void in_other_shape(const Value& x) {
    if (below(2) == 0) {
      const std::vector<int64_t> flat = {x.shape[0], x.shape[1], x.shape[2] * x.shape[3]};
      const std::string name =
          op(flat, "reshape(x = " + x.name + ", shape = " + integers(flat) + ")");
      add_elementwise({name, flat});
      const std::string last = values_.back().name;
      op(x.shape, "reshape(x = " + last + ", shape = " + integers(x.shape) + ")");
    } else {
      const std::vector<int64_t> turned = {x.shape[0], x.shape[2], x.shape[3], x.shape[1]};
      const std::string name =
          op(turned, "transpose(x = " + x.name + ", perm = " + integers({0, 2, 3, 1}) + ")");
      add_elementwise({name, turned});
      const std::string last = values_.back().name;
      op(x.shape, "transpose(x = " + last + ", perm = " + integers({0, 3, 1, 2}) + ")");
    }
  }
  void squeeze_and_excite(const Value& x) {
    const std::vector<int64_t> one = {x.shape[0], x.shape[1], 1, 1};
    const std::string mean = op(one, fmt::format("reduce_mean(x = {}, axes = {}, keep_dims = yes)",
                                                 x.name, integers({2, 3})));
    convolve({mean, one}, 1, 1);
    const Value gate = values_.back();
    binary("mul", x, x.name, unary("sigmoid", gate));
  }
  // Joins it with another map by channels and takes half of them.
  void join_and_part(const Value& x) {
    std::vector<int64_t> both = x.shape;
    both[1] *= 2;
    const std::string joined =
        op(both, fmt::format("concat(values = ({}, {}), axis = {}, interleave = no)", x.name,
                             like(x).name, integer(1)));
    const int64_t begin = below(2) == 0 ? 0 : x.shape[1] / 2;
    op(x.shape, fmt::format("slice_by_size(x = {}, begin = {}, size = {})", joined,
                            integers({0, begin, 0, 0}), integers(x.shape)));
  }

  void multiply(const Value& x) {
    const int64_t size = x.shape.back();
    op(x.shape, fmt::format("linear(x = {}, weight = {}, bias = {})", x.name,
                            array({size, size}, 0.01), array({size}, 0.1)));
  }
  void root_mean_square(const Value& x) {
    std::vector<int64_t> one = x.shape;
    one.back() = 1;
    const std::string mean = op(one, fmt::format("reduce_mean(x = {}, axes = {}, keep_dims = yes)",
                                                 unary("square", x), integers({-1})));
    const Value sum = {binary("add", {mean, one}, mean, number(1e-5)), one};
    const std::string root = op(one, fmt::format("rsqrt(x = {})", sum.name));
    binary("mul", x, binary("mul", x, x.name, root), array({x.shape.back()}, 1));
  }
  void attend(const Value& q) {
    const Value k = like(q), v = like(q);
    const std::vector<int64_t> square = {q.shape[0], q.shape[1], q.shape[1]};
    const std::string scores =
        op(square, fmt::format("matmul(x = {}, y = {}, transpose_y = yes)", q.name, k.name));
    const std::string scaled = binary("mul", {scores, square}, scores, number(0.25));
    const std::string shares =
        op(square, fmt::format("softmax(x = {}, axis = {})", scaled, integer(-1)));
    op(q.shape, fmt::format("matmul(x = {}, y = {})", shares, v.name));
  }

  std::mt19937 random_;
  std::string type_;
  ProgramText text_;
  std::vector<Value> values_;
  std::string source_;
  int names_ = 0;
};

void check(uint32_t first, uint32_t count, const std::vector<int64_t>& shape,
           const std::vector<std::vector<std::vector<int64_t>>>& calls,
           void (RandomProgram::*add)()) {
  for (uint32_t seed = first; seed < first + count; ++seed) {
    RandomProgram program(seed, shape);
    for (uint32_t i = 0; i < 4 + seed % 12; ++i) (program.*add)();
    const mil::Model model = program.finished();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.source()));
    const Precision precision = seed % 2 == 0 ? Precision::Exact : Precision::Fast;
    expect_same_values(model, calls, {Fill::Ordinary},
                       program.is_half() ? kHalfTolerance : kTolerance, precision);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RandomPrograms, OfMaps) {
  check(0, 100, {1, 8, 5, 6}, {{{1, 8, 5, 6}}}, &RandomProgram::add_of_map);
  check(1000000, 30, {2, 4, 3, 14}, {{{2, 4, 3, 14}}}, &RandomProgram::add_of_map);
  check(2000000, 6, {1, 16, 6, 40}, {{{1, 16, 6, 40}}}, &RandomProgram::add_of_map);
}

TEST(RandomPrograms, OfRows) {
  check(0, 80, {1, 5, 16}, {{{1, 5, 16}}}, &RandomProgram::add_of_rows);
  check(1000000, 40, {1, -1, 8}, {{{1, 33, 8}}, {{1, 1, 8}}}, &RandomProgram::add_of_rows);
}

}  // namespace
}  // namespace pippin::engine
