// Recurrences against the formulas, step by step: by the reference, as plans with one step, and as
// plans of all operations; all tokens at once, in pieces and one by one.
#include "pippin/nn/recurrent/recurrence.h"

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/nn/attention/stateful_cache.h"
#include "pippin/nn/layers/causal_convolution.h"

namespace pippin::nn {
namespace {

using array::Array;
using mil::Dim;

constexpr auto kWide = mil::DataType::Float32;
constexpr int64_t kTokens = 23;

// Inputs of shape [groups, heads, q, ...] and so on, with q at `token_axis`.
struct Input {
  std::string name;
  std::vector<int64_t> dims;  // with 0 for the tokens
  double low = -1, high = 1;
};

// A program with inputs and a state of a layer, and the numbers for all tokens.
class RecurrentProgram {
 public:
  using Record = std::function<Array(const std::map<std::string, Array>&, Cache&, const Dim&)>;

  RecurrentProgram(std::vector<Input> inputs, const CarriedState& state, mil::DataType state_type,
                   const Record& record)
      : inputs_(std::move(inputs)) {
    array::Builder builder;
    const Dim query = Dim::symbol("query", 1, 64);
    mil::FunctionDescription description;
    description.name = "main";
    for (const Input& input : inputs_) width_ += width_of(input);
    mil::Feature feature;
    feature.name = "all";
    feature.data_type = kWide;
    feature.shape = {1, width_};
    feature.ranges = {{1, 64}, {width_, width_}};
    description.inputs.push_back(feature);
    // One input, so that all have one number of tokens.
    const Array all = builder.input("all", kWide, {query, width_});
    std::map<std::string, Array> arrays;
    int64_t begin = 0;
    for (const Input& input : inputs_) {
      const Array part = array::slice_axis(all, 1, begin, begin + width_of(input));
      begin += width_of(input);
      arrays.emplace(input.name, shaped(part, input, query));
    }
    MixerNeeds needs;
    needs.states = {state};
    const StatefulCacheShape cache_shape({needs, needs}, 64);
    StatefulCache cache(builder, state_type, cache_shape);
    builder.output("y", record(arrays, cache, query));
    for (const auto& kept : cache_shape.states) {
      mil::Feature one;
      one.name = kept.name;
      one.kind = mil::Feature::Kind::State;
      one.data_type = state_type;
      one.shape = kept.dims;
      description.states.push_back(one);
    }
    mil::Feature output;
    output.name = "y";
    output.data_type = kWide;
    description.outputs.push_back(output);
    model_.program.functions.emplace("main", builder.build());
    model_.functions.push_back(description);
    mil::verify(model_.program);
    std::mt19937 random(7);
    for (const Input& input : inputs_) {
      mil::Tensor& own = numbers_[input.name];
      own = mil::Tensor(kWide, dims_of(input, kTokens));
      std::uniform_real_distribution<double> uniform(input.low, input.high);
      for (double& value : own.values) value = static_cast<float>(uniform(random));
    }
  }

  const mil::Tensor& numbers(const std::string& name) const { return numbers_.at(name); }

  // The plan's text, for that many tokens.
  std::string described(bool fusion, int64_t tokens = 64) const {
    engine::PlanOptions options;
    options.input_ranges["all"] = {{1, tokens}, {width_, width_}};
    options.compute.fusion = fusion;
    return engine::Plan::make(model_, "main", options)->describe();
  }

