#include "pippin/compress/compress.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/compress/expand.h"
#include "pippin/compress/rewrite.h"
#include "pippin/compress/weights.h"

namespace pippin::compress {
namespace {

using mil::DataType;
using mil::Opset;
using mil::Value;

// A constant stored inline in the program.
class OwnBytes : public mil::TensorSource {
 public:
  explicit OwnBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  ByteSpan view() const override { return bytes_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }

 private:
  std::vector<std::byte> bytes_;
};

Scheme with_defaults(Scheme scheme) {
  if (scheme.kind == Scheme::Kind::Linear && scheme.per == Scheme::Per::Default) {
    const bool wide = mil::bit_width(scheme.data) == 8;
    scheme.per = wide ? Scheme::Per::Channel : Scheme::Per::Block;
  }
  return scheme;
}

// The smallest opset that supports the form of a scheme.
Opset needed_opset(const Scheme& scheme) {
  bool old_form = !scheme.prunes() || scheme.kind == Scheme::Kind::None;
  if (scheme.kind == Scheme::Kind::Linear) {
    old_form = old_form && mil::bit_width(scheme.data) == 8 && scheme.per != Scheme::Per::Block;
  } else if (scheme.kind == Scheme::Kind::Palette) {
    old_form = old_form && scheme.bits != 3 && scheme.group == 0 && scheme.cluster_dim == 1 &&
               !scheme.int8_lut && !scheme.channel_scale;
  }
  return old_form ? Opset::CoreML6 : Opset::CoreML8;
}

void check_opset(const Scheme& scheme, Opset opset) {
  const Opset needed = needed_opset(scheme);
  if (opset >= needed) return;
  fail(ErrorCode::Unsupported, "{} needs opset {}, the model is of {}", to_string(scheme),
       mil::to_string(needed), mil::to_string(opset));
}

// Sets the encoding of a weight, or returns the reason why the request is impossible.
std::optional<std::string> resolve(const Scheme& scheme, const Weight& weight, Encoding& encoding) {
  const mil::ValueType& type = weight.constant->output()->type;
  const Dims& dims = type.dims;
  encoding.blocks.assign(dims.size(), 1);
  encoding.channel_axis = weight.channel_axis;
  encoding.input_axis = weight.input_axis;
  // Compresses each of several matrices (of experts) separately.
  for (const size_t axis : weight.batch_axes) encoding.blocks[axis] = dims[axis];
  const auto cut = [&](size_t axis, int64_t size) -> std::optional<std::string> {
    if (dims[axis] % size != 0) {
      return fmt::format("axis {} of {} is not a multiple of {}", axis, mil::to_string(type), size);
    }
    encoding.blocks[axis] = dims[axis] / size;
    return std::nullopt;
  };
  std::optional<std::string> reason;
  if (scheme.kind == Scheme::Kind::Linear) {
    encoding.form = Encoding::Form::Linear;
    encoding.linear = {scheme.data, scheme.symmetric, type.data_type};
    const bool blocks = scheme.per == Scheme::Per::Block;
    if (scheme.per != Scheme::Per::Tensor) {
      reason = cut(weight.channel_axis, blocks ? scheme.block_channels : 1);
    }
    if (!reason && blocks) reason = cut(weight.input_axis, scheme.block);
  } else if (scheme.kind == Scheme::Kind::Palette) {
    encoding.form = Encoding::Form::Palette;
    encoding.bits = scheme.bits;
    encoding.cluster = scheme.cluster_dim;
    encoding.int8_lut = scheme.int8_lut;
    encoding.channel_scale = scheme.channel_scale;
    if (scheme.group > 0) {
      reason = cut(weight.channel_axis, scheme.group);
    } else if (dims[weight.channel_axis] % scheme.cluster_dim != 0) {
      reason = fmt::format("axis {} of {} is not a multiple of {}", weight.channel_axis,
                           mil::to_string(type), scheme.cluster_dim);
    }
  } else {
    encoding.form = Encoding::Form::Plain;
    encoding.blocks[0] = dims[0];  // so that threads can share the work
  }
  if (scheme.prune > 0) {
    const int64_t count = type.num_elements();
    encoding.kept = std::clamp<int64_t>(
        count - std::llround(scheme.prune * static_cast<double>(count)), 1, count);
  }
  if (scheme.ratio_m > 0) {
    const int64_t n = scheme.ratio_n, m = scheme.ratio_m, size = dims[weight.input_axis];
    if (!reason && size < m) {
      reason = fmt::format("axis {} of {} has no {} elements", weight.input_axis,
                           mil::to_string(type), m);
    }
    encoding.ratio_n = n;
    encoding.ratio_m = m;
    const int64_t gone = size / m * n + (size % m == 0 ? 0 : pruned_of_group(n, m, size % m));
    encoding.kept = type.num_elements() / std::max<int64_t>(size, 1) * (size - gone);
  }
  return reason;
}

class Compressor {
 public:
  Compressor(const Recipe& recipe, int num_threads, std::shared_ptr<InputStatistics> statistics)
      : recipe_(recipe),
        workers_(std::make_shared<Workers>(num_threads)),
        statistics_(std::move(statistics)) {}

