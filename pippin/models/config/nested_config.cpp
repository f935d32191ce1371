#include "pippin/models/config/nested_config.h"

#include <optional>

#include <fmt/format.h>

#include "pippin/io/json.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/rope_settings.h"

namespace pippin::models {

nn::RopeOptions nested_rope(const Config& config, std::string_view name, int64_t context,
                            double theta, int64_t head_dim, double factor) {
  const auto all = config.find("rope_parameters");
  const auto own = all ? all->find(name) : std::nullopt;
  JsonWriter writer;
  writer.begin_object();
  if (own) writer.key("rope_parameters").raw(own->dump());
  writer.key("max_position_embeddings").value(context);
  writer.end_object();
  const Config nested(Json::parse(writer.text(), own ? own->where() : "config.json"));
  if (own) factor = Config(*own).number("partial_rotary_factor", factor);
  const bool whole = RopeSettings(nested).is_proportional();
  const auto dims = static_cast<int64_t>(static_cast<double>(head_dim) * (whole ? 1.0 : factor));
  if (dims < 2 || dims % 2 != 0 || dims > head_dim) {
    config.invalid(
        "rope_parameters",
        fmt::format("{}: {} of {} dimensions cannot be rotated in pairs", name, dims, head_dim));
  }
  return rope_options(nested, dims, {.theta = theta, .rotary_factor = factor});
}

}  // namespace pippin::models
