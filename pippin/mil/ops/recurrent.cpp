// Recurrent layers over x [sequence, batch, input].
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

using Function = double (*)(double);
using Vector = std::vector<double>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double sigmoid_hard(double x) {
  return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
}
double hyperbolic_tangent(double x) {
  return std::tanh(x);
}
double relu(double x) {
  return x < 0 ? 0 : x;
}
double linear(double x) {
  return x;
}

Function function_of(const OpContext& context, std::string_view parameter) {
  const std::string name = context.string_param(parameter);
  if (name == "sigmoid") return sigmoid;
  if (name == "sigmoid_hard" || name == "hard_sigmoid") return sigmoid_hard;
  // These operations cannot change the factors of scaled_tanh, which are 1 by default.
  if (name == "tanh" || name == "scaled_tanh") return hyperbolic_tangent;
  if (name == "relu") return relu;
  if (name == "linear") return linear;
  context.reject("{} \"{}\" is unknown", parameter, name);
}

enum class Direction { Forward, Reverse, Both };

Direction direction_of(const OpContext& context, bool may_be_both) {
  const std::string name = context.string_param("direction");
  if (name == "forward") return Direction::Forward;
  if (name == "reverse") return Direction::Reverse;
  if (name == "bidirectional" && may_be_both) return Direction::Both;
  context.reject("direction \"{}\" is unknown", name);
}

void require_shape(InferContext& context, std::string_view parameter, const Shape& shape) {
  const Shape& own = context.input(parameter).shape;
  if (own.size() != shape.size()) {
    context.reject("{} has shape {}, needs {}", parameter, to_string(own), to_string(shape));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    context.require_equal(own[i], shape[i], fmt::format("the shape of {}", parameter));
  }
}

// The outputs of a layer with `gates` gates and `states` states (h, and c of lstm).
Infos infer_recurrent(InferContext& context, int64_t gates, size_t states, bool may_be_both) {
  const ValueInfo& x = context.input("x");
  if (x.shape.size() != 3) context.reject("x must have rank 3");
  const bool both = direction_of(context, may_be_both) == Direction::Both;
  const Shape& recurrent = context.input("weight_hh").shape;
  if (recurrent.size() != 2) context.reject("weight_hh must have rank 2");
  const Dim hidden = recurrent[1], rows = hidden * Dim(gates);
  const Dim width = both ? hidden * Dim(2) : hidden;
  for (const std::string_view suffix : {"", "_back"}) {
    if (suffix == "_back" && !both) continue;
    require_shape(context, fmt::format("weight_ih{}", suffix), {rows, x.shape[2]});
    require_shape(context, fmt::format("weight_hh{}", suffix), {rows, hidden});
    const std::string bias = fmt::format("bias{}", suffix);
    if (context.has(bias)) require_shape(context, bias, {rows});
    const std::string peephole = fmt::format("peephole{}", suffix);
    if (context.has(peephole)) require_shape(context, peephole, {hidden * Dim(3)});
  }
  if (context.has("input_bias")) require_shape(context, "input_bias", {rows});
  require_shape(context, "initial_h", {x.shape[1], width});
  if (states == 2) require_shape(context, "initial_c", {x.shape[1], width});
  const Dim length = context.bool_param("output_sequence") ? x.shape[0] : Dim(1);
  Infos outputs = one(tensor_info(x.type, {length, x.shape[1], width}));
  for (size_t i = 0; i < states; ++i) {
    outputs.push_back(tensor_info(x.type, {x.shape[1], width}));
  }
  return outputs;
}

// The weights of one direction.
struct Layer {
  const Tensor *input, *recurrent, *bias, *peephole;
  int64_t hidden;

  Layer(const EvalContext& context, std::string_view suffix)
      : input(&context.input(fmt::format("weight_ih{}", suffix))),
        recurrent(&context.input(fmt::format("weight_hh{}", suffix))),
        bias(find(context, fmt::format("bias{}", suffix))),
        peephole(find(context, fmt::format("peephole{}", suffix))),
        hidden(recurrent->shape[1]) {}

  static const Tensor* find(const EvalContext& context, std::string_view name) {
    return context.has(name) ? &context.input(name) : nullptr;
  }
  double bias_at(int64_t row) const {
    return bias == nullptr ? 0 : bias->values.at(static_cast<size_t>(row));
  }
};

double dot(const Tensor& matrix, int64_t row, const double* vector) {
  const int64_t columns = matrix.shape[1];
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i) {
    sum += matrix.values[static_cast<size_t>(row * columns + i)] * vector[i];
  }
  return sum;
}

