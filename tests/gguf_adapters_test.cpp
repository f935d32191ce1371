// Adapters and models of which one is a GGUF, whose converter reorders rows of queries and keys:
// the logits of a checkpoint whose weights the test itself changed.

#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/models/gguf/gguf.h"
#include "tests/gguf_testing.h"
#include "tests/run_adapters_testing.h"

namespace pippin {
namespace {

using namespace adapters;
using testing::HasSubstr;
using testing_gguf::GgufFile;

struct Place {
  const char *module, *gguf;
  int64_t heads;  // whose rows the converter reorders; 0: none
};
constexpr Place kPlaces[] = {
    {"self_attn.q_proj", "attn_q", 4},
    {"self_attn.k_proj", "attn_k", 2},
    {"self_attn.v_proj", "attn_v", 0},
    {"self_attn.o_proj", "attn_output", 0},
    {"mlp.gate_proj", "ffn_gate", 0},
    {"mlp.up_proj", "ffn_up", 0},
    {"mlp.down_proj", "ffn_down", 0},
    {"input_layernorm", "attn_norm", 0},
    {"post_attention_layernorm", "ffn_norm", 0},
};

// "model.layers.1.self_attn.q_proj" as "blk.1.attn_q".
std::string gguf_name(const std::string& module, int64_t& heads) {
  heads = 0;
  if (module == "model.embed_tokens") return "token_embd";
  if (module == "model.norm") return "output_norm";
  if (module == "lm_head") return "output";
  const std::string rest = module.substr(std::string("model.layers.").size());
  for (const Place& place : kPlaces) {
    if (rest.substr(2) != place.module) continue;
    heads = place.heads;
    return fmt::format("blk.{}.{}", rest.substr(0, 1), place.gguf);
  }
  ADD_FAILURE() << module;
  return "";
}

// The halves of each head as pairs: row (head, half, i) becomes (head, i, half).
Tensor paired(const Tensor& tensor, int64_t heads) {
  Tensor result = tensor;
  if (heads == 0) return result;
  const int64_t size = tensor.shape[0] / heads, columns = tensor.shape.back();
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t from = head * size + i, to = head * size + i % (size / 2) * 2 + i / (size / 2);
      for (int64_t c = 0; c < columns; ++c) {
        result.values[static_cast<size_t>(to * columns + c)] =
            tensor.values[static_cast<size_t>(from * columns + c)];
      }
    }
  }
  return result;
}