  // y of every token, in passes of `chunk`.
  std::vector<double> by_reference(int64_t chunk, int64_t axis) const {
    const engine::ReferenceInterpreter interpreter(model_.program, "main");
    engine::ReferenceState state;
    return in_chunks(chunk, axis,
                     [&](const auto& inputs) { return interpreter.run(inputs, state).at("y"); });
  }
  std::vector<double> by_plan(int64_t chunk, int64_t axis, bool fusion,
                              const CpuFeatures& cpu = detect_cpu()) const {
    engine::PlanOptions options;
    options.compute.fusion = fusion;
    options.compute.cpu = cpu;
    ThreadPool pool(2);
    engine::Execution execution(engine::Plan::make(model_, "main", options), pool);
    engine::State state(model_.functions[0].states);
    return in_chunks(chunk, axis, [&](const auto& inputs) {
      const mil::Tensor& all = inputs.at("all");
      execution.bind({all.shape}, state);
      std::copy(all.values.begin(), all.values.end(), execution.float_input(0).begin());
      execution.run();
      mil::Tensor y(kWide, execution.output_shape(0));
      std::copy_n(execution.float_output(0).begin(), y.values.size(), y.values.begin());
      return y;
    });
  }

 private:
  static std::vector<int64_t> dims_of(const Input& input, int64_t tokens) {
    std::vector<int64_t> dims = input.dims;
    for (int64_t& size : dims) size = size == 0 ? tokens : size;
    return dims;
  }
  static int64_t width_of(const Input& input) {
    int64_t width = 1;
    for (const int64_t size : input.dims) width *= std::max<int64_t>(size, 1);
    return width;
  }
  static size_t token_axis(const Input& input) {
    return static_cast<size_t>(std::find(input.dims.begin(), input.dims.end(), 0) -
                               input.dims.begin());
  }
  // (q, width) with the tokens at their axis.
  static Array shaped(const Array& rows, const Input& input, const Dim& query) {
    mil::Shape shape = {query};
    std::vector<int64_t> order;
    const size_t axis = token_axis(input);
    for (size_t i = 0; i < input.dims.size(); ++i) {
      order.push_back(i == axis ? 0 : static_cast<int64_t>(shape.size()));
      if (i != axis) shape.emplace_back(input.dims[i]);
    }
    return array::transpose(array::reshape(rows, shape), order);
  }
  // The program's input for tokens [begin, end).
  mil::Tensor joined(int64_t begin, int64_t end) const {
    mil::Tensor all(kWide, {end - begin, width_});
    size_t next = 0;
    for (int64_t t = begin; t < end; ++t) {
      for (const Input& input : inputs_) {
        const mil::Tensor one = part(numbers_.at(input.name), token_axis(input), t, t + 1);
        for (const double value : one.values) all.values[next++] = value;
      }
    }
    return all;
  }
  // Tokens [begin, end) of a tensor.
  static mil::Tensor part(const mil::Tensor& all, size_t axis, int64_t begin, int64_t end) {
    std::vector<int64_t> dims = all.shape;
    const int64_t whole = dims[axis];
    dims[axis] = end - begin;
    mil::Tensor result(kWide, dims);
    int64_t inner = 1, outer = 1;
    for (size_t i = 0; i < dims.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : dims[i];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < (end - begin) * inner; ++i) {
        result.values[static_cast<size_t>(o * (end - begin) * inner + i)] =
            all.values[static_cast<size_t>((o * whole + begin) * inner + i)];
      }
    }
    return result;
  }
  // Tokens first, whatever their axis.
  template <typename Run>
  std::vector<double> in_chunks(int64_t chunk, int64_t axis, const Run& run) const {
    std::vector<double> result;
    for (int64_t begin = 0; begin < kTokens; begin += chunk) {
      const int64_t end = std::min(begin + chunk, kTokens);
      const mil::Tensor y = run(std::map<std::string, mil::Tensor>{{"all", joined(begin, end)}});
      for (int64_t t = 0; t < end - begin; ++t) {
        const mil::Tensor one = part(y, static_cast<size_t>(axis), t, t + 1);
        result.insert(result.end(), one.values.begin(), one.values.end());
      }
    }
    return result;
  }

