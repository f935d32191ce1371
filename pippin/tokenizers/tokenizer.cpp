#include "pippin/tokenizers/tokenizer.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/added_vocabulary.h"
#include "pippin/tokenizers/decoders.h"
#include "pippin/tokenizers/files/sentencepiece_file.h"
#include "pippin/tokenizers/files/tokenizer_files.h"
#include "pippin/tokenizers/fitting.h"
#include "pippin/tokenizers/models.h"
#include "pippin/tokenizers/normalizers.h"
#include "pippin/tokenizers/post_processors.h"
#include "pippin/tokenizers/pre_tokenizers.h"
#include "pippin/tokenizers/tables/json_file.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin {

using namespace tokenizers;  // NOLINT(google-build-using-namespace): this file is its front door

struct tokenizers::Pipeline {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<AddedVocabulary> added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  // Returns the token's text for decoders; nothing if the id is unknown or skipped.
  std::optional<std::string_view> decode_text(int32_t id, bool skip_special_tokens) const;
};

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 28;
constexpr size_t kMaxTextBytes = size_t{1} << 30;
constexpr size_t kCheck = 256;  // pieces or ids between two polls

std::shared_ptr<const Pipeline> make_pipeline(JsonFile file, std::string_view name) {
  const Json& root = *file.root;
  if (const auto version = root.find_string("version"); version && *version != "1.0") {
    fail(ErrorCode::Unsupported, "{}: version {} of the format is not supported", name, *version);
  }
  for (const char* stages : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    if (root.has(stages)) check_stages(root.at(stages));
  }
  auto pipeline = std::make_shared<Pipeline>();
  if (file.normalizer) {
    pipeline->normalizer = make_sentencepiece_normalizer(*file.normalizer, name);
  } else if (root.has("normalizer")) {
    pipeline->normalizer = make_normalizer(root.at("normalizer"));
  }
  if (root.has("pre_tokenizer")) {
    pipeline->pre_tokenizer = make_pre_tokenizer(root.at("pre_tokenizer"));
  }
  if (root.has("post_processor")) {
    pipeline->post_processor = make_post_processor(root.at("post_processor"));
  }
  if (root.has("decoder")) pipeline->decoder = make_decoder(root.at("decoder"));
  if (root.has("truncation")) pipeline->truncation.emplace(root.at("truncation"));
  if (root.has("padding")) pipeline->padding.emplace(root.at("padding"));
  if (!root.contains("model")) root.invalid("the key 'model' is missing");
  pipeline->model = make_model(root.at("model"), file);
  pipeline->added = std::make_unique<AddedVocabulary>(root.find("added_tokens"), *pipeline->model,
                                                      pipeline->normalizer.get());
  return pipeline;
}

std::string valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string repaired;
  append_utf8_lossy(repaired, text, true);
  return repaired;
}

}  // namespace

std::optional<std::string_view> tokenizers::Pipeline::decode_text(int32_t id,
                                                                  bool skip_special_tokens) const {
  std::optional<std::string_view> text;
  if (const AddedToken* token = added->find(id)) {
    text = token->normalized ? token->normalized_content : token->content;
  } else {
    text = model->id_to_token(id);
  }
  if (text && skip_special_tokens && added->is_special_text(*text)) return std::nullopt;
  return text;
}