void add(GgufFile& file, const std::string& name, const Tensor& tensor) {
  const auto bytes = std::as_bytes(std::span(tensor.values));
  file.tensor(name, tensor.shape,
              std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// A folder as app::gguf_folder() makes it, without a tokenizer.
fs::path write_base(const Fixture& fixture) {
  GgufFile file;
  file.text("general.architecture", "llama").number("llama.block_count", 2);
  file.number("llama.context_length", 32).number("llama.embedding_length", 16);
  file.number("llama.feed_forward_length", 12).number("llama.attention.head_count", 4);
  file.number("llama.attention.head_count_kv", 2).number("llama.rope.dimension_count", 4);
  file.real("llama.attention.layer_norm_rms_epsilon", 1e-6F).real("llama.rope.freq_base", 1e4F);
  for (const auto& [name, tensor] : read_tensors(fixture.base())) {
    const size_t dot = name.rfind('.');
    int64_t heads = 0;
    const std::string own = gguf_name(name.substr(0, dot), heads);
    add(file, own + name.substr(dot), paired(tensor, heads));
  }
  const fs::path folder = fixture.scratch("gguf");
  fs::create_directories(folder);
  file.write(folder / "model.gguf");
  const auto mapped = MappedFile::open(folder / "model.gguf");
  write_file(folder / "config.json",
             models::gguf_config(parse_gguf(mapped->bytes(), "model.gguf"), "model.gguf"));
  return folder;
}

// The fixture's adapter in llama.cpp's form.
GgufFile adapter_file(const Fixture& fixture, float alpha, const std::string& architecture) {
  GgufFile file;
  file.text("general.type", "adapter").text("general.architecture", architecture);
  file.text("adapter.type", "lora").real("adapter.lora.alpha", alpha);
  for (const auto& [name, tensor] : read_tensors(fixture.adapter() / "adapter_model.safetensors")) {
    const std::string path = name.substr(std::string("base_model.model.").size());
    const size_t end = path.find(".lora_");
    const bool is_a = path.find("_A") != path.npos, is_table = path.find("embedding") != path.npos;
    int64_t heads = 0;
    const std::string own = gguf_name(path.substr(0, end), heads);
    Tensor given = is_a ? tensor : paired(tensor, heads);
    if (is_a && is_table) {  // (rows, rank)
      const auto rank = static_cast<size_t>(tensor.shape[0]),
                 rows = static_cast<size_t>(tensor.shape[1]);
      given.shape = {tensor.shape[1], tensor.shape[0]};
      for (size_t i = 0; i < rank; ++i) {
        for (size_t j = 0; j < rows; ++j) {
          given.values[j * rank + i] = tensor.values[i * rows + j];
        }
      }
    }
    add(file, fmt::format("{}.weight.lora_{}", own, is_a ? "a" : "b"), given);
  }
  return file;
}

class GgufAdapters : public testing::Test {
 protected:
  void SetUp() override {
    change_all(fixture, 3, 5.0 / 3);
    fixture.change_embedding("model.embed_tokens", 3, 5.0 / 3);
    fixture.write(R"(, "r": 3, "lora_alpha": 5)");
    gguf = write_base(fixture);
    file = fixture.scratch("style.gguf");
    adapter_file(fixture, 5, "llama").write(file);
  }

  std::string error_of(const fs::path& base, const fs::path& adapter) const {
    return thrown_message([&] { open(base, {{"a", adapter, 1, true}}); });
  }

  Fixture fixture{kLlama, false};
  fs::path gguf, file;
};

TEST_F(GgufAdapters, BasesHaveTheLogitsOfTheirCheckpoints) {
  EXPECT_LT(largest_difference(logits_of(*open(gguf)), logits_of(*open(fixture.base()))), 1e-5);
}

TEST_F(GgufAdapters, OfHuggingFaceChangeGgufs) {
  expect_same(gguf, fixture.adapter(), fixture.merged(), fixture.scratch("a.mlpackage"));
}

TEST_F(GgufAdapters, ChangeCheckpoints) {
  expect_same(fixture.base(), file, fixture.merged(), fixture.scratch("b.mlpackage"));
}

TEST_F(GgufAdapters, ChangeGgufs) {
  expect_same(gguf, file, fixture.merged(), fixture.scratch("c.mlpackage"));
}

// The converter also reorders rows of layers that rotate none.
TEST_F(GgufAdapters, ChangeLayersWithoutPositions) {
  std::string config = kLlama;
  config.replace(config.find("\"llama\""), 7,
                 "\"smollm3\", \"no_rope_layers\": [1, 0], \"tie_word_embeddings\": false");
  Fixture own(config, false);
  change_all(own, 3, 2.0);
  own.write(R"(, "r": 3, "lora_alpha": 6)");
  const fs::path other = own.scratch("other.gguf");
  adapter_file(own, 6, "smollm3").write(other);
  expect_same(own.base(), other, own.merged(), own.scratch("e.mlpackage"));
}

// The table's change is left out: merged, it would change the head.
TEST_F(GgufAdapters, AreMergedAndBecomeFunctions) {
  Fixture own(kLlama, false);
  change_all(own, 3, 2.0);
  own.write(R"(, "r": 3, "lora_alpha": 6)");
  const fs::path base = write_base(own), other = own.scratch("other.gguf");
  adapter_file(own, 6, "llama").write(other);
  const auto expected = logits_of(*open(own.merged()));
  const auto logits = [](const fs::path& source, const models::BuildOptions& options,
                         const std::string& function) {
    const auto model =
        runtime::make_runnable(models::build(source, options), {.threads = 1, .adapter = function});
    return logits_of(*model.model);
  };
  models::BuildOptions options;
  options.compute = models::BuildOptions::Compute::Float32Direct;
  for (const auto& [source, adapter] :
       {std::pair(base, own.adapter()), std::pair(base, other), std::pair(own.base(), other)}) {
    models::BuildOptions fused = options, separate = options;
    fused.fused_adapter = adapter;
    EXPECT_LT(largest_difference(logits(source, fused, ""), expected), 1e-5) << adapter;
    separate.adapters = {{"style", adapter}};
    EXPECT_LT(largest_difference(logits(source, separate, "style"), expected), 1e-5) << adapter;
  }
}

TEST_F(GgufAdapters, MayBeAloneInAFolder) {
  const fs::path folder = fixture.scratch("folder");
  fs::create_directory(folder);
  fs::copy_file(file, folder / "style.gguf");
  EXPECT_EQ(error_of(gguf, folder), "no error");
  fs::copy_file(file, folder / "other.gguf");
  EXPECT_THAT(error_of(gguf, folder), HasSubstr("no adapter_config.json"));
}

TEST_F(GgufAdapters, WithoutAlphaAddTheProductAsItIs) {
  Fixture own(kLlama, false);
  change_all(own, 3, 1.0);
  own.write("");
  const fs::path other = own.scratch("other.gguf");
  adapter_file(own, 0, "llama").write(other);
  EXPECT_LT(largest_difference(logits_of(*open(own.base(), {{"a", other, 1, true}})),
                               logits_of(*open(own.merged()))),
            1e-5);
}

// Rows of a replaced head are not reordered; other matrices may be.
TEST_F(GgufAdapters, OfHuggingFaceMayReplaceHeadsAndNorms) {
  Fixture own(kLlama, false);
  own.replace("lm_head.weight");
  own.replace("model.norm.weight");
  own.replace("model.layers.1.input_layernorm.weight");
  own.write("");
  expect_same(write_base(own), own.adapter(), own.merged(), own.scratch("d.mlpackage"));
  Fixture other(kLlama, false);
  other.replace("model.layers.1.self_attn.q_proj.weight");
  other.write("");
  EXPECT_THAT(error_of(gguf, other.adapter()), HasSubstr("may have in another order"));
}

TEST_F(GgufAdapters, ThatDoNotFitAreRefusedByName) {
  const fs::path wrong = fixture.scratch("wrong.gguf");
  const auto refusal = [&](const GgufFile& content, const fs::path& base) {
    content.write(wrong);
    return error_of(base, wrong);
  };
  EXPECT_THAT(refusal(adapter_file(fixture, 5, "qwen2"), gguf),
              HasSubstr("general.architecture: is 'qwen2', the model is 'llama'"));
  EXPECT_THAT(refusal(adapter_file(fixture, 5, "qwen2"), fixture.base()),
              HasSubstr("'qwen2', the model is 'llama'"));
  EXPECT_THAT(refusal(GgufFile().text("general.architecture", "llama"), gguf),
              HasSubstr("general.type: is '', an adapter has 'adapter'"));
  EXPECT_THAT(error_of(fixture.base(), gguf / "model.gguf"), HasSubstr("general.type"));
  const auto with = [&](const std::string& name, const std::vector<int64_t>& shape,
                        uint32_t type = 0) {
    GgufFile content = adapter_file(fixture, 5, "llama");
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const auto bytes = static_cast<size_t>(type == 8 ? count / 32 * 34 : count * 4);
    return refusal(content.tensor(name, shape, std::string(bytes, '\0'), type), gguf);
  };
  EXPECT_THAT(with("blk.0.ffn_up.weight", {2, 4}), HasSubstr("neither a lora_a nor a lora_b"));
  EXPECT_THAT(with("blk.0.ssm_in.weight.lora_a", {2, 4}), HasSubstr("changes no linear layer"));
  EXPECT_THAT(with("blk.7.ffn_up.weight.lora_a", {2, 4}), HasSubstr("changes no linear layer"));
  EXPECT_THAT(with("blk.0.ffn_up_exps.weight.lora_a", {2, 2, 4}),
              HasSubstr("'blk.0.ffn_up_exps.weight.lora_a' of shape [2, 2, 4] does not change"));
  EXPECT_THAT(with("blk.0.attn_sinks.weight.lora_a", {2, 32}, 8), HasSubstr("is quantized"));
  EXPECT_EQ(with("blk.0.attn_norm.weight", {16}), "no error");  // with a warning
  GgufFile alora = adapter_file(fixture, 5, "llama");
  EXPECT_THAT(refusal(alora.numbers("adapter.alora.invocation_tokens", {1}), gguf),
              HasSubstr("invocation_tokens"));
}

}  // namespace
}  // namespace pippin
