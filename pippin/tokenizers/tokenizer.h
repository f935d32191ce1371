// Hugging Face's tokenizer.json, id for id: text to token ids and back.
//
// The file names a pipeline, and each stage has its own file here:
//   text -> added_vocabulary (special tokens cut out) -> normalizers -> pre_tokenizers (pieces)
//        -> models (bpe.cpp) -> post_processors (<s> and the like) -> ids -> decoders -> text
// A stage of a kind that is not known is refused when the file is read, with its place in the file.
// What a file says of truncation and padding is left to callers: encode() gives every token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

namespace tokenizers {
struct Pipeline;
class DecodeChain;
}  // namespace tokenizers

// Immutable once read, cheap to copy, and safe to use from many threads.
class Tokenizer {
 public:
  static Tokenizer from_file(const std::filesystem::path& tokenizer_json);
  // `name` starts the error messages.
  static Tokenizer from_json(std::string_view json, std::string_view name);

  // Bytes of `text` that are not UTF-8 count as U+FFFD.
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // Ids that name no token are left out.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // With added tokens: the largest id + 1.
  int64_t vocab_size() const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::shared_ptr<const tokenizers::Pipeline> pipeline);

  std::shared_ptr<const tokenizers::Pipeline> pipeline_;
};

// Text as ids arrive. Every piece is valid UTF-8 and never half a character; the pieces joined,
// with finish() last, are what decode() gives for all ids. Text that a later id could still change
// is held back.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  std::string push(int32_t id);
  // The rest of the text; the decoder takes no more ids after it.
  std::string finish();

 private:
  std::shared_ptr<const tokenizers::Pipeline> pipeline_;
  std::unique_ptr<tokenizers::DecodeChain> chain_;
  bool skip_special_tokens_;
};

}  // namespace pippin