// Runs one direction: step(x, h, c) updates the states of a batch element. This direction's columns
// start at `first`. Outputs are in processing order, except that those of the second of two
// directions are in sequence order.
template <typename Step>
void run_direction(EvalContext& context, bool reverse, int64_t first, int64_t hidden,
                   Tensors& outputs, Step&& step) {
  const Tensor& x = context.input("x");
  const int64_t length = x.shape[0], batch = x.shape[1], size = x.shape[2];
  const int64_t width = outputs[1].shape[1];
  const bool sequence = context.bool_param("output_sequence");
  for (int64_t b = 0; b < batch; ++b) {
    const auto state = [&](size_t index, int64_t i) -> double& {
      return outputs[index].values[static_cast<size_t>(b * width + first + i)];
    };
    Vector h(static_cast<size_t>(hidden)), c(static_cast<size_t>(hidden));
    for (int64_t i = 0; i < hidden; ++i) {
      h[static_cast<size_t>(i)] = state(1, i);
      if (outputs.size() > 2) c[static_cast<size_t>(i)] = state(2, i);
    }
    for (int64_t t = 0; t < length; ++t) {
      const int64_t at = reverse ? length - 1 - t : t;
      step(x.values.data() + (at * batch + b) * size, h, c);
      for (int64_t i = 0; i < hidden; ++i) {
        const int64_t row = !sequence ? 0 : first > 0 ? at : t;
        outputs[0].values[static_cast<size_t>((row * batch + b) * width + first + i)] =
            h[static_cast<size_t>(i)];
      }
    }
    for (int64_t i = 0; i < hidden; ++i) {
      state(1, i) = h[static_cast<size_t>(i)];
      if (outputs.size() > 2) state(2, i) = c[static_cast<size_t>(i)];
    }
  }
}

// Zeros for the sequence, and the initial states.
Tensors start_outputs(const EvalContext& context, bool has_cell) {
  const Tensor &x = context.input("x"), &h = context.input("initial_h");
  const int64_t length = context.bool_param("output_sequence") ? x.shape[0] : 1;
  Tensors outputs = one(Tensor(x.type, {length, x.shape[1], h.shape[1]}));
  outputs.push_back(h);
  if (has_cell) outputs.push_back(context.input("initial_c"));
  return outputs;
}

Infos infer_rnn(InferContext& context) {
  function_of(context, "activation");
  return infer_recurrent(context, 1, 1, false);
}

Tensors evaluate_rnn(EvalContext& context) {
  const Layer layer(context, "");
  const Function activation = function_of(context, "activation");
  Tensors outputs = start_outputs(context, false);
  const bool reverse = direction_of(context, false) == Direction::Reverse;
  run_direction(
      context, reverse, 0, layer.hidden, outputs, [&](const double* x, Vector& h, Vector&) {
        const Vector before = h;
        for (int64_t i = 0; i < layer.hidden; ++i) {
          h[static_cast<size_t>(i)] = activation(
              dot(*layer.input, i, x) + dot(*layer.recurrent, i, before.data()) + layer.bias_at(i));
        }
      });
  return outputs;
}

Infos infer_gru(InferContext& context) {
  function_of(context, "activation");
  function_of(context, "recurrent_activation");
  return infer_recurrent(context, 3, 1, false);
}

Tensors evaluate_gru(EvalContext& context) {
  const Layer layer(context, "");
  const Function activation = function_of(context, "activation");
  const Function gate = function_of(context, "recurrent_activation");
  const bool later = context.opset() >= Opset::CoreML8;
  const bool reset_after = later && context.bool_param("reset_after");
  const Tensor* input_bias = later ? Layer::find(context, "input_bias") : nullptr;
  Tensors outputs = start_outputs(context, false);
  const bool reverse = direction_of(context, false) == Direction::Reverse;
  const int64_t n = layer.hidden;
  run_direction(context, reverse, 0, n, outputs, [&](const double* x, Vector& h, Vector&) {
    const Vector before = h;
    const auto from_input = [&](int64_t row) {
      const double bias = input_bias == nullptr ? 0 : input_bias->values[static_cast<size_t>(row)];
      return dot(*layer.input, row, x) + bias;
    };
    // Rows: reset, output, update.
    Vector reset(static_cast<size_t>(n)), gated = before;
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      reset[at] = gate(from_input(i) + dot(*layer.recurrent, i, before.data()) + layer.bias_at(i));
      gated[at] *= reset[at];
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const double recurrent =
          reset_after
              ? reset[at] * (dot(*layer.recurrent, n + i, before.data()) + layer.bias_at(n + i))
              : dot(*layer.recurrent, n + i, gated.data()) + layer.bias_at(n + i);
      const double output = activation(from_input(n + i) + recurrent);
      const double update =
          gate(from_input(2 * n + i) + dot(*layer.recurrent, 2 * n + i, before.data()) +
               layer.bias_at(2 * n + i));
      h[at] = (1 - update) * output + update * before[at];
    }
  });
  return outputs;
}

