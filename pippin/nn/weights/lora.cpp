#include "pippin/nn/weights/lora.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/nn/weights/mlx_adapter.h"

namespace pippin::nn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "base_model.model.";
constexpr int64_t kMaxRank = 1 << 16;

// The parts of a tensor's name.
struct Part {
  std::string_view suffix;
  std::string LowRank::*tensor;
  bool embedding = false;
};
constexpr std::array kParts = {
    Part{".lora_A.weight", &LowRank::a},
    Part{".lora_B.weight", &LowRank::b},
    Part{".lora_embedding_A", &LowRank::a, true},
    Part{".lora_embedding_B", &LowRank::b, true},
    Part{".lora_magnitude_vector", &LowRank::magnitude},
    Part{".lora_magnitude_vector.weight", &LowRank::magnitude},
};

// The settings that decide a change's scale.
class Scales {
 public:
  Scales(const Json& config, const fs::path& file)
      : file_(file),
        alpha_(config.get_float_or("lora_alpha", 8.0)),
        by_root_(config.get_bool_or("use_rslora", false)) {
    const auto patterns = config.find("alpha_pattern");
    if (!patterns) return;
    for (const auto& [name, value] : patterns->members()) {
      alphas_.emplace_back(compile(std::string(name)), value.as_float());
    }
  }

  double of(const std::string& module, int64_t rank) const {
    constexpr size_t kMaxPath = 500;  // the matcher recurses as deep as the text is long
    if (!alphas_.empty() && module.size() > kMaxPath) {
      fail(ErrorCode::InvalidFile, "{}: a module's name of {} bytes", file_.string(),
           module.size());
    }
    double alpha = alpha_;
    for (const auto& [pattern, value] : alphas_) {
      if (std::regex_match(module, pattern)) {
        alpha = value;
        break;
      }
    }
    const auto r = static_cast<double>(rank);
    return alpha / (by_root_ ? std::sqrt(r) : r);
  }

 private:
  // Like PEFT's matching of alpha_pattern's keys: the end of a module's path.
  std::regex compile(const std::string& name) const {
    constexpr size_t kMaxPattern = 300;
    try {
      if (name.size() <= kMaxPattern) return std::regex("(.*\\.)?(" + name + ")");
    } catch (const std::regex_error&) {
    }
    fail(ErrorCode::Unsupported, "{}: alpha_pattern \"{}\" is not a supported pattern",
         file_.string(), name.substr(0, 80));
  }

  fs::path file_;
  double alpha_;
  bool by_root_;
  std::vector<std::pair<std::regex, double>> alphas_;
};

// Rejects settings that would change the result.
void check_config(const Json& config, const fs::path& file) {
  const std::string kind = config.get_string_or("peft_type", "");
  if (kind != "LORA") {
    fail(ErrorCode::Unsupported, "{}: peft_type '{}' is not supported (known: LORA)", file.string(),
         kind);
  }
  for (const char* flag : {"lora_bias", "use_qalora", "use_bdlora"}) {
    if (config.get_bool_or(flag, false)) {
      fail(ErrorCode::Unsupported, "{}: {} is not supported", file.string(), flag);
    }
  }
  for (const char* key : {"layer_replication", "trainable_token_indices", "target_parameters",
                          "alora_invocation_tokens", "arrow_config"}) {
    const auto value = config.find(key);
    const bool empty = !value || (value->is_array() && value->size() == 0);
    if (!empty) fail(ErrorCode::Unsupported, "{}: {} is not supported", file.string(), key);
  }
}

bool ends_below(std::string_view full, std::string_view end) {
  return full.size() > end.size() && full.ends_with(end) &&
         full[full.size() - end.size() - 1] == '.';
}

// The entry for a name that may lack the first parts of the key.
template <typename Map>
const typename Map::mapped_type* find_by_end(const Map& map, std::string_view name) {
  if (const auto found = map.find(name); found != map.end()) return &found->second;
  const typename Map::mapped_type* only = nullptr;
  for (const auto& [key, value] : map) {
    if (!ends_below(key, name) && !ends_below(name, key)) continue;
    if (only != nullptr) return nullptr;
    only = &value;
  }
  return only;
}

// PEFT's wrappers around a module add to the path: modules_to_save of training in several
// processes, base_layer of a matrix that is stored next to its change.
std::string replaced_tensor(std::string_view path) {
  std::string result(path);
  for (const std::string_view wrapper :
       {".modules_to_save.default.", ".modules_to_save.", ".base_layer."}) {
    const size_t place = result.find(wrapper);
    if (place == result.npos) continue;
    result.replace(place, wrapper.size(), ".");
    break;
  }
  return result;
}

