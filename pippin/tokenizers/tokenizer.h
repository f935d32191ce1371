// Hugging Face's tokenizer.json, id for id: text to token ids and back.
//
// The file names a pipeline, and each stage has its own file here:
//   text -> added_vocabulary (special tokens cut out) -> normalizers -> pre_tokenizers (pieces)
//        -> models (bpe.cpp) -> post_processors (<s> and the like) -> ids -> decoders -> text
// A stage of a kind that is not known is refused when the file is read, with its place in the file.
// encode() gives every token; encode_fitted() minds what the file says of truncation and padding.
//
// Other files of the field are read as the tokenizer.json that they stand for: SentencePiece's
// tokenizer.model (sentencepiece_file.h), tiktoken's ranks, and vocab.json with merges.txt
// (legacy_files.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"

namespace pippin {

namespace tokenizers {
struct Pipeline;
class DecodeChain;
}  // namespace tokenizers

// Immutable once read, cheap to copy, and safe to use from many threads.
class PIPPIN_API Tokenizer {
 public:
  static Tokenizer from_file(const std::filesystem::path& tokenizer_json);
  // A folder, or a file of any of the kinds above; of a folder's files the best one, in the order
  // of io/model_files.h. Throws NotFound for a folder with none of them.
  static Tokenizer open(const std::filesystem::path& path);
  // Whether open() finds a tokenizer in this folder.
  static bool is_tokenizer_folder(const std::filesystem::path& folder);
  // `name` starts the error messages.
  static Tokenizer from_json(std::string_view json, std::string_view name);

  // Bytes of `text` that are not UTF-8 count as U+FFFD. A long text, to ids or back, ends with
  // Cancelled when it is (base/cancel.h).
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // As the library's encode: cut to the file's truncation (where the special tokens have their
  // place) and filled up to its padding. Throws InvalidArgument where those cannot be met.
  std::vector<int32_t> encode_fitted(std::string_view text, bool add_special_tokens = true) const;
  // Ids that name no token are left out.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // A text, or two as cross-encoders take them, with the special tokens.
  struct Texts {
    std::vector<int32_t> ids, types;
    size_t cut = 0;  // how many ids of the texts had no room
  };
  // At most `most` ids: of two texts the longer one loses ids at its end first, until they are as
  // long as each other. Throws InvalidArgument where the special tokens have no room,
  // Unsupported where the tokenizer has no form for two texts.
  Texts encode_texts(std::string_view text, std::optional<std::string_view> second,
                     size_t most) const;

  // What a token adds to a text in its midst, with the blank that it may begin with: bytes that
  // need be no UTF-8 before those of other tokens join them. Empty for an id that names no token.
  std::string token_bytes(int32_t id) const;
  // With added tokens: the largest id + 1.
  int64_t vocab_size() const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::shared_ptr<const tokenizers::Pipeline> pipeline);
  std::vector<int32_t> text_ids(std::string_view text) const;  // before the post-processor

  std::shared_ptr<const tokenizers::Pipeline> pipeline_;
};

// Text as ids arrive. Every piece is valid UTF-8 and never half a character; the pieces joined,
// with finish() last, are what decode() gives for all ids. Text that a later id could still change
// is held back.
class PIPPIN_API StreamDecoder {
 public:
  // `shown`: special tokens that are not skipped.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true,
                         std::vector<int32_t> shown = {});
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
  std::vector<int32_t> shown_;
};

}  // namespace pippin