  std::vector<Input> inputs_;
  int64_t width_ = 0;
  std::map<std::string, mil::Tensor> numbers_;
  mil::Model model_;
};

void expect_all_agree(const RecurrentProgram& program, int64_t axis,
                      const std::vector<double>& want, const std::string& step, double tolerance) {
  EXPECT_THAT(program.described(true), testing::HasSubstr(step));
  EXPECT_THAT(program.described(false), testing::Not(testing::HasSubstr(step)));
  const auto expect = [&](const std::vector<double>& have, const std::string& what) {
    ASSERT_EQ(have.size(), want.size()) << what;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(have[i], want[i], tolerance * (1 + std::abs(want[i]))) << what << ", " << i;
    }
  };
  for (const int64_t chunk : {kTokens, int64_t{5}, int64_t{1}}) {
    const std::string name = std::to_string(chunk) + " at once";
    expect(program.by_reference(chunk, axis), "reference, " + name);
    expect(program.by_plan(chunk, axis, false), "unfused, " + name);
    for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
      expect(program.by_plan(chunk, axis, true, cpu), level + ", " + name);
    }
  }
}

// Elements of a tensor by index.
double at(const mil::Tensor& tensor, std::initializer_list<int64_t> index) {
  int64_t place = 0;
  size_t axis = 0;
  for (const int64_t i : index) place = place * tensor.shape[axis++] + i;
  return tensor.values[static_cast<size_t>(place)];
}

TEST(Recurrence, DecayedProducts) {
  constexpr int64_t kGroups = 2, kHeads = 3, kP = 5, kN = 6;
  for (const auto type : {kWide, mil::DataType::Float16}) {
    const CarriedState kept{"kept", {kGroups, kHeads, kP, kN}};
    const RecurrentProgram program(
        {{"log_decay", {kGroups, kHeads, 0}, -2, 0},
         {"x", {kGroups, kHeads, 0, kP}},
         {"keys", {kGroups, 0, kN}},
         {"queries", {kGroups, 0, kN}}},
        kept, type, [&](const auto& in, Cache& cache, const Dim& query) {
          const Array before = array::cast(cache.carried(1, kept), kWide);
          const Array order = TokenOrder(query).no_later;
          const Recurred made = decayed_products(
              {in.at("log_decay"), in.at("x"), in.at("keys"), in.at("queries")}, before, order);
          cache.carry(1, kept, array::cast(made.state, type));
          return made.results * 1.0;
        });
    std::vector<double> state(kGroups * kHeads * kP * kN, 0), want;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t g = 0; g < kGroups; ++g) {
        for (int64_t h = 0; h < kHeads; ++h) {
          const double decay = std::exp(at(program.numbers("log_decay"), {g, h, t}));
          for (int64_t p = 0; p < kP; ++p) {
            double sum = 0;
            for (int64_t n = 0; n < kN; ++n) {
              double& s = state[static_cast<size_t>(((g * kHeads + h) * kP + p) * kN + n)];
              s = decay * s +
                  at(program.numbers("x"), {g, h, t, p}) * at(program.numbers("keys"), {g, t, n});
              sum += s * at(program.numbers("queries"), {g, t, n});
            }
            want.push_back(sum);
          }
        }
      }
    }
    expect_all_agree(program, 2, want, "decayed products", type == kWide ? 1e-5 : 4e-3);
  }
}

