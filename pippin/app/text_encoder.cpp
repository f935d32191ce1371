#include "pippin/app/text_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/image_encoder.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/open_text.h"
#include "pippin/app/unit_vector.h"
#include "pippin/base/error.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/encoders/sentence_transformer.h"
#include "pippin/models/model_source.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
namespace family = families::encoder;

mil::Model read_encoder(const fs::path& path) {
  if (mil::is_package(path)) return mil::read_package(path);
  return models::build_encoder(path, {.compute = models::BuildOptions::Compute::Float32Direct});
}

// Without white space at the ends, as sentence-transformers does.
std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The token that fills a text up to the model's length: that of padding.
int32_t filling_token(const fs::path& folder, const Tokenizer& tokenizer) {
  const fs::path file = folder / "tokenizer_config.json";
  std::string token = "<pad>";
  if (fs::exists(file)) {
    const auto given = Json::load(file).find("pad_token");
    if (given && given->is_object()) token = given->get_string("content");
    if (given && given->is_string()) token = given->as_string();
  }
  if (const auto id = tokenizer.token_to_id(token)) return *id;
  fail(
      ErrorCode::InvalidFile,
      "{}: the tokenizer has no token '{}' (pad_token), which fills texts up to the model's length",
      file.string(), token);
}

// The tokenizer's token for unknown text; nullopt if none exists.
std::optional<int32_t> unknown_token(const fs::path& folder, const Tokenizer& tokenizer) {
  const fs::path file = folder / "tokenizer.json";
  if (!fs::exists(file)) return std::nullopt;
  const Json model = Json::load(file).at("model");
  if (const auto id = model.find_int("unk_id")) return static_cast<int32_t>(*id);
  const auto token = model.find_string("unk_token");
  return token ? tokenizer.token_to_id(*token) : std::nullopt;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  for (size_t i = 0; i < a.size(); ++i) product += double{a[i]} * b[i];
  const double norms = length_of(a) * length_of(b);
  return norms > 0 ? product / norms : 0;
}

}  // namespace

bool is_text_encoder(const fs::path& model) {
  if (mil::is_package(model)) {
    return runtime::EncoderModel::takes(mil::read_package(model));
  }
  if (!fs::is_directory(model)) return false;
  if (!fs::exists(model / "config.json") && !models::is_sentence_transformer(model)) return false;
  const models::TextTask task = models::text_task(model);
  return task == models::TextTask::Embed || task == models::TextTask::Score;
}

TextEncoder::TextEncoder(std::shared_ptr<runtime::EncoderModel> model, Tokenizer tokenizer,
                         const fs::path& text)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      lower_case_(models::lowers_case(text)) {
  models::Prompts prompts = models::read_prompts(text);
  prompts_ = std::move(prompts.by_name);
  default_prompt_ = std::move(prompts.default_name);
  const auto& metadata = model_->program().metadata.user_defined;
  const auto value = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  name_ = value(families::kMadeFromKey);
  if (name_.empty()) name_ = "the model";
  const std::string tokens = value(family::kTokensKey);
  plain_tokens_ = tokens == family::kPlain || tokens == family::kKnown;
  if (tokens == family::kKnown) left_out_ = unknown_token(text, tokenizer_);
  if (value(family::kCaseKey) == family::kLower) lower_case_ = true;
  if (value(family::kPaddingKey) == family::kFilled) filler_ = filling_token(text, tokenizer_);
  is_language_model_ = value(family::kStatesOfKey) == family::kLanguageModel;
  if (scores()) pair_prompt_ = PairPrompt::from_folder(text);
  const std::string kind = value(family::kEmbeddingKey);
  if (kind == family::kSparse) kind_ = VectorKind::Sparse;
  if (model_->of_tokens()) {
    kind_ = VectorKind::Tokens;
    const std::string late = value(family::kLateKey);
    late_.emplace(
        late.empty() ? models::LateInteraction{} : models::LateInteraction::from_json(late),
        tokenizer_);
  }
  if (kind_ != VectorKind::Dense) similarity_ = models::read_similarity(text);
  active_ = std::strtoll(value(family::kActiveKey).c_str(), nullptr, 10);
}

