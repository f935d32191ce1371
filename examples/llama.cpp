// Llama written with arrays: attention, cache, sampling and generation. Weights are loaded by name
// from a Hugging Face folder.
//
//   llama FOLDER PROMPT [TOKENS [TEMPERATURE [TOP_P]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <vector>

#include "pippin/mx.h"
#include "pippin/nn.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

namespace mx = pippin::mx;
namespace nn = pippin::mx::nn;
using mx::array;

// Past keys and values, [1, heads, length, size]; new ones are appended.
struct Cache {
  std::optional<array> keys, values;
  int length() const { return keys ? static_cast<int>(keys->shape(2)) : 0; }
  void append(const array& new_keys, const array& new_values) {
    keys = keys ? mx::concatenate({*keys, new_keys}, 2) : new_keys;
    values = values ? mx::concatenate({*values, new_values}, 2) : new_values;
  }
};

struct Attention : nn::Module {
  explicit Attention(const nn::Config& of) : config(of) {}

  array operator()(const array& x, Cache& cache) const {
    const auto split = [](const array& y, int count) {
      return transpose(unflatten(y, -1, {count, -1}), {0, 2, 1, 3});
    };
    const int offset = cache.length();
    const array queries = rope(split(q_proj(x), heads), offset);
    cache.append(rope(split(k_proj(x), kv_heads), offset), split(v_proj(x), kv_heads));
    const float scale = 1 / std::sqrt(static_cast<float>(size));
    const array mixed = mx::fast::scaled_dot_product_attention(queries, *cache.keys, *cache.values,
                                                               scale, "causal");
    return o_proj(flatten(transpose(mixed, {0, 2, 1, 3}), -2));
  }
  nn::Config config;
  int dims = config.integer("hidden_size"), heads = config.integer("num_attention_heads");
  int kv_heads = config.integer("num_key_value_heads", heads);
  int size = config.integer("head_dim", dims / heads);
  bool bias = config.flag("attention_bias", false);
  nn::RoPE rope = nn::RoPE::of(config, size);
  nn::Child<> q_proj{*this, "q_proj", nn::Linear(dims, heads* size, bias)};
  nn::Child<> k_proj{*this, "k_proj", nn::Linear(dims, kv_heads* size, bias)};
  nn::Child<> v_proj{*this, "v_proj", nn::Linear(dims, kv_heads* size, bias)};
  nn::Child<> o_proj{*this, "o_proj", nn::Linear(heads* size, dims, bias)};
};

struct Layer : nn::Module {
  Layer(const nn::Config& config, int dims, float eps)
      : self_attn(*this, "self_attn", Attention(config)),
        mlp(*this, "mlp",
            nn::SwiGLU(dims, config.integer("intermediate_size"), config.flag("mlp_bias", false))),
        input_layernorm(*this, "input_layernorm", nn::RMSNorm(dims, eps)),
        post_attention_layernorm(*this, "post_attention_layernorm", nn::RMSNorm(dims, eps)) {}

  array operator()(const array& x, Cache& cache) const {
    const array h = x + self_attn(input_layernorm(x), cache);
    return h + mlp(post_attention_layernorm(h));
  }
  nn::Child<Attention> self_attn;
  nn::Child<> mlp, input_layernorm, post_attention_layernorm;
};

struct Llama : nn::Module {
  explicit Llama(const nn::Config& of) : config(of) {
    for (int i = config.integer("num_hidden_layers"); i > 0; --i) {
      layers->push_back(Layer(config, dims, eps));
    }
    if (config.flag("tie_word_embeddings", false)) return;
    lm_head.emplace(*this, "lm_head", nn::Linear(dims, vocabulary, false));
  }

  array operator()(const array& ids, std::vector<Cache>& caches) const {
    array x = embed(ids);
    for (size_t i = 0; i < layers->size(); ++i) x = (*layers)[i](x, caches[i]);
    x = norm(take(x, -1, 1));
    return lm_head ? (*lm_head)(x) : embed->as_linear(x);
  }
  nn::Config config;
  int dims = config.integer("hidden_size"), vocabulary = config.integer("vocab_size");
  float eps = static_cast<float>(config.number("rms_norm_eps", 1e-6));
  nn::Child<nn::Module> model{*this, "model", nn::Module()};
  nn::Child<nn::EmbeddingLayer> embed{*model, "embed_tokens", nn::Embedding(vocabulary, dims)};
  nn::Child<nn::List<Layer>> layers{*model, "layers", nn::List<Layer>()};
  nn::Child<> norm{*model, "norm", nn::RMSNorm(dims, eps)};
  std::optional<nn::Child<>> lm_head;
};

// Returns a token for each row of logits.
array sample(const array& logits, float temperature, float top_p) {
  if (temperature == 0) return argmax(logits, -1);
  const array order = argsort(-logits, -1);
  const array scores = take_along_axis(logits, order, -1) / temperature;
  // Drops the tokens after the first ones whose probabilities sum to top_p.
  const array before = cumsum(softmax(scores, -1), -1, false, false);
  const array kept = where(before < top_p, scores, array(-INFINITY));
  return take_along_axis(order, mx::expand_dims(mx::random::categorical(kept), -1), -1);
}

void generate(const char* folder, const char* prompt, int count, float temperature, float top_p) {
  const auto config = nn::Config::load(folder);
  Llama model(config);
  model.load_weights(folder, {.ignore = {"rotary_emb.inv_freq"}});
  const auto tokenizer = pippin::Tokenizer::open(folder);
  const auto ids = tokenizer.encode(prompt), ends = config.integers("eos_token_id", {{}});
  std::vector<Cache> caches(model.layers->size());
  const auto step = [&](const array& tokens) {
    const array next = sample(model(mx::reshape(tokens, {1, -1}), caches), temperature, top_p);
    mx::async_eval({&next, 1});  // computed in the background
    return next;
  };
  pippin::StreamDecoder text(tokenizer);
  array next = step(array(ids, {static_cast<int64_t>(ids.size())}));
  for (; count > 0; --count) {
    const array token = next;
    if (count > 1) next = step(token);
    const int id = token.item<int>();
    if (std::count(ends.begin(), ends.end(), id) > 0) break;
    std::fputs(text.push(id).c_str(), stdout);
    std::fflush(stdout);
  }
  std::printf("%s\n", text.finish().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::runtime_error("llama FOLDER PROMPT [TOKENS [TEMPERATURE [TOP_P]]]");
    const auto number = [&](int i, float otherwise) {
      return argc > i ? std::stof(argv[i]) : otherwise;
    };
    generate(argv[1], argv[2], static_cast<int>(number(3, 256)), number(4, 0), number(5, 1));
  } catch (const std::exception& error) {  // one line: problem, place, expected value
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
