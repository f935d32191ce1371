#include "pippin/models/quantization.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/registry.h"
#include "pippin/nn/packed_forms.h"

namespace pippin::models {
namespace {

using nn::PackedWeightsPtr;

PackedWeightsPtr gptq(const Config& config) {
  nn::GptqOptions options;
  options.bits = config.find_size("bits", 8);
  const Json& json = config.json();
  if (const auto group = json.find_int("group_size"); group && *group > 0) {
    options.group_size = *group;
  }
  const std::string format = config.text("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2") {
    config.unsupported("checkpoint_format",
                       fmt::format("'{}': only gptq and gptq_v2 are read", format));
  }
  config.require_absent("is_marlin_format");
  options.zeros_less_one = format == "gptq";
  return nn::gptq_weights(options);
}

PackedWeightsPtr awq(const Config& config) {
  if (const int64_t bits = config.size("bits", 4); bits != 4) {
    config.unsupported("bits", fmt::format("{}: AWQ is read with 4 bits", bits));
  }
  std::string version = config.text("version", "gemm");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (version != "gemm") {
    config.unsupported("version", fmt::format("'{}': of AWQ's layouts gemm is read", version));
  }
  return nn::awq_weights();
}

// compressed-tensors: what the groups of the configuration say of weights.
PackedWeightsPtr compressed_tensors(const Config& config) {
  static constexpr std::string_view kRead[] = {"dense",           "pack-quantized",
                                               "int-quantized",   "float-quantized",
                                               "naive-quantized", "mixed-precision"};
  const auto check_format = [&](const Config& one) {
    const std::string format = one.text("format", "pack-quantized");
    if (std::find(std::begin(kRead), std::end(kRead), format) != std::end(kRead)) return;
    one.unsupported("format", fmt::format("'{}' is not read (pack-quantized, int-quantized, "
                                          "float-quantized and naive-quantized are)",
                                          format));
  };
  check_format(config);
  nn::ScaledOptions options;
  const auto groups = config.find("config_groups");
  for (const auto& [name, group] :
       groups ? groups->members() : std::vector<std::pair<std::string_view, Json>>()) {
    if (!group.is_object()) continue;
    check_format(Config(group));
    const auto weights = group.find("weights");
    if (!weights) continue;
    options.bits.push_back(Config(*weights).size("num_bits", 8, 8));
    const auto block = weights->find("block_structure");
    if (block && block->is_array()) {
      const std::vector<int64_t> sizes = block->as_ints();
      if (sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0) options.block = {sizes[0], sizes[1]};
    }
  }
  if (const auto sparsity = config.find("sparsity_config")) {
    const std::string format = sparsity->get_string_or("format", "dense");
    if (format != "dense") {
      config.unsupported("sparsity_config", fmt::format("'{}' is not read", format));
    }
  }
  return nn::scaled_weights(options);
}

PackedWeightsPtr float8(const Config& config) {
  nn::ScaledOptions options;
  if (const auto block = config.find("weight_block_size")) {
    const std::vector<int64_t> sizes = block->as_ints();
    if (sizes.size() != 2 || std::min(sizes[0], sizes[1]) < 1 ||
        std::max(sizes[0], sizes[1]) > kMaxSize) {
      config.invalid("weight_block_size", "two sizes are needed");
    }
    options.block = {sizes[0], sizes[1]};
  }
  return nn::scaled_weights(options);
}

PackedWeightsPtr by_method(const Config& config) {
  const std::string method = config.text("quant_method", "");
  if (method == "gptq") return gptq(config);
  if (method == "awq") return awq(config);
  if (method == "compressed-tensors") return compressed_tensors(config);
  if (method == "fp8" || method == "fbgemm_fp8") return float8(config);
  if (method == "bitsandbytes") return nn::bitsandbytes_weights();
  if (method == "modelopt" && config.text("quant_algo", "FP8") == "FP8") return float8(config);
  const bool is_mlx = method.empty() && config.contains("bits") && config.contains("group_size");
  if (is_mlx) return nullptr;
  config.unsupported(
      "quant_method",
      fmt::format("'{}' is not supported (known: gptq, awq, compressed-tensors, fp8, fbgemm_fp8, "
                  "bitsandbytes, and of their own models mxfp4 and bitnet)",
                  method));
}

}  // namespace

PackedWeightsPtr packed_weights(const Config& config) {
  if (const auto mlx = config.find("quantization")) {
    config.ignore({"quantization_config"});
    const std::string mode = mlx->get_string_or("mode", "affine");
    if (mode != "affine") {
      config.unsupported("quantization", fmt::format("mode '{}': affine is read", mode));
    }
    return nn::mlx_weights();
  }
  for (const char* key : {"quantization_config", "compression_config"}) {
    const auto found = config.find(key);
    if (!found) continue;
    PackedWeightsPtr packed = by_method(Config(*found));
    return packed != nullptr ? packed : nn::mlx_weights();
  }
  return nullptr;
}

PackedSummary packed_summary(const PackedMatrices& all) {
  constexpr int64_t kMostRows = 64;  // of a matrix: enough to know its error
  PackedSummary result;
  nn::PackedError sum;
  for (const auto& [name, matrix] : all) {
    const nn::PackedError one = nn::packed_error(*matrix, kMostRows);
    const double error = one.total > 0 ? std::sqrt(one.error / one.total) : 0.0;
    sum.error += one.error;
    sum.total += one.total;
    if (result.matrices++ > 0 && error <= result.largest) continue;
    result.largest = error;
    result.worst = name;
  }
  result.error = sum.total > 0 ? std::sqrt(sum.error / sum.total) : 0.0;
  return result;
}

}  // namespace pippin::models
