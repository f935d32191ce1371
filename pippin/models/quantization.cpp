#include "pippin/models/quantization.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/gguf/gguf.h"
#include "pippin/models/registry.h"
#include "pippin/nn/weights/packed_forms.h"

namespace pippin::models {
namespace {

using nn::PackedWeightsPtr;

// -1 means one group of all inputs.
std::optional<int64_t> group_size_of(const Config& config) {
  const auto group = config.json().find_int("group_size");
  return group && *group > 0 ? group : std::nullopt;
}

PackedWeightsPtr gptq(const Config& config) {
  nn::GptqOptions options;
  options.bits = config.find_size("bits", 8);
  options.group_size = group_size_of(config);
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

// compressed-tensors: the weight settings in the configuration's groups.
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

// MLX's mode is that of all modules without another one: lists of modules hold separate bits,
// groups and modes, which the tensors show as well.
PackedWeightsPtr mlx_weights(const Config& config) {
  constexpr std::pair<std::string_view, nn::MlxMode> kModes[] = {
      {"affine", nn::MlxMode::Affine},
      {"mxfp4", nn::MlxMode::Mxfp4},
      {"mxfp8", nn::MlxMode::Mxfp8},
      {"nvfp4", nn::MlxMode::Nvfp4},
  };
  const auto mode_of = [&](const Config& one, nn::MlxMode fallback) {
    if (!one.find("mode")) return fallback;
    const std::string name = one.text("mode", "");
    for (const auto& [known, mode] : kModes) {
      if (known == name) return mode;
    }
    one.unsupported("mode", fmt::format("'{}' is not supported (known: affine, mxfp4, mxfp8, "
                                        "nvfp4)",
                                        name));
  };
  nn::MlxOptions options;
  options.mode = mode_of(config, nn::MlxMode::Affine);
  for (const auto& [name, module] : config.json().members()) {
    if (module.is_object()) {
      // A module with separate settings but no mode is affine.
      options.modes.emplace(name, mode_of(Config(module), nn::MlxMode::Affine));
    }
  }
  return nn::mlx_weights(options);
}

// AutoRound's files use another packing, which packing_format (once backend) names after
// "auto_round:". Its own form is GPTQ's with the actual zeros.
PackedWeightsPtr auto_round(const Config& config) {
  const std::string_view key = config.contains("packing_format") ? "packing_format" : "backend";
  const std::string format = config.text(key, "auto_round:auto_gptq");
  if (const std::string type = config.text("data_type", "int"); type != "int") {
    config.unsupported("data_type", fmt::format("'{}' is not supported (known: int)", type));
  }
  constexpr std::string_view kOwn = "auto_round:";
  const std::string kind = format.starts_with(kOwn) ? format.substr(kOwn.size()) : format;
  if (kind == "auto_gptq" || kind == "gptq" || kind == "gptqmodel") return gptq(config);
  if (kind == "auto_awq" || kind == "awq") return awq(config);
  if (kind == "auto_round") {
    return nn::gptq_weights({.bits = config.find_size("bits", 8),
                             .group_size = group_size_of(config),
                             .zeros_less_one = false});
  }
  config.unsupported(key, fmt::format("'{}' is not supported (known: auto_round, "
                                      "auto_round:auto_gptq, auto_round:auto_awq)",
                                      format));
}

// BitLinear divides by the scale of its weights, AutoBitLinear multiplies by it.
PackedWeightsPtr bitnet_weights(const Config& config) {
  config.require_absent("use_rms_norm");
  const std::string kind = config.text("linear_class", "bitlinear");
  if (kind != "bitlinear" && kind != "autobitlinear") {
    config.unsupported("linear_class", "only bitlinear and autobitlinear are supported");
  }
  if (kind == "autobitlinear" && config.text("quantization_mode", "offline") != "offline") {
    config.unsupported("quantization_mode", "only offline is supported");
  }
  return nn::ternary_weights(kind == "bitlinear");
}

PackedWeightsPtr by_method(const Config& config) {
  const std::string method = config.text("quant_method", "");
  if (method == "auto-round" || method == "intel/auto-round") return auto_round(config);
  if (method == "bitnet") return bitnet_weights(config);
  if (method == "gptq") return gptq(config);
  if (method == "awq") return awq(config);
  if (method == "compressed-tensors") return compressed_tensors(config);
  if (method == "fp8" || method == "fbgemm_fp8") return float8(config);
  if (method == "bitsandbytes") return nn::bitsandbytes_weights();
  if (method == "modelopt" && config.text("quant_algo", "FP8") == "FP8") return float8(config);
  const bool is_mlx = method.empty() && config.contains("bits") && config.contains("group_size");
  if (is_mlx) return mlx_weights(config);
  config.unsupported(
      "quant_method",
      fmt::format("'{}' is not supported (known: gptq, awq, compressed-tensors, fp8, fbgemm_fp8, "
                  "bitsandbytes, auto-round, bitnet, and of gpt-oss mxfp4)",
                  method));
}

}  // namespace

PackedWeightsPtr packed_weights(const Config& config) {
  if (config.contains(kGgufKey)) return nn::gguf_weights();
  if (const auto mlx = config.find("quantization")) {
    config.ignore({"quantization_config"});
    return mlx_weights(Config(*mlx));
  }
  for (const char* key : {"quantization_config", "compression_config"}) {
    const auto found = config.find(key);
    if (!found) continue;
    return by_method(Config(*found));
  }
  return nullptr;
}

PackedSummary packed_summary(const PackedMatrices& all) {
  constexpr int64_t kMostRows = 64;  // of a matrix: enough to estimate its error
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
