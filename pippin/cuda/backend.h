// The GPU that a user means by the name of a backend: "cuda", "cuda:1", "auto".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/engine/device.h"

namespace pippin::cuda {

// Returns the number of the GPU in "cuda" (0) or "cuda:1"; nullopt for other texts.
std::optional<int> gpu_number(std::string_view backend);

// The outcome of "auto".
struct AutoChoice {
  std::shared_ptr<engine::Device> device;  // null: the CPU
  std::string reason;                      // the GPU's name and number, or why there is none
};
// Opens the first GPU that can be used.
AutoChoice choose_device();

// Returns why that GPU cannot be opened; empty if it can.
std::string problem_of(int index);

}  // namespace pippin::cuda
