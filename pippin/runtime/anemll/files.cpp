#include "pippin/runtime/anemll/files.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "pippin/base/error.h"
#include "pippin/families/anemll.h"

namespace pippin::runtime {
namespace {

namespace anemll = families::anemll;

constexpr int64_t kMaxChunks = 999;

// The part's name as it follows the prefix in a stem.
std::string behind_prefix(const char* part) {
  return std::string("_") + part;
}

// A chunk's number and total from its stem: "..._chunk_02of05", "..._chunk_02of05_rot".
struct ChunkName {
  std::string base;
  int64_t number = 0, total = 0;
  bool rotated = false;
};

std::optional<ChunkName> parse_chunk(const std::string& stem) {
  static const std::regex form("(.+)_chunk_(\\d{1,3})of(\\d{1,3})(_rot)?");
  std::smatch match;
  if (stem.size() > 500 || !std::regex_match(stem, match, form)) return std::nullopt;
  return ChunkName{match[1], std::stoll(match[2]), std::stoll(match[3]), match[4].matched};
}

// Strips the file endings that meta.yaml may add to a stem.
std::string strip_ending(std::string name) {
  for (const std::string_view ending : {".zip", ".mlmodelc", ".mlpackage"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

std::string strip_chunk(const std::string& stem) {
  const auto chunk = parse_chunk(stem);
  return chunk ? chunk->base : stem;
}

std::string strip_lut(const std::string& stem) {
  static const std::regex form("_lut\\d+$");
  return stem.size() > 500 ? stem : std::regex_replace(stem, form, "");
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::string get_text(const Json& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || !value->is_string()) return {};
  std::string text(value->as_string());
  return text == anemll::meta::kNone ? std::string() : text;
}

int64_t get_count(const Json& object, std::string_view key, int64_t largest) {
  const auto value = object.find(key);
  return value && value->is_number() ? value->as_int(0, largest) : 0;
}

bool get_flag(const Json& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_bool() && value->as_bool();
}

// The stems that contain `part`, without chunks.
std::vector<std::string> stems_with(const PackageFolder& folder, std::string_view part) {
  std::vector<std::string> result;
  for (const std::string& stem : folder.stems()) {
    if (contains(stem, part) && !parse_chunk(stem)) result.push_back(stem);
  }
  return result;
}

class Finder {
 public:
  Finder(const PackageFolder& folder, const AnemllMeta* meta) : folder_(folder), meta_(meta) {}

  AnemllFiles find() {
    AnemllFiles files;
    if (is_monolithic()) {
      files.chunks = {single(anemll::kMonolithicPart, meta_ ? meta_->monolithic : "")};
      files.rotated.resize(1);
      return files;
    }
    files.embeddings =
        single(behind_prefix(anemll::kEmbeddingsPart), meta_ ? meta_->embeddings : "");
    files.lm_head = single(behind_prefix(anemll::kHeadPart), meta_ ? meta_->lm_head : "");
    find_chunks(files);
    return files;
  }

 private:
  bool is_monolithic() const {
    if (meta_ != nullptr) return meta_->is_monolithic;
    return !stems_with(folder_, behind_prefix(anemll::kMonolithicPart)).empty() &&
           stems_with(folder_, behind_prefix(anemll::kHeadPart)).empty();
  }

  // The package of a part that exists once.
  std::string single(const std::string& part, const std::string& named) {
    if (!named.empty()) {
      const std::string stem = strip_ending(named);
      for (const std::string& candidate : {stem, strip_lut(stem)}) {
        if (folder_.contains(candidate)) return candidate;
      }
    }
    auto stems = stems_with(folder_, part);
    if (meta_ != nullptr && !meta_->prefix.empty()) {
      std::erase_if(stems,
                    [&](const auto& stem) { return !stem.starts_with(meta_->prefix + "_"); });
    }
    if (stems.empty()) {
      fail(ErrorCode::NotFound, "{}: the package {} is missing (.mlpackage, .mlmodelc or a .zip)",
           folder_.path().string(), named.empty() ? "*" + part + "*" : strip_ending(named));
    }
    if (stems.size() > 1) refuse_several(stems[0], stems[1]);
    return stems.front();
  }

  [[noreturn]] void refuse_several(const std::string& a, const std::string& b) const {
    fail(ErrorCode::InvalidArgument, "{}: holds several models: '{}' and '{}'",
         folder_.path().string(), folder_.file_name(a), folder_.file_name(b));
  }

  // The bases of chunk names to look for, best first.
  std::vector<std::string> chunk_bases() const {
    std::vector<std::string> bases;
    const auto add = [&](const std::string& base) {
      if (!base.empty() && std::find(bases.begin(), bases.end(), base) == bases.end()) {
        bases.push_back(base);
      }
    };
    if (meta_ != nullptr) {
      for (const std::string& name : {meta_->ffn, meta_->prefill}) {
        if (!name.empty()) add(strip_chunk(strip_ending(name)));
      }
    }
    std::set<std::string> found;
    for (const std::string& stem : folder_.stems()) {
      const auto chunk = parse_chunk(stem);
      if (!chunk) continue;
      const bool is_of_layers =
          contains(chunk->base, anemll::kChunksPart) || contains(chunk->base, "combined");
      if (!is_of_layers) continue;
      if (meta_ != nullptr && !meta_->prefix.empty() && !chunk->base.starts_with(meta_->prefix)) {
        continue;
      }
      found.insert(chunk->base);
    }
    const bool named = std::any_of(bases.begin(), bases.end(), [&](const std::string& base) {
      return found.contains(base) || folder_.contains(base);
    });
    if (!named && found.size() > 1) refuse_several(*found.begin(), *std::next(found.begin()));
    for (const std::string& base : found) add(base);
    return bases;
  }

  void find_chunks(AnemllFiles& files) const {
    for (const std::string& base : chunk_bases()) {
      if (find_chunks_of(base, files)) return;
    }
    fail(ErrorCode::NotFound, "{}: the package *_FFN_PF*_chunk_01of{} is missing",
         folder_.path().string(),
         meta_ != nullptr && meta_->num_chunks > 0 ? fmt::format("{:02}", meta_->num_chunks) : "*");
  }

  bool find_chunks_of(const std::string& base, AnemllFiles& files) const {
    std::map<int64_t, std::string> chunks, rotated;
    int64_t total = 0;
    std::string said_total;
    for (const std::string& stem : folder_.stems()) {
      const auto chunk = parse_chunk(stem);
      if (!chunk || chunk->base != base) continue;
      if (total != 0 && chunk->total != total) {
        fail(ErrorCode::InvalidFile, "{}: '{}' and '{}' are of different conversions",
             folder_.path().string(), said_total, folder_.file_name(stem));
      }
      total = chunk->total;
      said_total = folder_.file_name(stem);
      (chunk->rotated ? rotated : chunks)[chunk->number] = stem;
    }
    if (total == 0) {
      // A single chunk may lack the suffix.
      const bool alone = folder_.contains(base) && (meta_ == nullptr || meta_->num_chunks <= 1);
      if (!alone) return false;
      files.chunks = {base};
      files.rotated.resize(1);
      return true;
    }
    if (meta_ != nullptr && meta_->num_chunks > 0 && meta_->num_chunks != total) {
      fail(ErrorCode::InvalidFile, "{}: meta.yaml says {} chunks, '{}' is of {}",
           folder_.path().string(), meta_->num_chunks, said_total, total);
    }
    for (int64_t number = 1; number <= total; ++number) {
      if (!chunks.contains(number)) {
        fail(ErrorCode::NotFound,
             "{}: chunk {} of {} is missing: {} (.mlpackage, .mlmodelc or a .zip)",
             folder_.path().string(), number, total, anemll::chunk_stem(base, number, total));
      }
      files.chunks.push_back(chunks[number]);
      files.rotated.push_back(rotated.contains(number) ? rotated[number] : "");
    }
    return true;
  }

  const PackageFolder& folder_;
  const AnemllMeta* meta_;
};

}  // namespace

bool is_anemll_meta(const Json& yaml) {
  return yaml.is_object() && yaml.find(anemll::meta::kInfo).has_value();
}

AnemllMeta read_anemll_meta(const Json& yaml) {
  const Json info = yaml.at(anemll::meta::kInfo);
  AnemllMeta meta;
  meta.is_monolithic = get_text(info, anemll::meta::kModelType) == anemll::kMonolithicPart;
  const auto found = info.find(anemll::meta::kParameters);
  if (!found) return meta;
  const Json& parameters = *found;
  constexpr int64_t kLargest = 1 << 30;
  meta.context_length = get_count(parameters, anemll::meta::kContext, kLargest);
  meta.num_chunks = get_count(parameters, anemll::meta::kNumChunks, kMaxChunks);
  meta.prefix = get_text(parameters, anemll::meta::kPrefix);
  meta.embeddings = get_text(parameters, anemll::meta::kEmbeddings);
  meta.lm_head = get_text(parameters, anemll::meta::kHead);
  meta.ffn = get_text(parameters, anemll::meta::kChunks);
  meta.prefill = get_text(parameters, anemll::meta::kPrefillChunks);
  meta.monolithic = get_text(parameters, anemll::meta::kMonolithicModel);
  meta.sliding_window = get_count(parameters, anemll::meta::kSlidingWindow, kLargest);
  meta.argmax_in_model = get_flag(parameters, anemll::meta::kArgmax);
  meta.vocab_size = get_count(parameters, anemll::meta::kVocabulary, kLargest);
  meta.prefill_is_safe = get_flag(parameters, anemll::meta::kUpdateMaskPrefill) ||
                         get_flag(parameters, anemll::meta::kDynamicSlicePrefill);
  meta.tokenizer_path = get_text(parameters, anemll::meta::kTokenizer);
  if (const auto sizes = parameters.find(anemll::meta::kHeadSizes); sizes && sizes->is_array()) {
    for (const Json& size : sizes->elements()) meta.head_sizes.push_back(size.as_int(1, kLargest));
  }
  if (const auto sampling = parameters.find(anemll::meta::kSampling);
      sampling && sampling->is_object()) {
    SamplingOptions options;
    if (sampling->get_bool_or("do_sample", true)) {
      options.temperature = sampling->get_float_or("temperature", 1);
      options.top_k = sampling->get_int_or("top_k", 0);
      options.top_p = sampling->get_float_or("top_p", 1);
    }
    options.check();
    meta.sampling = options;
  }
  return meta;
}

bool looks_like_anemll(const PackageFolder& folder) {
  const auto stems = folder.stems();
  return std::any_of(stems.begin(), stems.end(), [](const std::string& stem) {
    const auto chunk = parse_chunk(stem);
    return chunk.has_value() || stem.ends_with(behind_prefix(anemll::kEmbeddingsPart)) ||
           contains(stem, behind_prefix(anemll::kEmbeddingsPart) + anemll::kLutSuffix) ||
           contains(stem, behind_prefix(anemll::kHeadPart)) || contains(stem, "_monolithic_full");
  });
}

AnemllFiles find_anemll_files(const PackageFolder& folder, const AnemllMeta* meta) {
  return Finder(folder, meta).find();
}

}  // namespace pippin::runtime
