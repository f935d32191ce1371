// Sparse vectors and token vectors of a TextEncoder.
#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"

namespace pippin::app {
namespace {

const char* phrase_of(VectorKind kind) {
  if (kind == VectorKind::Sparse) return "sparse vectors";
  return kind == VectorKind::Tokens ? "a vector for each token" : "one dense vector for each text";
}

}  // namespace

void TextEncoder::check_kind(VectorKind wanted) const {
  if (scores()) {
    fail(ErrorCode::Unsupported,
         "{} is a cross-encoder: it scores pairs of texts and does not embed", name_);
  }
  if (kind_ == wanted) return;
  fail(ErrorCode::Unsupported, "{} returns {}, not {}{}", name_, phrase_of(kind_),
       phrase_of(wanted),
       kind_ == VectorKind::Sparse   ? " (pippin embed --sparse)"
       : kind_ == VectorKind::Tokens ? " (pippin embed --multi)"
                                     : "");
}

std::vector<runtime::EncoderText> TextEncoder::prepare_all(std::span<const std::string> texts,
                                                           const EmbedOptions& options,
                                                           Embedded& counts) const {
  if (texts.empty()) fail(ErrorCode::InvalidArgument, "there is no text to embed");
  const std::string prompt = prompt_of(options);
  std::vector<runtime::EncoderText> prepared;
  prepared.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    prepared.push_back(prepare(texts[i], prompt, options, i, counts));
  }
  return prepared;
}

EmbedOptions TextEncoder::options_for(bool is_query, bool refuse_long) const {
  EmbedOptions options{.refuse_long = refuse_long, .is_query = is_query};
  constexpr const char* kQuery[] = {"query"};
  constexpr const char* kDocument[] = {"document", "passage", "corpus"};
  const std::span<const char* const> names =
      is_query ? std::span<const char* const>(kQuery) : std::span<const char* const>(kDocument);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const char* name) { return prompts_.contains(name); });
  if (found != names.end()) options.prompt_name = *found;
  return options;
}

SparseEmbedded TextEncoder::embed_sparse(std::span<const std::string> texts,
                                         const EmbedOptions& options) const {
  check_kind(VectorKind::Sparse);
  Embedded counts;
  const std::vector<runtime::EncoderText> prepared = prepare_all(texts, options, counts);
  SparseEmbedded result{{}, counts.tokens, counts.cut_texts};
  result.vectors.reserve(texts.size());
  const int64_t most = options.active > 0 ? options.active : active_;
  for (const std::vector<float>& row : model_->run(prepared)) {
    result.vectors.push_back(sparse_of(row, most));
  }
  return result;
}

TokenEmbedded TextEncoder::embed_tokens(std::span<const std::string> texts,
                                        const EmbedOptions& options) const {
  check_kind(VectorKind::Tokens);
  if (texts.empty()) fail(ErrorCode::InvalidArgument, "there is no text to embed");
  EmbedOptions own = options;
  if (!own.prompt && !own.prompt_name) {
    own.prompt_name = options_for(options.is_query, options.refuse_long).prompt_name;
  }
  const std::string prompt = prompt_of(own);
  TokenEmbedded result;
  std::vector<runtime::EncoderText> prepared;
  std::vector<std::vector<bool>> counted;
  prepared.reserve(texts.size());
  counted.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    LateTexts::Prepared text = late_->prepare(tokenizer_, cleaned(prompt + texts[i]),
                                              options.is_query, static_cast<size_t>(max_tokens()));
    if (text.cut > 0 && options.refuse_long) {
      fail(ErrorCode::InvalidArgument, "text {} exceeds the model's limit by {} tokens", i,
           text.cut);
    }
    result.tokens += std::ssize(text.text.ids);
    result.cut_texts += text.cut > 0 ? 1 : 0;
    prepared.push_back(std::move(text.text));
    counted.push_back(std::move(text.counts));
  }
  const std::vector<std::vector<float>> rows = model_->run(prepared);
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t width = rows[i].size() / counted[i].size();
    TokenVectors& vectors = result.vectors.emplace_back(TokenVectors{width, {}});
    for (size_t token = 0; token < counted[i].size(); ++token) {
      if (!counted[i][token]) continue;
      const auto first = rows[i].begin() + static_cast<int64_t>(token * width);
      vectors.values.insert(vectors.values.end(), first, first + static_cast<int64_t>(width));
    }
  }
  return result;
}

Scored TextEncoder::score_by_vectors(const std::string& query,
                                     std::span<const std::string> documents,
                                     bool refuse_long) const {
  const EmbedOptions of_query = options_for(true, refuse_long);
  const EmbedOptions of_documents = options_for(false, refuse_long);
  Scored result;
  result.scores.reserve(documents.size());
  if (kind_ == VectorKind::Sparse) {
    const SparseEmbedded asked = embed_sparse(std::span(&query, 1), of_query);
    const SparseEmbedded found = embed_sparse(documents, of_documents);
    const bool is_cosine = similarity_ == "cosine";
    for (const SparseVector& vector : found.vectors) {
      const double norms = is_cosine ? norm(asked.vectors.front()) * norm(vector) : 1.0;
      result.scores.push_back(norms > 0 ? dot(asked.vectors.front(), vector) / norms : 0);
    }
    result.tokens = asked.tokens + found.tokens;
    result.cut_texts = asked.cut_texts + found.cut_texts;
    return result;
  }
  const TokenEmbedded asked = embed_tokens(std::span(&query, 1), of_query);
  const TokenEmbedded found = embed_tokens(documents, of_documents);
  const TokenVectors& vectors = asked.vectors.front();
  const double divisor =
      similarity_ == "meanmaxsim" ? static_cast<double>(std::max<size_t>(vectors.count(), 1)) : 1.0;
  for (const TokenVectors& document : found.vectors) {
    result.scores.push_back(max_sim(vectors, document) / divisor);
  }
  result.tokens = asked.tokens + found.tokens;
  result.cut_texts = asked.cut_texts + found.cut_texts;
  return result;
}

}  // namespace pippin::app