TextEncoder TextEncoder::open(const ModelChoice& given) {
  ModelChoice of_texts = given;
  of_texts.load.mmproj = runtime::kNoProjector;
  const ModelChoice choice = resolve_choice(of_texts);
  const fs::path path = choice.path;
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: there is no such model", path.string());
  if (ImageEncoder::is_in(path) && !is_text_encoder(path)) {
    fail(ErrorCode::Unsupported, "{}: this model takes images, not texts", path.string());
  }
  auto program = std::make_shared<const mil::Model>(read_encoder(path));
  if (!runtime::EncoderModel::takes(*program)) {
    fail(ErrorCode::Unsupported,
         "{}: this package neither embeds nor scores texts; pippin convert --family encoder makes "
         "one that does",
         path.string());
  }
  auto pool = std::make_shared<ThreadPool>(choice.load.threads, choice.load.pinning);
  const bool is_folder = !mil::is_package(path);
  const fs::path own = is_folder ? models::encoder_text_folder(path) : path;
  const fs::path tokenizer = choice.tokenizer.empty() ? own : fs::path(choice.tokenizer);
  return TextEncoder(std::make_shared<runtime::EncoderModel>(program, pool, choice.load),
                     open_tokenizer(tokenizer), models::text_folder(path));
}

std::vector<std::string> TextEncoder::prompt_names() const {
  std::vector<std::string> names;
  names.reserve(prompts_.size());
  for (const auto& [name, text] : prompts_) names.push_back(name);
  return names;
}

std::string TextEncoder::prompt_of(const EmbedOptions& options) const {
  if (options.prompt) return *options.prompt;
  const auto name = options.prompt_name ? options.prompt_name : default_prompt_;
  if (!name || name->empty()) return "";
  const auto found = prompts_.find(*name);
  if (found != prompts_.end()) return found->second;
  fail(ErrorCode::InvalidArgument, "unknown prompt \"{}\" ({})", *name,
       prompts_.empty() ? "the model has none"
                        : fmt::format("the model has {}", fmt::join(prompt_names(), ", ")));
}

Tokenizer::Texts TextEncoder::encode(std::string_view text, size_t most) const {
  if (!plain_tokens_) return tokenizer_.encode_texts(text, std::nullopt, most);
  Tokenizer::Texts result;
  result.ids = tokenizer_.encode(text, false);
  if (left_out_) std::erase(result.ids, *left_out_);
  if (result.ids.size() > most) {
    result.cut = result.ids.size() - most;
    result.ids.resize(most);
  }
  return result;
}

std::string TextEncoder::cleaned(const std::string& text) const {
  return std::string(stripped(lower_case_ ? tokenizers::lowercase(text) : text));
}

runtime::EncoderText TextEncoder::prepare(const std::string& text, const std::string& prompt,
                                          const EmbedOptions& options, size_t number,
                                          Embedded& result) const {
  const auto most = static_cast<size_t>(model_->max_tokens());
  Tokenizer::Texts encoded = encode(cleaned(prompt + text), most);
  if (encoded.cut > 0 && options.refuse_long) {
    fail(ErrorCode::InvalidArgument, "text {} has {} tokens, the model takes {}", number,
         encoded.ids.size() + encoded.cut, most);
  }
  if (encoded.ids.empty()) {
    fail(ErrorCode::InvalidArgument, "text {} is empty: it has no tokens", number);
  }
  result.cut_texts += encoded.cut > 0 ? 1 : 0;
  result.tokens += std::ssize(encoded.ids);
  runtime::EncoderText prepared{std::move(encoded.ids), std::move(encoded.types), 0, 0};
  if (model_->skips_prompts() && !prompt.empty()) {
    const auto alone = tokenizer_.encode_texts(stripped(prompt), std::nullopt, most).ids;
    // A special token at the end follows the text, not the prompt.
    const bool ends = !alone.empty() && tokenizer_.is_special(alone.back());
    prepared.unpooled = alone.size() - (ends ? 1 : 0);
  }
  fill_up(prepared);
  return prepared;
}