fs::path weights_file(const fs::path& folder, bool is_mlx) {
  const char* const peft[] = {"adapter_model.safetensors", "adapter_model.bin"};
  const char* const mlx[] = {"adapters.safetensors", "adapters.npz"};
  const auto& names = is_mlx ? mlx : peft;
  for (const char* name : names) {
    if (fs::exists(folder / name)) return folder / name;
  }
  fail(ErrorCode::NotFound, "{}: neither {} nor {}", folder.string(), names[0], names[1]);
}

}  // namespace

std::shared_ptr<const LoraAdapter> LoraAdapter::open(const fs::path& folder,
                                                     bool is_of_other_form) {
  const fs::path file = folder / "adapter_config.json";
  if (!fs::exists(file)) {
    fail(ErrorCode::NotFound, "{}: no adapter_config.json, so this is not an adapter",
         folder.string());
  }
  const Json config = Json::load(file, kPythonJson);
  const bool is_mlx = is_mlx_adapter(config);
  if (!is_mlx) check_config(config, file);
  const double mlx_scale = is_mlx ? mlx_adapter_scale(config) : 0.0;
  Checkpoint checkpoint = Checkpoint::open(weights_file(folder, is_mlx));
  if (is_mlx) checkpoint = as_peft_adapter(checkpoint);
  const bool uses_dora = is_mlx ? config.get_string_or("fine_tune_type", "lora") == "dora"
                                : config.get_bool_or("use_dora", false);
  const Scales scales(config, file);
  const auto scale_of = [&](const std::string& module, int64_t rank) {
    return is_mlx ? mlx_scale : scales.of(module, rank);
  };
  return make({folder, std::move(checkpoint), scale_of, uses_dora, is_of_other_form});
}

std::shared_ptr<const LoraAdapter> LoraAdapter::make(Source source) {
  auto adapter = std::make_shared<LoraAdapter>();
  adapter->path_ = std::move(source.path);
  adapter->is_of_other_form_ = source.is_of_other_form;
  adapter->checkpoint_ = std::make_shared<const Checkpoint>(std::move(source.checkpoint));
  for (const std::string& name : adapter->checkpoint_->names()) adapter->add(name);
  for (auto& [module, change] : adapter->changes_) {
    adapter->check(module, change, source.needs_magnitudes);
    change.scale = source.scale_of(module, change.rank);
    if (!std::isfinite(static_cast<float>(change.scale))) {
      fail(ErrorCode::InvalidFile, "{}: '{}' has the scale {}, a finite number is expected",
           adapter->path_.string(), module, change.scale);
    }
  }
  if (adapter->changes_.empty() && adapter->replacements_.empty()) {
    fail(ErrorCode::InvalidFile, "{}: the adapter has no tensors", adapter->path_.string());
  }
  return adapter;
}

void LoraAdapter::add(const std::string& name) {
  std::string_view path = name;
  if (path.starts_with(kPrefix)) path.remove_prefix(kPrefix.size());
  const auto part = std::find_if(kParts.begin(), kParts.end(), [&](const Part& candidate) {
    return path.ends_with(candidate.suffix);
  });
  if (part == kParts.end()) {
    if (path.find("lora_") != std::string_view::npos) {
      fail(ErrorCode::Unsupported, "{}: tensor '{}' is of no known kind", path_.string(), name);
    }
    if (!replacements_.emplace(replaced_tensor(path), name).second) {
      fail(ErrorCode::InvalidFile, "{}: '{}' and another tensor replace the same one",
           path_.string(), name);
    }
    return;
  }
  LowRank& change = changes_[std::string(path.substr(0, path.size() - part->suffix.size()))];
  change.embedding = change.embedding || part->embedding;
  std::string& tensor = change.*part->tensor;
  if (!tensor.empty()) {
    fail(ErrorCode::InvalidFile, "{}: '{}' and '{}' are the same tensor of a module",
         path_.string(), tensor, name);
  }
  tensor = name;
}

void LoraAdapter::check(const std::string& module, LowRank& change, bool needs_magnitude) const {
  const std::string path = path_.string();
  if (change.a.empty() || change.b.empty()) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has no lora_{}", path, module,
         change.a.empty() ? "A" : "B");
  }
  const TensorInfo& a = checkpoint_->at(change.a);
  if (a.shape.size() != 2 || a.shape[0] < 1 || a.shape[0] > kMaxRank) {
    fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], not (rank, features)", path,
         change.a, fmt::join(a.shape, ", "));
  }
  if (!change.magnitude.empty() && change.embedding) {
    fail(ErrorCode::Unsupported, "{}: '{}': DoRA of a table of embeddings is not supported", path,
         module);
  }
  if (needs_magnitude && change.magnitude.empty() && !change.embedding) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has no lora_magnitude_vector, which DoRA needs", path,
         module);
  }
  change.rank = a.shape[0];
}

const LowRank* LoraAdapter::change_of(std::string_view module) const {
  return find_by_end(changes_, module);
}

const std::string* LoraAdapter::replacement_of(std::string_view tensor) const {
  return find_by_end(replacements_, tensor);
}

}  // namespace pippin::nn
