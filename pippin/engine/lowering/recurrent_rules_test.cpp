// lstm, gru and rnn against the reference: every option, one thread and more, odd sizes.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

struct Sizes {
  int64_t steps, batch, inputs, hidden;
};

// An operation over x, whose states begin with x's first elements (all states that it has).
class Layer {
 public:
  Layer(const std::string& op, const Sizes& sizes, int64_t directions = 1)
      : op_(op),
        sizes_(sizes),
        gates_(op == "lstm"  ? 4
               : op == "rnn" ? 1
                             : 3),
        width_(sizes.hidden * directions),
        text_(fmt::format("tensor<fp32, [{}, {}, {}]> x, tensor<fp32, [{}, {}]> h", sizes.steps,
                          sizes.batch, sizes.inputs, sizes.batch, width_)) {
    call_ = op + "(x = x, initial_h = h";
    if (op == "lstm") call_ += ", initial_c = h";
    weights("");
    if (directions == 2) {
      weights("_back");
      option("direction", "string", "\"bidirectional\"");
    }
  }

  Layer& weights(const std::string& suffix) {
    const int64_t rows = gates_ * sizes_.hidden;
    vector("weight_ih" + suffix, {rows, sizes_.inputs});
    return vector("weight_hh" + suffix, {rows, sizes_.hidden});
  }
  Layer& vector(const std::string& name, const std::vector<int64_t>& shape) {
    text_.array(name, shape);
    call_ += fmt::format(", {0} = {0}", name);
    return *this;
  }
  Layer& bias(const std::string& name) { return vector(name, {gates_ * sizes_.hidden}); }
  Layer& peephole(const std::string& name) { return vector(name, {3 * sizes_.hidden}); }
  Layer& option(const std::string& name, const std::string& type, const std::string& value) {
    text_.number(name, type, value);
    call_ += fmt::format(", {0} = {0}", name);
    return *this;
  }
  Layer& sequence() {
    sequence_ = true;
    return option("output_sequence", "bool", "true");
  }

  void check(const std::vector<Fill>& fills = {Fill::Ordinary, Fill::Large, Fill::Zeros,
                                               Fill::Extremes},
             double tolerance = 2e-5) {
    const std::string state = fmt::format("tensor<fp32, [{}, {}]>", sizes_.batch, width_);
    text_.line(fmt::format("tensor<fp32, [{}, {}, {}]> y, {} last{} = {})[name = string(\"y\")];",
                           sequence_ ? sizes_.steps : 1, sizes_.batch, width_, state,
                           op_ == "lstm" ? ", " + state + " cell" : "", call_));
    const mil::Model model = text_.returns(op_ == "lstm" ? "y, last, cell" : "y, last");
    EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
    expect_same_values(model,
                       {{{sizes_.steps, sizes_.batch, sizes_.inputs}, {sizes_.batch, width_}}},
                       fills, tolerance);
  }

 private:
  std::string op_;
  Sizes sizes_;
  int64_t gates_, width_;
  ProgramText text_;
  std::string call_;
  bool sequence_ = false;
};

const std::vector<Sizes> kSizes = {{1, 1, 1, 1}, {5, 1, 3, 7}, {4, 3, 2, 17}, {2, 19, 5, 4}};

TEST(RecurrentRules, AllOfThemInEveryDirection) {
  for (const std::string op : {"lstm", "gru", "rnn"}) {
    for (const std::string direction : {"forward", "reverse"}) {
      for (const Sizes& sizes : kSizes) {
        SCOPED_TRACE(fmt::format("{} {} {} x {} x {}", op, direction, sizes.steps, sizes.batch,
                                 sizes.hidden));
        const std::string quoted = "\"" + direction + "\"";
        Layer(op, sizes).option("direction", "string", quoted).check();
        Layer(op, sizes).option("direction", "string", quoted).bias("bias").sequence().check();
      }
    }
  }
}

TEST(RecurrentRules, BothDirections) {
  for (const Sizes& sizes : kSizes) {
    Layer("lstm", sizes, 2).bias("bias").bias("bias_back").sequence().check();
    Layer("lstm", sizes, 2).check();
  }
}

TEST(RecurrentRules, PeepholesAndLimits) {
  for (const Sizes& sizes : kSizes) {
    Layer("lstm", sizes, 2).peephole("peephole").peephole("peephole_back").sequence().check();
    Layer("lstm", sizes).peephole("peephole").option("clip", "fp32", "0.25").sequence().check();
  }
}

TEST(RecurrentRules, GruThatResetsAfterwards) {
  for (const Sizes& sizes : kSizes) {
    Layer("gru", sizes).option("reset_after", "bool", "true").bias("bias").sequence().check();
    Layer("gru", sizes)
        .option("reset_after", "bool", "true")
        .bias("bias")
        .bias("input_bias")
        .sequence()
        .check();
    Layer("gru", sizes).bias("input_bias").check();
  }
}

TEST(RecurrentRules, Functions) {
  for (const std::string name :
       {"sigmoid", "sigmoid_hard", "tanh", "scaled_tanh", "relu", "linear"}) {
    SCOPED_TRACE(name);
    const std::string quoted = "\"" + name + "\"";
    // With numbers that do not grow without limit.
    const std::vector<Fill> fills = {Fill::Ordinary, Fill::Zeros};
    Layer("rnn", kSizes[1]).option("activation", "string", quoted).sequence().check(fills);
    Layer("gru", kSizes[1]).option("recurrent_activation", "string", quoted).check(fills);
    Layer("lstm", kSizes[1]).option("cell_activation", "string", quoted).check(fills);
    Layer("lstm", kSizes[1]).option("activation", "string", quoted).check(fills);
  }
}

// Large enough that threads share them: units at every step, sequences and directions once.
TEST(RecurrentRules, Threads) {
  const std::vector<Fill> fills = {Fill::Ordinary};
  constexpr double kLoose = 2e-3;  // with this many units, rounding errors grow at every step
  const Sizes one = {6, 1, 2, 130}, several = {6, 5, 2, 130};
  for (const std::string op : {"lstm", "gru", "rnn"}) {
    const Sizes sizes = op == "rnn" ? Sizes{6, 1, 2, 260} : one;
    Layer(op, sizes).bias("bias").sequence().check(fills, kLoose);
    Layer(op, several).bias("bias").sequence().check(fills, kLoose);
  }
  Layer("lstm", one, 2).peephole("peephole").peephole("peephole_back").check(fills, kLoose);
  Layer("gru", one).option("reset_after", "bool", "true").bias("bias").check(fills, kLoose);
}

}  // namespace
}  // namespace pippin::engine