void TextEncoder::fill_up(runtime::EncoderText& text) const {
  const auto length = static_cast<size_t>(model_->max_tokens());
  if (!filler_ || text.ids.size() >= length) return;
  text.ids.resize(length, *filler_);
  if (!text.types.empty()) text.types.resize(length, 0);
}

Embedded TextEncoder::embed(std::span<const std::string> texts, const EmbedOptions& options) const {
  check_kind(VectorKind::Dense);
  Embedded result;
  const std::vector<runtime::EncoderText> prepared = prepare_all(texts, options, result);
  result.vectors = model_->run(prepared);
  shorten_all(result.vectors, options.dimensions);
  return result;
}

Embedded TextEncoder::embed_ids(std::span<const std::vector<int32_t>> texts,
                                const EmbedOptions& options) const {
  check_kind(VectorKind::Dense);
  if (texts.empty()) fail(ErrorCode::InvalidArgument, "no text to embed");
  Embedded result;
  std::vector<runtime::EncoderText> prepared;
  prepared.reserve(texts.size());
  for (const std::vector<int32_t>& ids : texts) {
    fill_up(prepared.emplace_back(runtime::EncoderText{ids, {}, 0, 0}));
    result.tokens += std::ssize(ids);
  }
  result.vectors = model_->run(prepared);
  shorten_all(result.vectors, options.dimensions);
  return result;
}

Scored TextEncoder::score_by_cosine(const std::string& query,
                                    std::span<const std::string> documents,
                                    bool refuse_long) const {
  if (is_language_model_) {
    fail(ErrorCode::Unsupported,
         "{} is a language model, and its folder has no modules.json that says how it scores or "
         "embeds texts: the cosine of its states says nothing",
         name_);
  }
  const Embedded of_query = embed(std::span(&query, 1), options_for(true, refuse_long));
  const Embedded of_documents = embed(documents, options_for(false, refuse_long));
  Scored result{
      {}, of_query.tokens + of_documents.tokens, of_query.cut_texts + of_documents.cut_texts};
  for (const auto& vector : of_documents.vectors) {
    result.scores.push_back(cosine(of_query.vectors.front(), vector));
  }
  return result;
}

Scored TextEncoder::score(const std::string& query, std::span<const std::string> documents,
                          bool refuse_long) const {
  if (documents.empty()) fail(ErrorCode::InvalidArgument, "no document to score");
  if (!scores() && kind_ == VectorKind::Dense) {
    return score_by_cosine(query, documents, refuse_long);
  }
  if (!scores()) return score_by_vectors(query, documents, refuse_long);
  Scored result;
  std::vector<runtime::EncoderText> prepared;
  const auto most = static_cast<size_t>(max_tokens());
  const std::string prompt = prompt_of({});
  for (size_t i = 0; i < documents.size(); ++i) {
    Tokenizer::Texts pair =
        pair_prompt_
            ? pair_prompt_->encode(tokenizer_, prompt, query, documents[i], most)
            : tokenizer_.encode_texts(cleaned(prompt + query), cleaned(documents[i]), most);
    if (pair.cut > 0 && refuse_long) {
      fail(ErrorCode::InvalidArgument,
           "document {} and the query have {} tokens, the model takes {}", i,
           pair.ids.size() + pair.cut, most);
    }
    result.tokens += std::ssize(pair.ids);
    result.cut_texts += pair.cut > 0 ? 1 : 0;
    prepared.push_back({std::move(pair.ids), std::move(pair.types), 0, 0});
  }
  for (const std::vector<float>& row : model_->run(prepared)) {
    if (row.size() != 1) {
      fail(ErrorCode::Unsupported, "{} has {} labels: a score is that of one", name_, row.size());
    }
    const double logit = row.front();
    result.scores.push_back(model_->is_sigmoid() ? 1 / (1 + std::exp(-logit)) : logit);
  }
  return result;
}

}  // namespace pippin::app