// The operations around Mamba 2's recurrence: x is multiplied by a number for each token, x times a
// number for each head is added to the result, silu comes before. All of it is part of the two
// steps.
TEST(Recurrence, ScalesAndSkips) {
  constexpr int64_t kGroups = 2, kHeads = 3, kP = 5, kN = 6;
  const CarriedState kept{"kept", {kGroups, kHeads, kP, kN}};
  const std::vector<double> skip = {0.5, -1, 2, 0, 1, 3};
  const RecurrentProgram program(
      {{"log_decay", {kGroups, kHeads, 0}, -2, 0},
       {"x", {0, kGroups, kHeads, kP}},
       {"steps", {0, kGroups, kHeads, 1}, 0, 2},
       {"keys", {kGroups, 0, kN}},
       {"queries", {kGroups, 0, kN}}},
      kept, kWide, [&](const auto& in, Cache& cache, const Dim& query) {
        const Array& x = in.at("x");
        const Array added = array::transpose(x * in.at("steps"), {1, 2, 0, 3});
        const Recurred made =
            decayed_products({in.at("log_decay"), added, in.at("keys"), in.at("queries")},
                             cache.carried(1, kept), TokenOrder(query).no_later);
        cache.carry(1, kept, made.state);
        const Array results = array::transpose(made.results, {2, 0, 1, 3});
        return results + x * array::constant(kWide, {kGroups, kHeads, 1}, skip);
      });
  EXPECT_THAT(program.described(true), testing::Not(testing::HasSubstr("mul")));
  EXPECT_THAT(program.described(true), testing::Not(testing::HasSubstr("add")));
  std::vector<double> state(kGroups * kHeads * kP * kN, 0), want;
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t g = 0; g < kGroups; ++g) {
      for (int64_t h = 0; h < kHeads; ++h) {
        const double decay = std::exp(at(program.numbers("log_decay"), {g, h, t}));
        const double step = at(program.numbers("steps"), {t, g, h, 0});
        for (int64_t p = 0; p < kP; ++p) {
          const double x = at(program.numbers("x"), {t, g, h, p});
          double sum = x * skip[static_cast<size_t>(g * kHeads + h)];
          for (int64_t n = 0; n < kN; ++n) {
            double& s = state[static_cast<size_t>(((g * kHeads + h) * kP + p) * kN + n)];
            s = decay * s + step * x * at(program.numbers("keys"), {g, t, n});
            sum += s * at(program.numbers("queries"), {g, t, n});
          }
          want.push_back(sum);
        }
      }
    }
  }
  expect_all_agree(program, 0, want, "decayed products", 1e-5);
}

// The inputs are the differences between values and the state's; keys that are nearly alike affect
// each other strongly.
TEST(Recurrence, DeltaProducts) {
  constexpr int64_t kGroups = 2, kHeads = 2, kP = 3, kN = 4;
  const CarriedState kept{"kept", {kGroups, kHeads, kP, kN}};
  for (const double least : {-1.0, 0.9}) {
    const auto type = least < 0 ? kWide : mil::DataType::Float16;
    const RecurrentProgram program(
        {{"log_decay", {kGroups, kHeads, 0}, -0.3, 0},
         {"values", {kGroups, kHeads, 0, kP}},
         {"keys", {kGroups, 0, kN}, least, 1},
         {"queries", {kGroups, 0, kN}},
         {"rate", {kGroups, kHeads, 0}, 0, 1}},
        kept, type, [&](const auto& in, Cache& cache, const Dim& query) {
          const Array before = array::cast(cache.carried(1, kept), kWide);
          const TokenOrder order(query);
          // Keys of length 1.
          const Array square = array::reduce_sum(array::square(in.at("keys")), {-1}, true);
          const Array keys = in.at("keys") * array::rsqrt(square);
          const Recurred made =
              delta_products({in.at("log_decay"), in.at("values"), keys, in.at("queries")},
                             in.at("rate"), before, order);
          cache.carry(1, kept, array::cast(made.state, type));
          return made.results * 1.0;
        });
    std::vector<double> state(kGroups * kHeads * kP * kN, 0), want;
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t g = 0; g < kGroups; ++g) {
        double square = 0;
        for (int64_t n = 0; n < kN; ++n)
          square += std::pow(at(program.numbers("keys"), {g, t, n}), 2);
        for (int64_t h = 0; h < kHeads; ++h) {
          const double decay = std::exp(at(program.numbers("log_decay"), {g, h, t}));
          for (int64_t p = 0; p < kP; ++p) {
            double* row = &state[static_cast<size_t>(((g * kHeads + h) * kP + p) * kN)];
            double known = 0, sum = 0;
            const auto key = [&](int64_t n) {
              return at(program.numbers("keys"), {g, t, n}) / std::sqrt(square);
            };
            for (int64_t n = 0; n < kN; ++n) known += decay * row[n] * key(n);
            const double input = at(program.numbers("rate"), {g, h, t}) *
                                 (at(program.numbers("values"), {g, h, t, p}) - known);
            for (int64_t n = 0; n < kN; ++n) {
              row[n] = decay * row[n] + input * key(n);
              sum += row[n] * at(program.numbers("queries"), {g, t, n});
            }
            want.push_back(sum);
          }
        }
      }
    }
    expect_all_agree(program, 2, want, "delta products", type == kWide ? 1e-5 : 4e-3);
    // The program is made for more tokens than this plan.
    for (const int64_t tokens : {16, 1}) {
      EXPECT_THAT(program.described(true, tokens), testing::HasSubstr("delta products")) << tokens;
    }
  }
}

