// Estimates the magnitudes of a function's values from samples of its weights.
//
// Weights are assumed to be independent of their factors, so a product of n terms grows by sqrt(n):
// true for a network whose features are uncorrelated. Trained models have a few features that are
// not, and those are larger than any estimate; measurements with a text (calibrate.h) are better if
// available.
#pragma once

#include <map>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

class Magnitudes {
 public:
  // `program` contains the function; releases the pages of its weights on the way.
  Magnitudes(const FunctionView& function, const mil::Program& program);

  // The root mean square of the elements; 1 if unknown (inputs, except images).
  double rms(const mil::Var& var) const;
  // The largest value to expect among them.
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

// The root mean square of a constant, from a few thousand elements; nullopt if its bytes are
// absent.
std::optional<double> sampled_rms(const mil::Value& value);

}  // namespace pippin::doctor