  void visit(const PartialModel& partial) {
    part_ = partial.part;
    visit(*partial.model);
  }

  void visit(mil::Model& model) {
    for (mil::PipelineStage& stage : model.stages) visit(stage.model);
    if (model.is_translated()) return;
    for (const auto& [name, function] : model.program.functions) {
      for (const auto& [opset, block] : function->specializations) {
        const auto version = mil::parse_opset(opset);
        if (!version) fail(ErrorCode::Unsupported, "function '{}': opset {}", name, opset);
        with_context(fmt::format("function '{}'", name),
                     [&, &to = block] { visit(*to, *version); });
      }
    }
  }

  Result finish() {
    const auto check = [&](const std::string& pattern) {
      if (matched_.count(pattern) == 0) {
        fail(ErrorCode::InvalidArgument, "the pattern '{}' matches no weight", pattern);
      }
    };
    for (const auto& [pattern, scheme] : recipe_.tensors) check(pattern);
    for (const std::string& pattern : recipe_.only) check(pattern);
    for (const std::string& pattern : recipe_.except) check(pattern);
    if (result_.compressed.empty()) {
      if (!result_.kept.empty()) {
        fail(ErrorCode::InvalidArgument, "no weight can be compressed so: {}: {}",
             result_.kept[0].name, result_.kept[0].reason);
      }
      fail(ErrorCode::InvalidArgument,
           "nothing to compress: no fp16 or fp32 weight of {} elements or more that the recipe "
           "names",
           recipe_.min_elements);
    }
    warn_of_scaled_palettes();
    return std::move(result_);
  }

 private:
  // `pippin doctor` reports the same about a package (palette-scale).
  void warn_of_scaled_palettes() const {
    const auto count = std::count_if(
        result_.compressed.begin(), result_.compressed.end(),
        [](const auto& one) { return one.scheme.channel_scale && !one.scheme.int8_lut; });
    if (count == 0) return;
    log_warn(
        "{} palettes have a scale per channel: systems were seen to end the process that "
        "loads such weights (apple/coremltools#2688, #2716); palettes of int8 are read",
        count);
  }

  void visit(mil::Block& block, Opset opset) {
    std::unordered_map<const mil::Operation*, Replacement> replacements;
    std::optional<Expansion> expansion;
    if (recipe_.recompress) {
      expansion.emplace(block, opset);
    } else {
      for (const std::string& name : compressed_names(block)) keep_compressed(name);
    }
    for (const Weight& weight : find_weights(block)) {
      if (weight.constant->output()->type.num_elements() < recipe_.min_elements) continue;
      const std::string& name = weight.constant->output()->name;
      const Scheme scheme = with_defaults(scheme_of(weight));
      if (scheme.is_none()) continue;
      check_opset(scheme, opset);
      Encoding encoding;
      const auto reason = resolve(scheme, weight, encoding);
      const auto job = job_of(weight, scheme, encoding, reason);
      if (job == nullptr) continue;
      replacements.emplace(weight.constant,
                           Replacement{job, encoding, weight.channel_axis, opset, name});
    }
    if (expansion) {
      std::vector<const mil::Operation*> anew;
      for (const auto& [constant, replacement] : replacements) {
        if (expansion->is_expanded(constant)) anew.push_back(constant);
      }
      expansion->finish(anew);
    }
    rewrite(block, replacements);
  }

  // Functions that share weights use the same names.
  void keep_compressed(const std::string& name) {
    if (!compressed_before_.insert(name).second) return;
    result_.kept.push_back({name, 0, "it is compressed already; --recompress starts from that"});
  }

  bool any_matches(const std::vector<std::string>& patterns, std::string_view name) {
    bool result = false;
    for (const std::string& pattern : patterns) {
      if (!matches(pattern, name)) continue;
      matched_.insert(pattern);
      result = true;
    }
    return result;
  }