// Like Mamba: decays from steps and rates, results from queries.
RecurrentProgram selective(int64_t features, int64_t size, const CarriedState& kept,
                           bool with_queries) {
  return RecurrentProgram(
      {{"steps", {1, 0, features}, 0, 2},
       {"x", {1, 0, features}},
       {"keys", {1, 0, size}},
       {"queries", {1, 0, size}}},
      kept, kWide, [=](const auto& in, Cache& cache, const Dim&) {
        std::vector<double> rates;
        for (int64_t i = 0; i < features * size; ++i) rates.push_back(-0.1 * (1 + i % 7));
        const Array exponent = array::expand_dims(in.at("steps"), {3}) *
                               array::constant(kWide, {features, size}, rates);
        const Array added =
            array::expand_dims(in.at("x"), {3}) * array::expand_dims(in.at("keys"), {2});
        const Array before = cache.carried(0, kept);
        const Recurred made = linear_recurrence(array::exp(exponent), added, before);
        const Array y =
            with_queries
                ? array::reduce_sum(made.results * array::expand_dims(in.at("queries"), {2}), {3})
                : array::reduce_max(made.results, {3});
        cache.carry(0, kept, made.state);
        return y * 1.0;
      });
}

std::vector<double> selective_by_hand(const RecurrentProgram& program, int64_t features,
                                      int64_t size, bool with_queries) {
  std::vector<double> state(static_cast<size_t>(features * size), 0), want;
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t f = 0; f < features; ++f) {
      double sum = 0, largest = -INFINITY;
      for (int64_t n = 0; n < size; ++n) {
        const int64_t i = f * size + n;
        double& s = state[static_cast<size_t>(i)];
        s = std::exp(at(program.numbers("steps"), {0, t, f}) * -0.1 * (1 + i % 7)) * s +
            at(program.numbers("x"), {0, t, f}) * at(program.numbers("keys"), {0, t, n});
        sum += s * at(program.numbers("queries"), {0, t, n});
        largest = std::max(largest, s);
      }
      want.push_back(with_queries ? sum : largest);
    }
  }
  return want;
}

TEST(Recurrence, LinearAndSelective) {
  const CarriedState kept{"kept", {1, 1, 11, 6}};
  for (const bool with_queries : {true, false}) {
    const RecurrentProgram program = selective(11, 6, kept, with_queries);
    expect_all_agree(program, 1, selective_by_hand(program, 11, 6, with_queries),
                     with_queries ? "selective recurrence" : "linear recurrence", 1e-5);
  }
}

