// For the tests of fusions: short programs, the steps of their plans, and their values fused,
// unfused and by the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/engine/reference/reference.h"

namespace pippin::engine {

// The text of a function. Every line of the body is NAME: TYPE = OP(PARAMETERS); constants are
// written with number() and array() beforehand.
class ProgramText {
 public:
  explicit ProgramText(std::string inputs) : inputs_(std::move(inputs)) {
    number("no", "bool", "false").number("yes", "bool", "true");
  }

  ProgramText& number(const std::string& name, const std::string& type, const std::string& value) {
    body_ += fmt::format("{0} {1} = const()[name = string(\"{1}\"), val = {0}({2})];\n", type, name,
                         value);
    return *this;
  }
  ProgramText& number(const std::string& name, double value) {
    return number(name, "fp32", fmt::format("{:a}", value));
  }
  ProgramText& integers(const std::string& name, const std::vector<int64_t>& values) {
    return number(name, fmt::format("tensor<int32, [{}]>", values.size()),
                  fmt::format("[{}]", fmt::join(values, ", ")));
  }
  // Values around `center`, a different one for each element.
  ProgramText& array(const std::string& name, const std::vector<int64_t>& shape, double center = 0,
                     const std::string& type = "fp32") {
    int64_t next = 0;
    return number(name, fmt::format("tensor<{}, [{}]>", type, fmt::join(shape, ", ")),
                  nested(shape, 0, center, next));
  }
  ProgramText& op(const std::string& name, const std::string& type, const std::string& call) {
    body_ += fmt::format("{0} {1} = {2}[name = string(\"{1}\")];\n", type, name, call);
    return *this;
  }
  ProgramText& line(const std::string& text) {
    body_ += text + "\n";
    return *this;
  }
  // The part [begin, end) of an axis.
  ProgramText& part(const std::string& name, const std::string& type, const std::string& of,
                    size_t rank, size_t axis, int64_t begin, int64_t end) {
    std::vector<int64_t> first(rank, 0), last(rank, 0);
    std::vector<bool> whole(rank, true);
    first[axis] = begin;
    last[axis] = end;
    whole[axis] = false;
    integers(name + "_begin", first).integers(name + "_end", last);
    number(name + "_mask", fmt::format("tensor<bool, [{}]>", rank),
           fmt::format("[{}]", fmt::join(whole, ", ")));
    return op(name, type,
              fmt::format("slice_by_index(x = {0}, begin = {1}_begin, end = {1}_end, "
                          "end_mask = {1}_mask)",
                          of, name));
  }
  mil::Model returns(const std::string& outputs) const {
    return make_model("func main<ios18>(" + inputs_ + ") {\n" + body_ + "} -> (" + outputs + ");");
  }

 private:
  static std::string nested(const std::vector<int64_t>& shape, size_t axis, double center,
                            int64_t& next) {
    std::string text = "[";
    for (int64_t i = 0; i < shape[axis]; ++i) {
      if (i > 0) text += ", ";
      if (axis + 1 < shape.size()) {
        text += nested(shape, axis + 1, center, next);
      } else {
        // Multiples of 1/64, which fp16 also holds.
        const auto index = next++;
        text += fmt::format("{:a}", center + static_cast<double>(index * 37 % 61 - 30) / 64);
      }
    }
    return text + "]";
  }

  std::string inputs_, body_;
};

inline std::string described(const mil::Model& model, bool fusion = true) {
  PlanOptions options;
  options.compute.fusion = fusion;
  options.compute.precision = Precision::Exact;
  options.compute.cpu = limit_cpu(detect_cpu(), "scalar");  // the same names on every machine
  return Plan::make(model, "main", options)->describe();
}

// The values of inputs.
enum class Fill { Ordinary, Large, Zeros, Extremes };

inline float filled(Fill fill, std::mt19937& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0,    -0.0F, 1e-30F, -1e-30F, 1e-40F, 88,  -88,
                                1000, -1000, 1e9F,   kInf,    -kInf,  NAN, 0.5F};
  std::uniform_real_distribution<float> uniform(-2, 2);
  switch (fill) {
    case Fill::Ordinary:
      return uniform(random);
    case Fill::Large:
      return uniform(random) * 1e6F;
    case Fill::Zeros:
      return 0;
    case Fill::Extremes:
      return random() % 4 == 0 ? kSpecial[random() % std::size(kSpecial)] : uniform(random);
  }
  return 0;
}

inline bool is_close(double a, double b, double tolerance, double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance * std::max({scale, std::abs(a), std::abs(b)});
}

// Runs the program with and without fusions on every instruction set and by the reference, on
// inputs of the shapes, and compares all outputs. `extremes`: also with infinities and NaN.
inline void expect_same_values(const mil::Model& model,
                               const std::vector<std::vector<std::vector<int64_t>>>& calls,
                               const std::vector<Fill>& fills = {Fill::Ordinary, Fill::Large,
                                                                 Fill::Zeros, Fill::Extremes},
                               double tolerance = 2e-5, Precision precision = Precision::Exact) {
  const ReferenceInterpreter reference(model.program, "main");
  ThreadPool pool(2);
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    PlanOptions options;
    options.compute.precision = precision;
    options.compute.cpu = cpu;
    Execution fused(Plan::make(model, "main", options), pool);
    options.compute.fusion = false;
    Execution plain(Plan::make(model, "main", options), pool);
    State state({});
    std::mt19937 random(20);
    for (const auto& shapes : calls) {
      for (const Fill fill : fills) {
        SCOPED_TRACE(fmt::format("{}, fill {}", level, static_cast<int>(fill)));
        fused.bind(shapes, state);
        plain.bind(shapes, state);
        std::map<std::string, mil::Tensor> inputs;
        double scale = 1e-30;
        for (size_t i = 0; i < shapes.size(); ++i) {
          const Port& port = fused.plan().inputs()[i];
          mil::Tensor tensor(port.declared, shapes[i]);
          for (size_t k = 0; k < tensor.values.size(); ++k) {
            const double value = mil::round_to_type(filled(fill, random), port.declared);
            tensor.values[k] = value;
            fused.float_input(i)[k] = plain.float_input(i)[k] = static_cast<float>(value);
            if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
          }
          inputs[port.name] = std::move(tensor);
        }
        fused.run();
        plain.run();
        ReferenceState none;
        const auto expected = reference.run(inputs, none);
        for (size_t i = 0; i < fused.plan().outputs().size(); ++i) {
          const std::string& name = fused.plan().outputs()[i].name;
          const mil::Tensor& want = expected.at(name);
          ASSERT_EQ(fused.output_shape(i), want.shape);
          double largest = 1e-30;
          for (const double value : want.values) {
            if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
          }
          for (size_t k = 0; k < want.values.size(); ++k) {
            const double got = fused.float_output(i)[k];
            ASSERT_TRUE(is_close(got, plain.float_output(i)[k], tolerance, largest))
                << name << "[" << k << "]: " << got << ", unfused " << plain.float_output(i)[k];
            ASSERT_TRUE(is_close(got, want.values[k], tolerance, largest))
                << name << "[" << k << "]: " << got << ", reference " << want.values[k];
          }
        }
      }
    }
  }
}

}  // namespace pippin::engine
