#include "pippin/models/gguf/gguf_adapter.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/log.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_architectures.h"
#include "pippin/models/gguf/gguf_names.h"
#include "pippin/nn/weights/mlx_adapter.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kA = ".lora_a", kB = ".lora_b", kWeight = ".weight",
                           kTable = "token_embd";

// The metadata of an adapter.
class AdapterFile {
 public:
  explicit AdapterFile(const fs::path& path)
      : name_(path.filename().string()),
        mapped_(MappedFile::open(path)),
        content_(parse_gguf(mapped_->bytes(), name_)),
        metadata_(content_, name_) {
    require("general.type", "adapter");
    require("adapter.type", "lora");
    if (metadata_.find("adapter.alora.invocation_tokens") != nullptr) {
      metadata_.unsupported("adapter.alora.invocation_tokens",
                            "an adapter that tokens of the prompt switch on is not supported");
    }
    if (!metadata_.text("general.architecture")) {
      metadata_.invalid("general.architecture", "is missing");
    }
  }

  const GgufMetadata& metadata() const { return metadata_; }
  std::string architecture() const { return *metadata_.text("general.architecture"); }
  bool has(std::string_view end) const {
    return std::any_of(content_.tensors.begin(), content_.tensors.end(),
                       [&](const GgufTensor& tensor) { return tensor.name.ends_with(end); });
  }

 private:
  void require(std::string_view key, std::string_view value) const {
    const std::string found = metadata_.text(key).value_or("");
    if (found == value) return;
    metadata_.invalid(key, fmt::format("is '{}', an adapter has '{}'", found.substr(0, 60), value));
  }

  std::string name_;
  std::shared_ptr<const MappedFile> mapped_;
  GgufContent content_;
  GgufMetadata metadata_;
};

bool has_floats(const TensorInfo& tensor) {
  constexpr Dtype kFloats[] = {Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F64};
  return std::find(std::begin(kFloats), std::end(kFloats), tensor.dtype) != std::end(kFloats);
}

// PEFT's names of an adapter's tensors.
class AdapterNames {
 public:
  // Paths without the model's base, which checkpoints of the same model may lack.
  AdapterNames(const nn::DecoderOptions& model, std::string file)
      : names_(without_base(model)), file_(std::move(file)) {}

  Checkpoint::Renamed operator()(const TensorInfo& tensor) const {
    const std::string& name = tensor.name;
    if (name.ends_with("_norm.weight")) {
      log_warn("{}: '{}' replaces a norm; as in llama.cpp it is not used", file_, name);
      return {};
    }
    const bool is_a = name.ends_with(kA);
    if ((is_a || name.ends_with(kB)) && !has_floats(tensor)) {
      fail(ErrorCode::Unsupported,
           "{}: tensor '{}' has no floats; adapters are read in F32, F16 and "
           "BF16",
           file_, name);
    }
    if (!is_a && !name.ends_with(kB)) {
      const bool is_packed = name.find(".lora_") != name.npos;
      fail(ErrorCode::Unsupported, "{}: tensor '{}' {}", file_, name,
           is_packed ? "is quantized; adapters are read in F32, F16 and BF16"
                     : "is neither a lora_a nor a lora_b");
    }
    std::string_view module = std::string_view(name).substr(0, name.size() - kA.size());
    if (!module.ends_with(kWeight) || tensor.shape.size() != 2) {
      fail(ErrorCode::Unsupported, "{}: tensor '{}' of shape [{}] does not change a matrix", file_,
           name, fmt::join(tensor.shape, ", "));
    }
    module.remove_suffix(kWeight.size());
    const GgufNames::Place* const place = names_.find(module);
    if (place == nullptr || place->form != GgufNames::Form::Same) {
      fail(ErrorCode::Unsupported, "{}: tensor '{}' changes no linear layer of the model", file_,
           name);
    }
    const char part = is_a ? 'A' : 'B';
    if (module != kTable) return {fmt::format("{}.lora_{}.weight", place->name, part)};
    Checkpoint::Renamed table{fmt::format("{}.lora_embedding_{}", place->name, part)};
    if (is_a) {
      table.bytes = nn::transposed_bytes(tensor);
      table.transposed = true;
    }
    return table;
  }

