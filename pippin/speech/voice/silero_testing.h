// For tests only: a package in the form of Silero's detector that finds loud sound.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/array/ops.h"
#include "pippin/families/package.h"
#include "pippin/families/silero.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"

namespace pippin::speech {

// The probability is above 0.5 for windows whose mean square is above `loudness`; a state keeps the
// sum of all of them, and the other one the number of windows.
inline void write_loudness_detector(const std::filesystem::path& package, int64_t window = 4096,
                                    double loudness = 0.01, int64_t state = 128) {
  namespace silero = families::silero;
  using array::Array;
  models::FunctionRecorder function(families::kMain, mil::Opset::CoreML6);
  const auto type = mil::DataType::Float32;
  const Array audio = function.input(silero::kAudio, type, {1, silero::kContext + window});
  const Array hidden = function.input(silero::kHidden, type, {1, state});
  const Array cell = function.input(silero::kCell, type, {1, state});
  const Array mean = array::reduce_mean(array::square(audio), {1}, /*keep_dims=*/true);
  constexpr double kSlope = 1000;
  function.output(silero::kProbability,
                  array::expand_dims(array::sigmoid((mean + -loudness) * kSlope), {2}));
  function.output(silero::kNewHidden, hidden + mean);
  function.output(silero::kNewCell, cell + 1.0);
  models::Description named;
  named.name = "loudness";
  mil::Model model = models::empty_model(named, "silero", mil::Opset::CoreML6);
  function.add_to(model);
  mil::write_package(model, package);
}

}  // namespace pippin::speech
