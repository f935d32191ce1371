#include "pippin/api/text_encoder.h"

#include <utility>

#include "pippin/app/text_encoder.h"

namespace pippin {

struct TextEncoder::Impl {
  app::TextEncoder encoder;
};

namespace {

app::EmbedOptions options_of(const EmbedSettings& settings) {
  return {settings.prompt_name, settings.prompt, settings.refuse_long,
          settings.dimensions,  settings.active, settings.is_query};
}

}  // namespace

TextEncoder::TextEncoder(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

TextEncoder TextEncoder::load(const std::string& path, const TextEncoderOptions& options) {
  app::ModelChoice choice;
  choice.path = path;
  choice.tokenizer = options.tokenizer;
  choice.load = static_cast<const runtime::LoadOptions&>(options);
  return TextEncoder(std::make_shared<const Impl>(Impl{app::TextEncoder::open(choice)}));
}

Embeddings TextEncoder::embed(const std::vector<std::string>& texts,
                              const EmbedSettings& settings) const {
  app::Embedded made = impl_->encoder.embed(texts, options_of(settings));
  return {std::move(made.vectors), made.tokens, made.cut_texts};
}

SparseEmbeddings TextEncoder::embed_sparse(const std::vector<std::string>& texts,
                                           const EmbedSettings& settings) const {
  app::SparseEmbedded made = impl_->encoder.embed_sparse(texts, options_of(settings));
  SparseEmbeddings result{{}, made.tokens, made.cut_texts};
  result.vectors.reserve(made.vectors.size());
  for (app::SparseVector& vector : made.vectors) {
    result.vectors.push_back({std::move(vector.indices), std::move(vector.values)});
  }
  return result;
}

TokenEmbeddings TextEncoder::embed_tokens(const std::vector<std::string>& texts,
                                          const EmbedSettings& settings) const {
  app::TokenEmbedded made = impl_->encoder.embed_tokens(texts, options_of(settings));
  TokenEmbeddings result{{}, made.tokens, made.cut_texts};
  result.vectors.reserve(made.vectors.size());
  for (app::TokenVectors& vectors : made.vectors) {
    result.vectors.push_back({vectors.width, std::move(vectors.values)});
  }
  return result;
}

Scores TextEncoder::score(const std::string& query, const std::vector<std::string>& documents,
                          bool refuse_long) const {
  app::Scored made = impl_->encoder.score(query, documents, refuse_long);
  return {std::move(made.scores), made.tokens, made.cut_texts};
}

bool TextEncoder::is_cross_encoder() const {
  return impl_->encoder.scores();
}
EmbeddingKind TextEncoder::kind() const {
  const app::VectorKind kind = impl_->encoder.kind();
  if (kind == app::VectorKind::Sparse) return EmbeddingKind::Sparse;
  return kind == app::VectorKind::Tokens ? EmbeddingKind::Tokens : EmbeddingKind::Dense;
}
int64_t TextEncoder::max_tokens() const {
  return impl_->encoder.max_tokens();
}
const std::string& TextEncoder::name() const {
  return impl_->encoder.name();
}
std::vector<std::string> TextEncoder::prompt_names() const {
  return impl_->encoder.prompt_names();
}

}  // namespace pippin