 private:
  static nn::DecoderOptions without_base(nn::DecoderOptions model) {
    model.base.clear();
    return model;
  }

  GgufNames names_;
  std::string file_;
};

const GgufArchitecture& find_row(const AdapterFile& file) {
  for (const GgufArchitecture& row : gguf_decoders()) {
    if (row.name == file.architecture()) return row;
  }
  file.metadata().unsupported(
      "general.architecture",
      fmt::format("'{}' is not supported as a model", file.architecture().substr(0, 60)));
}

// The model's architecture by llama.cpp's name. A type of Hugging Face's that no row has may be
// any: Mistral's models are llama's.
void check_architecture(const AdapterFile& file, const Json& config) {
  const std::string own = file.architecture();
  const std::string of_gguf = config.get_string_or(kGgufKey, "");
  std::vector<std::string_view> known;
  if (!of_gguf.empty()) {
    known.push_back(of_gguf);
  } else {
    std::string type = config.get_string_or("model_type", "");
    if (const auto text = config.find("text_config")) {
      type = text->get_string_or("model_type", type);
    }
    for (const GgufArchitecture& row : gguf_decoders()) {
      if (row.model_type == type) known.push_back(row.name);
    }
  }
  if (known.empty() || std::find(known.begin(), known.end(), own) != known.end()) return;
  file.metadata().invalid("general.architecture",
                          fmt::format("is '{}', the model is '{}': the adapter is of another model",
                                      own.substr(0, 60), known.front()));
}

}  // namespace

fs::path find_gguf_adapter(const fs::path& path) {
  if (path.extension() == ".gguf") return path;
  std::vector<fs::path> found;
  std::error_code ignored;
  if (fs::exists(path / "adapter_config.json", ignored)) return {};
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  if (found.size() > 1) {
    fail(ErrorCode::InvalidArgument,
         "{}: no adapter_config.json, and {} GGUF files: choose one of them", path.string(),
         found.size());
  }
  return found.empty() ? fs::path() : found.front();
}

std::shared_ptr<const nn::LoraAdapter> open_gguf_adapter(const fs::path& path, const Json& config,
                                                         const nn::DecoderOptions& model) {
  const AdapterFile file(path);
  check_architecture(file, config);
  const double alpha = file.metadata().number("adapter.lora.alpha").value_or(0.0);
  Checkpoint checkpoint =
      Checkpoint::open(path).renamed(AdapterNames(model, path.filename().string()));
  // llama.cpp's rule: without alpha, the product as it is.
  const auto scale_of = [alpha](const std::string& /*module*/, int64_t rank) {
    return alpha == 0 ? 1.0 : alpha / static_cast<double>(rank);
  };
  return nn::LoraAdapter::make({path, std::move(checkpoint), scale_of, false,
                                /*is_of_other_form=*/!config.has(kGgufKey)});
}

void add_gguf_form(const fs::path& adapter, nn::DecoderOptions& model) {
  const AdapterFile file(adapter);
  const bool has_pairs = find_row(file).pairs;
  const bool is_joined = file.has("attn_qkv.weight.lora_a");
  const bool has_sections = std::any_of(model.ropes.begin(), model.ropes.end(),
                                        [](const auto& rope) { return rope.has_sections(); });
  const auto add = [&](nn::AttentionOptions& attention) {
    // An adapter added before may have the joined matrix where this one changes other parts.
    const bool joined = is_joined || (attention.other_form &&
                                      attention.other_form->layout == nn::QkvLayout::Blocks);
    // The converter separates pairs if positions have several axes.
    const bool interleaved = has_pairs || (attention.interleaved && !has_sections);
    attention.other_form = {joined ? nn::QkvLayout::Blocks : nn::QkvLayout::Separate, interleaved};
  };
  for (nn::LayerOptions& layer : model.layers) {
    if (auto* attention = std::get_if<nn::AttentionOptions>(&layer.mixer)) {
      add(*attention);
    } else if (auto* both = std::get_if<nn::AttentionWithMambaOptions>(&layer.mixer)) {
      add(both->attention);
    } else if (auto* delta = std::get_if<nn::GatedDeltaOptions>(&layer.mixer)) {
      delta->reordered = delta->value_heads > delta->key_heads;
    }
  }
}

}  // namespace pippin::models
