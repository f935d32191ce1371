#include "pippin/app/facts/model_facts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>

#include "pippin/app/image_encoder.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/open/open_text.h"
#include "pippin/app/speech_to_text.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/platform/file_times.h"
#include "pippin/families/package.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/digest.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/model_output/reasoning.h"
#include "pippin/runtime/package/functions.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The sizes in config.json under GGUF's names.
constexpr std::pair<const char*, const char*> kSizes[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"vocab_size", "vocab_size"}};

std::string type_name(std::string_view type) {
  if (type == "bfloat16") return "BF16";
  if (type == "float16") return "F16";
  return type == "float32" ? "F32" : std::string(type);
}

void read_config(const fs::path& file, ModelFacts& facts) {
  const Json whole = Json::load(file, kPythonJson);
  if (!whole.is_object()) return;
  const auto inner = whole.find("text_config");
  const Json config = inner && inner->is_object() ? *inner : whole;
  const auto integer = [&](const char* name) {
    const auto value = config.find(name);
    return value && value->is_integer(0, INT64_MAX) ? value->as_int() : 0;
  };
  const auto text = [&](const Json& object, const char* name) {
    const auto value = object.find(name);
    return value && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  facts.architecture = text(whole, "model_type");
  facts.context = integer("max_position_embeddings");
  for (const auto& [name, meant] : kSizes) {
    if (const int64_t size = integer(name); size > 0) facts.sizes.emplace_back(meant, size);
  }
  if (const auto packed = whole.find("quantization_config"); packed && packed->is_object()) {
    facts.quantization = text(*packed, "quant_method");
    return;
  }
  const std::string type = text(whole, "dtype");
  facts.quantization = type_name(type.empty() ? text(whole, "torch_dtype") : type);
}

void count_parameters(const fs::path& folder, ModelFacts& facts) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  for (const std::string& name : checkpoint.names()) {
    facts.parameters += checkpoint.at(name).num_elements();
  }
}

std::string architecture_in(const mil::Model& model) {
  const auto& metadata = model.metadata.user_defined;
  const auto found = metadata.find(families::kArchitectureKey);
  return found == metadata.end() ? std::string() : found->second;
}

void read_template(const chat::TemplateSources& sources, ModelFacts& facts) {
  const auto chat = ChatTemplate::from_sources(sources);
  if (!chat) return;
  facts.template_source = chat->source();
  facts.takes_tools =
      model_output::takes_tools(*chat) && model_output::read_call_syntax(*chat).has_value();
  facts.thinks = model_output::find_reasoning(*chat, nullptr).has_value();
}

}  // namespace

std::string architecture_of(const runtime::RunnableModel& model) {
  return model.program == nullptr ? std::string() : architecture_in(*model.program);
}

std::vector<std::string> read_adapters(const fs::path& path) {
  if (!runtime::names_packages(path)) return {};
  runtime::FoundPackages found = runtime::find_packages(path);
  using Family = runtime::FoundPackages::Family;
  if (found.family == Family::Single) {
    return runtime::adapter_names(mil::read_package(found.package));
  }
  std::vector<std::string> names;
  if (found.family != Family::Anemll) return names;
  for (const std::string& part : found.anemll.chunks) {
    for (std::string& name :
         runtime::adapter_names(mil::read_package(found.folder->package(part)))) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

FileFacts read_file_facts(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::is_regular_file(path, error)) found.push_back(path);
  for (auto it = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  FileFacts files;
  std::string list;
  for (const fs::path& file : found) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) continue;
    const int64_t modified = modified_ns(info);
    files.bytes += static_cast<uint64_t>(info.st_size);
    files.modified = std::max(files.modified, modified / 1'000'000'000);
    list += fmt::format("{} {} {}\n", file.string(), info.st_size, modified);
  }
  Digest digest = Digest::sha256();
  digest.update(std::as_bytes(std::span(list)));
  files.digest = digest.finish();
  return files;
}

ModelFacts read_model_facts(const fs::path& path, const runtime::LoadOptions& load) {
  ModelFacts facts;
  facts.files = read_file_facts(path);
  fs::path folder = path;
  if (const auto gguf = find_gguf(path)) {
    facts.format = gguf->extension() == ".gguf" ? "gguf" : "ggml";
    folder = gguf_folder(*gguf);
  } else {
    facts.format = mil::is_package(path) ? "coreml" : "safetensors";
  }
  facts.is_encoder = is_text_encoder(folder) || ImageEncoder::is_in(folder);
  facts.hears = !facts.is_encoder && is_speech_model(folder);
  if (mil::is_package(folder)) {
    facts.architecture = architecture_in(mil::read_package(folder));
  } else if (fs::exists(folder / "config.json")) {
    read_config(folder / "config.json", facts);
    // The folder generated for a GGUF states the type of its arithmetic, not of its tensors.
    if (facts.format == "gguf" || facts.format == "ggml") facts.quantization.clear();
    if (facts.format == "safetensors" && !facts.quantization.empty()) {
      count_parameters(folder, facts);
    }
  } else {
    facts.format = "coreml";  // a folder of packages
  }
  const int64_t wanted = load.context;
  if (wanted > 0) {
    facts.context = facts.context == 0 ? wanted : std::min(facts.context, wanted);
  }
  read_template(
      read_template_sources(load.chat_template.empty() ? folder : fs::path(load.chat_template)),
      facts);
  return facts;
}

}  // namespace pippin::app
