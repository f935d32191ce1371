#include "pippin/runtime/coreml_llm/prefill.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::runtime {
namespace {

namespace coreml_llm = families::coreml_llm;

// The elements of an array of a batch.
int64_t batch_elements(CoreMlLlmInput kind, int64_t tokens, int64_t of_token) {
  if (kind == CoreMlLlmInput::BatchMask) return tokens * tokens;
  if (kind == CoreMlLlmInput::LastMask) return tokens;
  const bool is_step_mask = kind == CoreMlLlmInput::FullMask ||
                            kind == CoreMlLlmInput::SlidingMask ||
                            kind == CoreMlLlmInput::UpdateMask;
  return is_step_mask ? 0 : tokens * of_token;
}

}  // namespace

CoreMlLlmPrefill::CoreMlLlmPrefill(const CoreMlLlmFiles& files, const CoreMlLlmSizes& sizes,
                                   Heads heads, CoreMlLlmChunks& steps,
                                   const std::function<int64_t(CoreMlLlmInput)>& elements,
                                   ThreadPool& pool, const LoadOptions& options,
                                   std::vector<std::string>& unused)
    : folder_(files.prefill_folder),
      steps_(steps),
      chunks_(folder_, files.prefill, pool, options, unused) {
  FixedPart& first = chunks_.part(0);
  tokens_ = std::ssize(first.input(first.input_port(coreml_llm::kHidden))) / sizes.hidden;
  if (tokens_ < 2) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has {} tokens, a batch is expected", first.name(),
         coreml_llm::kHidden, tokens_);
  }
  if (heads.sliding == heads.full) {
    fail(ErrorCode::Unsupported, "{}: heads of {} features in sliding and in full layers",
         files.prefill_folder.string(), heads.full);
  }
  chunks_.connect(
      [&](CoreMlLlmInput kind) { return batch_elements(kind, tokens_, elements(kind)); });
  for (const char* letter : coreml_llm::kCacheLetters) {
    find_layers(letter, true, heads, sizes.window);
    find_layers(letter, false, heads, sizes.context);
  }
  for (const Layer& layer : layers_) with_keys_ = std::max(with_keys_, layer.source.chunk + 1);
}

// Layers that others share the keys of have another name, and are the last ones of their kind.
std::vector<CoreMlLlmPrefill::Rows> CoreMlLlmPrefill::rows_of(const std::string& letter,
                                                              bool slides, Heads heads) {
  const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(letter[0])));
  std::vector<Rows> found;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const FixedPart& part = chunks_.part(i);
    const auto add = [&](const std::string& name) {
      if (!has_output(part, name.c_str())) return false;
      const auto shape = output_shape(part, name.c_str(), {1, kAnySize, tokens_, kAnySize});
      const int64_t features = shape[3];
      if (features != heads.sliding && features != heads.full) {
        fail(ErrorCode::InvalidFile, "{}: '{}' has {} features, heads have {} or {}", part.name(),
             name, features, heads.sliding, heads.full);
      }
      if ((features == heads.sliding) == slides)
        found.push_back({i, part.output_port(name), features});
      return true;
    };
    for (int index = 0; add(fmt::format("{}{}", letter, index)); ++index) {
    }
    for (const char* shared : coreml_llm::kSharedKeys) add(fmt::format("{}{}", shared, lower));
  }
  return found;
}

std::vector<CoreMlLlmPrefill::Cache> CoreMlLlmPrefill::caches_of(const std::string& name,
                                                                 int64_t rows) {
  std::vector<Cache> found;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const FixedPart& part = steps_.part(i);
    const auto& inputs = part.description().inputs;
    const bool has = std::any_of(inputs.begin(), inputs.end(),
                                 [&](const mil::Feature& input) { return input.name == name; });
    if (!has) continue;
    const auto shape = input_shape(part, name.c_str(), true, {kAnySize, kAnySize, rows, kAnySize});
    for (int64_t layer = 0; layer < shape[0]; ++layer) {
      found.push_back({i, part.input_port(name), layer, shape[1], rows, shape[3]});
    }
  }
  return found;
}

void CoreMlLlmPrefill::find_layers(const std::string& letter, bool slides, Heads heads,
                                   int64_t rows) {
  const std::string name = fmt::format(
      "{}_{}{}", letter, slides ? coreml_llm::kSliding : coreml_llm::kFull, coreml_llm::kIn);
  const std::vector<Rows> sources = rows_of(letter, slides, heads);
  const std::vector<Cache> targets = caches_of(name, rows);
  if (sources.size() != targets.size()) {
    fail(ErrorCode::InvalidFile, "{}: the packages give '{}' of {} layers, the chunks take {}",
         folder_.path().string(), name, sources.size(), targets.size());
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    const FixedPart& part = chunks_.part(sources[i].chunk);
    const int64_t numbers = std::ssize(part.output(sources[i].output));
    if (numbers != targets[i].heads * tokens_ * sources[i].features ||
        sources[i].features > targets[i].width) {
      fail(ErrorCode::InvalidFile, "{}: '{}' has {} numbers, '{}' takes {} heads of {}",
           part.name(), part.description().outputs[sources[i].output].name, numbers, name,
           targets[i].heads, targets[i].width);
    }
    layers_.push_back({sources[i], targets[i], slides});
  }
}

void CoreMlLlmPrefill::copy_keys(size_t chunk, int64_t count, size_t lane) {
  for (const auto& [source, target, slides] : layers_) {
    if (source.chunk != chunk) continue;
    const float* const from = chunks_.part(chunk).output(source.output).data();
    float* const to = steps_.part(target.chunk).input(target.input, lane).data();
    // The newest key of a window is the last one.
    const int64_t begin = slides ? target.rows - count : 0;
    for (int64_t head = 0; head < target.heads; ++head) {
      for (int64_t row = 0; row < count; ++row) {
        const int64_t place = (target.layer * target.heads + head) * target.rows + begin + row;
        std::copy_n(from + (head * tokens_ + row) * source.features, source.features,
                    to + place * target.width);
      }
    }
  }
}

}  // namespace pippin::runtime
