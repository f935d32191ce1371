// How large the values of a function are, estimated from samples of its weights.
//
// Weights are taken as independent of what they multiply, so a product of n terms grows by sqrt(n):
// true of a network whose features do not conspire. Trained models have a few features that do,
// and those are larger than any estimate; what a text measures (calibrate.h) is better where there
// is one.
#pragma once

#include <map>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

class Magnitudes {
 public:
  // `program`: that the function is of; pages of its weights are given back on the way.
  Magnitudes(const FunctionView& function, const mil::Program& program);

  // The root of the mean square of the elements; 1 if unknown (inputs, but for images).
  double rms(const mil::Var& var) const;
  // The largest that is to be expected among them.
  double peak(const mil::Var& var) const { return kPeakOfRms * rms(var); }

 private:
  static constexpr double kPeakOfRms = 8;

  double rms(const mil::Binding& binding) const;
  double rms(const mil::Operation& operation, std::string_view parameter) const;
  double largest_input(const mil::Operation& operation) const;
  double result_of(const mil::Operation& operation);
  double result_of_product(const mil::Operation& operation) const;
  double elementwise(const mil::Operation& operation) const;

  const FunctionView& function_;
  std::map<const mil::Var*, double> known_;
  std::map<const mil::Var*, bool> convex_;  // weights of a mean: the results of softmax
};

// Of a constant, from a few thousand of its elements; nothing if its bytes are absent.
std::optional<double> sampled_rms(const mil::Value& value);

}  // namespace pippin::doctor
