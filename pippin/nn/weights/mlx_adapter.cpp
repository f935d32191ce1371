#include "pippin/nn/weights/mlx_adapter.h"

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

constexpr std::string_view kA = ".lora_a", kB = ".lora_b", kMagnitude = ".m";

// Names of tables; a change of a table has a row of lora_a for each of its rows.
bool is_embedding(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('.') + 1);
  return name.find("embed") != name.npos || name == "wte";
}

}  // namespace

std::vector<std::byte> transposed_bytes(const TensorInfo& tensor) {
  if (tensor.shape.size() != 2 || bits(tensor.dtype) % 8 != 0) {
    fail(ErrorCode::Unsupported,
         "tensor '{}' of shape [{}] is not supported: of an adapter's "
         "matrices two axes are read",
         tensor.name, fmt::join(tensor.shape, ", "));
  }
  const auto rows = static_cast<size_t>(tensor.shape[0]),
             columns = static_cast<size_t>(tensor.shape[1]),
             element = static_cast<size_t>(bits(tensor.dtype) / 8);
  std::vector<std::byte> bytes(tensor.bytes.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      std::memcpy(bytes.data() + (column * rows + row) * element,
                  tensor.bytes.data() + (row * columns + column) * element, element);
    }
  }
  return bytes;
}

bool is_mlx_adapter(const Json& config) {
  return !config.has("peft_type") &&
         (config.has("lora_parameters") || config.has("fine_tune_type"));
}

double mlx_adapter_scale(const Json& config) {
  const std::string kind = config.get_string_or("fine_tune_type", "lora");
  if (kind == "full") return 1.0;
  if (kind != "lora" && kind != "dora") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: lora, dora, full)",
         config.where("fine_tune_type"), kind);
  }
  const Json parameters = config.at("lora_parameters");
  // Versions of 2024 multiplied by alpha / rank, later ones do not read it.
  const auto alpha = parameters.find_float("alpha");
  if (alpha && *alpha != parameters.get_float("rank")) {
    fail(ErrorCode::Unsupported, "{}: {} is not supported: it has to be the rank, or absent",
         parameters.where("alpha"), *alpha);
  }
  return parameters.get_float("scale");
}

Checkpoint as_peft_adapter(const Checkpoint& checkpoint) {
  return checkpoint.renamed([&](const TensorInfo& tensor) -> Checkpoint::Renamed {
    const std::string& name = tensor.name;
    for (const std::string_view end : {kA, kB}) {
      if (!name.ends_with(end)) continue;
      const std::string module = name.substr(0, name.size() - end.size());
      const char part = end == kA ? 'A' : 'B';
      return {is_embedding(module) ? fmt::format("{}.lora_embedding_{}", module, part)
                                   : fmt::format("{}.lora_{}.weight", module, part),
              transposed_bytes(tensor), true};
    }
    if (name.ends_with(kMagnitude)) {
      const std::string module = name.substr(0, name.size() - kMagnitude.size());
      if (checkpoint.contains(module + std::string(kA))) {
        return {module + ".lora_magnitude_vector"};
      }
    }
    return {name};
  });
}

}  // namespace pippin::nn