Infos infer_lstm(InferContext& context) {
  for (const std::string_view name : {"activation", "cell_activation", "recurrent_activation"}) {
    function_of(context, name);
  }
  return infer_recurrent(context, 4, 2, true);
}

Tensors evaluate_lstm(EvalContext& context) {
  const Direction direction = direction_of(context, true);
  const Function activation = function_of(context, "activation");
  const Function cell = function_of(context, "cell_activation");
  const Function gate = function_of(context, "recurrent_activation");
  const double clip = context.has("clip") ? context.float_param("clip") : HUGE_VAL;
  if (!(clip >= 0)) context.reject("clip is {}", clip);
  Tensors outputs = start_outputs(context, true);
  const auto run = [&](std::string_view suffix, bool reverse, int64_t first) {
    const Layer layer(context, suffix);
    const int64_t n = layer.hidden;
    run_direction(context, reverse, first, n, outputs, [&](const double* x, Vector& h, Vector& c) {
      const Vector before = h;
      const auto total = [&](int64_t row) {
        return dot(*layer.input, row, x) + dot(*layer.recurrent, row, before.data()) +
               layer.bias_at(row);
      };
      const auto peek = [&](int64_t row, double value) {
        if (layer.peephole == nullptr) return 0.0;
        return layer.peephole->values[static_cast<size_t>(row)] * value;
      };
      // Rows: input, forget, output, cell.
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        const double input = gate(total(i) + peek(i, c[at]));
        const double forget = gate(total(n + i) + peek(n + i, c[at]));
        c[at] = std::clamp(forget * c[at] + input * cell(total(3 * n + i)), -clip, clip);
        const double output = gate(total(2 * n + i) + peek(2 * n + i, c[at]));
        h[at] = output * activation(c[at]);
      }
    });
    return n;
  };
  const int64_t hidden = run("", direction == Direction::Reverse, 0);
  if (direction == Direction::Both) run("_back", true, hidden);
  return outputs;
}

OpDef recurrent_op(std::string_view name, Opset since, InferRule infer, EvalRule evaluate,
                   int outputs, std::vector<Parameter> more, std::string_view doc) {
  std::vector<Parameter> parameters = {tensor("x", "f"),
                                       tensor("initial_h", "f"),
                                       constant("weight_ih", "f"),
                                       constant("weight_hh", "f"),
                                       optional_constant("bias", "f"),
                                       optional_constant("direction", "s", "forward"),
                                       optional_constant("output_sequence", "b", false),
                                       optional_constant("activation", "s", "tanh")};
  parameters.insert(parameters.end(), more.begin(), more.end());
  return {name, since, std::move(parameters), infer, evaluate, doc, outputs};
}

}  // namespace

std::vector<OpDef> recurrent_ops() {
  const Parameter gates = optional_constant("recurrent_activation", "s", "sigmoid");
  constexpr std::string_view kGru =
      "Gated recurrent units, rows of the weights for reset, output and update gate: h is (1 - z) "
      "o "
      "+ z h, where o sees the reset h, or with reset_after (since CoreML8) resets what it sees. "
      "Gives the last or all h, and the last.";
  return {
      recurrent_op("rnn", Opset::CoreML5, infer_rnn, evaluate_rnn, 2, {},
                   "h becomes activation(weight_ih x + weight_hh h + bias) at each step. Gives the "
                   "last h or, in the order of processing, all of them; and the last."),
      recurrent_op("gru", Opset::CoreML5, infer_gru, evaluate_gru, 2, {gates}, kGru),
      recurrent_op("gru", Opset::CoreML8, infer_gru, evaluate_gru, 2,
                   {gates, optional_constant("reset_after", "b", false),
                    optional_constant("input_bias", "f")},
                   kGru),
      recurrent_op(
          "lstm", Opset::CoreML5, infer_lstm, evaluate_lstm, 3,
          {tensor("initial_c", "f"), gates, optional_constant("cell_activation", "s", "tanh"),
           optional_constant("peephole", "f"), optional_constant("weight_ih_back", "f"),
           optional_constant("weight_hh_back", "f"), optional_constant("bias_back", "f"),
           optional_constant("peephole_back", "f"), optional_constant("clip", "f")},
          "Long short-term memory, rows of the weights for input, forget, output and cell "
          "gate; c is limited to [-clip, clip]. Both directions lie side by side, the "
          "second with the weights ..._back. Gives the last or, in the order of "
          "processing, all h; the last h; the last c."),
  };
}

}  // namespace pippin::mil