TEST(Recurrence, Convolution) {
  constexpr int64_t kFeatures = 9, kLength = 4;
  const TempDir folder;
  std::vector<float> weight, bias;
  for (int i = 0; i < kFeatures * kLength; ++i) weight.push_back(static_cast<float>(i % 7) / 4 - 1);
  for (int i = 0; i < kFeatures; ++i) bias.push_back(static_cast<float>(i % 3) / 8);
  SafetensorsWriter writer(folder / "model.safetensors",
                           {{"conv.bias", Dtype::F32, {kFeatures}},
                            {"conv.weight", Dtype::F32, {kFeatures, 1, kLength}}});
  writer.append(std::as_bytes(std::span(bias)));
  writer.append(std::as_bytes(std::span(weight)));
  writer.finish();
  const Parameters all(std::make_shared<const Checkpoint>(Checkpoint::open(folder.path())),
                       Precision{kWide});
  const CarriedState kept = convolution_state(kFeatures, kLength);
  const RecurrentProgram program(
      {{"x", {1, 0, kFeatures}}}, kept, kWide, [&](const auto& in, Cache& cache, const Dim& query) {
        const Pass pass{0, query, query, in.at("x")};
        LayerCarry carry;
        const MixerInput input{0, nullptr, nullptr, cache, pass, carry, nullptr, nullptr};
        return array::silu(
            CausalConvolution(all.at("conv"), kFeatures, kLength, true)(in.at("x"), input));
      });
  std::vector<double> want;
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t f = 0; f < kFeatures; ++f) {
      double sum = bias[static_cast<size_t>(f)];
      for (int64_t k = 0; k < kLength; ++k) {
        const int64_t token = t - kLength + 1 + k;
        if (token < 0) continue;
        sum +=
            weight[static_cast<size_t>(f * kLength + k)] * at(program.numbers("x"), {0, token, f});
      }
      want.push_back(sum / (1 + std::exp(-sum)));
    }
  }
  expect_all_agree(program, 1, want, "causal conv + silu", 1e-5);
}

// Programs that differ from the pattern in one place are not fused, and correct.
TEST(Recurrence, NearMissesAreLeftAlone) {
  const CarriedState kept{"kept", {1, 1, 2, 2}};
  const std::vector<Input> inputs = {{"log_decay", {1, 1, 0}, -2, 0},
                                     {"x", {1, 1, 0, 2}},
                                     {"keys", {1, 0, 2}},
                                     {"queries", {1, 0, 2}}};
  // The written state is not the one that is read, or the order differs.
  for (const bool other_layer : {true, false}) {
    const RecurrentProgram program(
        inputs, kept, kWide, [&](const auto& in, Cache& cache, const Dim& query) {
          const Array before = cache.carried(0, kept);
          const Array order = other_layer ? TokenOrder(query).no_later
                                          : array::transpose(TokenOrder(query).no_later, {1, 0});
          const Recurred made = decayed_products(
              {in.at("log_decay"), in.at("x"), in.at("keys"), in.at("queries")}, before, order);
          cache.carry(other_layer ? 1 : 0, kept, made.state);
          return made.results * 1.0;
        });
    EXPECT_THAT(program.described(true), testing::Not(testing::HasSubstr("decayed products")));
    const auto want = program.by_reference(5, 2), have = program.by_plan(5, 2, true);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], 1e-5) << i;
  }
}

// A delta rule whose triangle is inverted in other blocks, or for too few tokens.
TEST(Recurrence, OtherTrianglesAreLeftAlone) {
  const CarriedState kept{"kept", {1, 1, 2, 2}};
  for (const bool fewer : {true, false}) {
    const RecurrentProgram program(
        {{"log_decay", {1, 1, 0}, -2, 0},
         {"x", {1, 1, 0, 2}},
         {"keys", {1, 0, 2}, -0.5, 0.5},
         {"queries", {1, 0, 2}},
         {"rate", {1, 1, 0}, 0, 1}},
        kept, kWide, [&](const auto& in, Cache& cache, const Dim& query) {
          TokenOrder order(query);
          if (fewer) {
            order.halves.pop_back();
          } else {
            std::swap(order.halves[1], order.halves[2]);
          }
          const Recurred made =
              delta_products({in.at("log_decay"), in.at("x"), in.at("keys"), in.at("queries")},
                             in.at("rate"), cache.carried(0, kept), order);
          cache.carry(0, kept, made.state);
          return made.results * 1.0;
        });
    EXPECT_THAT(program.described(true), testing::Not(testing::HasSubstr("delta products")));
    const auto want = program.by_reference(8, 2), have = program.by_plan(8, 2, true);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace pippin::nn