  Scheme scheme_of(const Weight& weight) {
    const std::string& name = weight.constant->output()->name;
    Scheme scheme = part_scheme(weight);
    for (const auto& [pattern, own] : recipe_.tensors) {
      if (!matches(pattern, name)) continue;
      matched_.insert(pattern);
      scheme = own;
    }
    const bool excepted = any_matches(recipe_.except, name) || any_matches(recipe_.exempt, name);
    const bool chosen = any_matches(recipe_.only, name) || recipe_.only.empty();
    return chosen && !excepted ? scheme : Scheme();
  }

  Scheme part_scheme(const Weight& weight) const {
    const Scheme table = recipe_.embeddings.value_or(recipe_.scheme);
    const Scheme head = recipe_.head.value_or(recipe_.scheme);
    const Scheme layers = recipe_.ffn.value_or(recipe_.scheme);
    if (part_ == ModelPart::Embeddings) return table;
    if (part_ == ModelPart::Head) return head;
    if (part_ == ModelPart::Layers) return layers;
    if (weight.is_table && weight.is_head && !(table == head)) {
      fail(ErrorCode::InvalidArgument,
           "{} is the embedding and the head: they need the same compression",
           weight.constant->output()->name);
    }
    if (weight.is_table) return table;
    return weight.is_head ? head : layers;
  }

  // The job of a weight, shared by equal encodings of the same bytes; null if the weight is kept.
  std::shared_ptr<Job> job_of(const Weight& weight, const Scheme& scheme, const Encoding& encoding,
                              const std::optional<std::string>& reason) {
    const Value& value = *weight.constant->constant_value();
    const mil::ValueType& type = value.type;
    const std::string& name = weight.constant->output()->name;
    const uint64_t before = mil::packed_size(type.data_type, type.num_elements());
    const void* owner = value.source != nullptr ? static_cast<const void*>(value.source.get())
                                                : static_cast<const void*>(&value);
    if (reason) {
      if (kept_.insert(owner).second) result_.kept.push_back({name, before, *reason});
      return nullptr;
    }
    for (const auto& [same, job] : jobs_[owner]) {
      if (same.first == encoding && same.second == type.dims) return job;
    }
    auto source = value.source;
    if (source == nullptr) source = std::make_shared<OwnBytes>(value.read_bytes());
    auto job = std::make_shared<Job>(name, source, type.data_type, type.dims, encoding, workers_,
                                     statistics_, recipe_.rounds);
    jobs_[owner].push_back({{encoding, type.dims}, job});
    const uint64_t after = stored_bytes(*job, encoding);
    result_.compressed.push_back({name, scheme, type.num_elements(), type.dims[weight.channel_axis],
                                  type.dims[weight.input_axis], before, after, job});
    return job;
  }

  static uint64_t stored_bytes(const Job& job, const Encoding& encoding) {
    uint64_t result = 0;
    for (const Part part : parts_of(encoding)) result += job.part_size(part);
    return result;
  }

  using Key = std::pair<Encoding, Dims>;

  const Recipe& recipe_;
  ModelPart part_ = ModelPart::Whole;
  std::shared_ptr<Workers> workers_;
  std::shared_ptr<InputStatistics> statistics_;
  Result result_;
  std::map<const void*, std::vector<std::pair<Key, std::shared_ptr<Job>>>> jobs_;
  std::set<const void*> kept_;
  std::set<std::string> compressed_before_;
  std::set<std::string> matched_;
};

}  // namespace

mil::Opset needed_opset(const Recipe& recipe) {
  std::vector<Scheme> schemes = {recipe.scheme};
  for (const auto& part : {recipe.embeddings, recipe.head, recipe.ffn}) {
    if (part) schemes.push_back(*part);
  }
  for (const auto& [pattern, scheme] : recipe.tensors) schemes.push_back(scheme);
  Opset needed = Opset::CoreML6;
  for (const Scheme& scheme : schemes) {
    if (!scheme.is_none()) needed = std::max(needed, needed_opset(with_defaults(scheme)));
  }
  return needed;
}

Result compress(mil::Model& model, const Recipe& recipe, int num_threads,
                std::shared_ptr<InputStatistics> statistics) {
  Compressor compressor(recipe, num_threads, std::move(statistics));
  compressor.visit(PartialModel{&model});
  return compressor.finish();
}

Result compress(std::span<const PartialModel> models, const Recipe& recipe, int num_threads) {
  Compressor compressor(recipe, num_threads, nullptr);
  for (const PartialModel& partial : models) compressor.visit(partial);
  return compressor.finish();
}

}  // namespace pippin::compress
