#include "pippin/engine/run/cpu_plan.h"

#include <fmt/format.h>

namespace pippin::engine {

std::string CpuPlan::describe() const {
  std::string text;
  for (const auto& step : steps) {
    text += step->name();
    for (size_t i = 0; i < step->views.size(); ++i) {
      text += fmt::format("{}{}{}",
                          i == step->num_written ? " <- "
                          : i == 0               ? " "
                                                 : ", ",
                          engine::to_string(step->views[i].storage),
                          mil::to_string(step->views[i].shape));
    }
    text += "\n";
  }
  return text;
}

}  // namespace pippin::engine