Tokenizer::Tokenizer(std::shared_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

Tokenizer Tokenizer::from_file(const std::filesystem::path& tokenizer_json) {
  return from_json(read_file(tokenizer_json, kMaxFileBytes), tokenizer_json.string());
}

Tokenizer Tokenizer::from_json(std::string_view json, std::string_view name) {
  return Tokenizer(make_pipeline(read_json_file(json, name), name));
}

Tokenizer Tokenizer::open(const std::filesystem::path& path) {
  const auto file = find_tokenizer_file(path);
  if (!file) {
    fail(ErrorCode::NotFound, "{}: no tokenizer here ({})", path.string(), tokenizer_file_names());
  }
  return Tokenizer(make_pipeline(read_tokenizer_file(*file), file->string()));
}

bool Tokenizer::is_tokenizer_folder(const std::filesystem::path& folder) {
  return std::filesystem::is_directory(folder) && find_tokenizer_file(folder).has_value();
}

std::vector<int32_t> Tokenizer::text_ids(std::string_view text) const {
  if (text.size() > kMaxTextBytes) {
    fail(ErrorCode::LimitExceeded, "a text of {} bytes, at most {} are tokenized", text.size(),
         kMaxTextBytes);
  }
  const Pipeline& p = *pipeline_;
  Pieces pieces = p.added->extract(valid_utf8(text), p.normalizer.get());
  if (p.pre_tokenizer) p.pre_tokenizer->split(pieces);
  const auto memory = p.model->new_memory();
  std::vector<int32_t> ids;
  size_t count = 0;
  for (const auto& piece : pieces) {
    if (++count % kCheck == 0) check_cancel();
    if (piece.token >= 0) {
      ids.push_back(piece.token);
    } else if (!piece.text.empty()) {
      p.model->tokenize(piece.text, *memory, ids);
    }
  }
  return ids;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  std::vector<int32_t> ids = text_ids(text);
  const auto& processor = pipeline_->post_processor;
  return processor ? processor->process(std::move(ids), add_special_tokens) : ids;
}

std::vector<int32_t> Tokenizer::encode_fitted(std::string_view text,
                                              bool add_special_tokens) const {
  const Pipeline& p = *pipeline_;
  std::vector<int32_t> ids = text_ids(text);
  if (p.truncation) {
    p.truncation->apply(
        ids, add_special_tokens && p.post_processor ? p.post_processor->added_tokens() : 0);
  }
  if (p.post_processor) ids = p.post_processor->process(std::move(ids), add_special_tokens);
  if (p.padding) p.padding->apply(ids);
  return ids;
}

Tokenizer::Texts Tokenizer::encode_texts(std::string_view text,
                                         std::optional<std::string_view> second,
                                         size_t most) const {
  const PostProcessor* processor = pipeline_->post_processor.get();
  PairIds first{text_ids(text), {}}, other;
  if (second) other.ids = text_ids(*second);
  size_t added = 0;
  if (processor != nullptr) added = second ? processor->added_to_pair() : processor->added_tokens();
  if (most < added || (most == added && !first.ids.empty())) {
    fail(ErrorCode::InvalidArgument, "{} ids have no room for {} special tokens and a text", most,
         added);
  }
  Texts result;
  result.cut = cut_longest(first.ids, other.ids, most - added);
  if (!second) {
    result.ids = processor != nullptr ? processor->process(std::move(first.ids), true)
                                      : std::move(first.ids);
    result.types.assign(result.ids.size(), 0);
    return result;
  }
  first.types.assign(first.ids.size(), 0);
  other.types.assign(other.ids.size(), 1);
  PairIds pair;
  if (processor != nullptr) {
    pair = processor->process_pair(std::move(first), std::move(other));
  } else {
    pair = std::move(first);
    pair.ids.insert(pair.ids.end(), other.ids.begin(), other.ids.end());
    pair.types.insert(pair.types.end(), other.types.begin(), other.types.end());
  }
  result.ids = std::move(pair.ids);
  result.types = std::move(pair.types);
  return result;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  DecodeChain chain(pipeline_->decoder.get());
  size_t count = 0;
  for (const int32_t id : ids) {
    if (++count % kCheck == 0) check_cancel();
    if (const auto text = pipeline_->decode_text(id, skip_special_tokens)) chain.token(*text);
  }
  chain.finish();
  return chain.take();
}

std::string Tokenizer::token_bytes(int32_t id) const {
  const auto text = pipeline_->decode_text(id, /*skip_special_tokens=*/false);
  if (!text) return {};
  constexpr std::string_view kBefore = "a";  // the first token may decode differently
  DecodeChain chain(pipeline_->decoder.get(), /*keeps_bytes=*/true);
  chain.token(kBefore);
  chain.token(*text);
  chain.finish();
  std::string bytes = chain.take();
  if (bytes.starts_with(kBefore)) bytes.erase(0, kBefore.size());
  return bytes;
}

int64_t Tokenizer::vocab_size() const {
  return int64_t{std::max(pipeline_->model->max_id(), pipeline_->added->max_id())} + 1;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto added = pipeline_->added->token_to_id(token);
  return added ? added : pipeline_->model->token_to_id(token);
}

std::optional<std::string> Tokenizer::id_to_token(int32_t id) const {
  if (const AddedToken* token = pipeline_->added->find(id)) return token->content;
  const auto token = pipeline_->model->id_to_token(id);
  return token ? std::optional(std::string(*token)) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
  const AddedToken* token = pipeline_->added->find(id);
  return token != nullptr && token->special;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens,
                             std::vector<int32_t> shown)
    : pipeline_(tokenizer.pipeline_),
      chain_(std::make_unique<DecodeChain>(pipeline_->decoder.get())),
      skip_special_tokens_(skip_special_tokens),
      shown_(std::move(shown)) {}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(int32_t id) {
  const bool is_shown = std::find(shown_.begin(), shown_.end(), id) != shown_.end();
  if (const auto text = pipeline_->decode_text(id, skip_special_tokens_ && !is_shown)) {
    chain_->token(*text);
  }
  return chain_->take();
}

std::string StreamDecoder::finish() {
  chain_->finish();
  return chain_->take();
}

}  // namespace pippin
