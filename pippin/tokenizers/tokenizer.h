// Text to token ids and back, exactly as Hugging Face's tokenizer.json defines it.
//
// The file describes a pipeline; each stage has its own file here:
//   text -> added_vocabulary (special tokens cut out) -> normalizers -> pre_tokenizers (pieces)
//        -> models (bpe.cpp) -> post_processors (<s> and the like) -> ids -> decoders -> text
// An unknown kind of stage is rejected when the file is read, with its position in the file.
// encode() returns every token; encode_fitted() applies the file's truncation and padding.
//
// Other formats are read as the equivalent tokenizer.json: SentencePiece's tokenizer.model
// (sentencepiece_file.h), tiktoken's ranks, and vocab.json with merges.txt (legacy_files.h).
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

// Immutable, cheap to copy, and thread-safe.
class PIPPIN_API Tokenizer {
 public:
  // Loads a tokenizer.json. Throws NotFound, Io, InvalidFile, or Unsupported for an unknown kind of
  // stage, with its position in the file.
  static Tokenizer from_file(const std::filesystem::path& tokenizer_json);
  // Opens a file of any of the formats above, or the best one of a folder, in the order of
  // io/model_files.h. Throws NotFound if a folder has none of them, and the errors of from_file().
  static Tokenizer open(const std::filesystem::path& path);
  // Returns whether open() would find a tokenizer in this folder.
  static bool is_tokenizer_folder(const std::filesystem::path& folder);
  // Reads the text of a tokenizer.json; `name` starts error messages. Throws InvalidFile,
  // Unsupported.
  static Tokenizer from_json(std::string_view json, std::string_view name);

  // Returns the ids of a text, with the special tokens that begin or end it. Bytes of `text` that
  // are not UTF-8 are read as U+FFFD. Throws LimitExceeded beyond 2^30 bytes. Encoding or decoding
  // a long text throws Cancelled when the thread's work is cancelled (base/threads/cancel.h).
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens = true) const;
  // Encodes as the library's encode(): truncated as the file says (with room for the special
  // tokens), then padded. Throws InvalidArgument if the truncation or padding is not possible.
  std::vector<int32_t> encode_fitted(std::string_view text, bool add_special_tokens = true) const;
  // Returns the text of ids. Skips ids that name no token.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  // One text, or a pair for cross-encoders, with the special tokens.
  struct Texts {
    std::vector<int32_t> ids, types;  // the ids, and the text (0 or 1) that each belongs to
    size_t cut = 0;                   // number of ids of the texts that were cut
  };
  // Returns at most `most` ids: the longer of two texts loses ids at its end first, until both have
  // the same length. Throws InvalidArgument if the special tokens do not fit, Unsupported
  // if the tokenizer has no form for two texts.
  Texts encode_texts(std::string_view text, std::optional<std::string_view> second,
                     size_t most) const;

  // Returns the bytes that a token adds in the middle of a text, including a leading space. They
  // may become valid UTF-8 only when other tokens' bytes follow. Empty if the id names no token.
  std::string token_bytes(int32_t id) const;
  // Returns the largest id + 1, including added tokens.
  int64_t vocab_size() const;
  // Returns the id of a token as the vocabulary writes it; nullopt if there is none.
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // Returns a token as the vocabulary writes it; nullopt if the id names none.
  std::optional<std::string> id_to_token(int32_t id) const;
  // Returns whether the id is that of a special token.
  bool is_special(int32_t id) const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::shared_ptr<const tokenizers::Pipeline> pipeline);
  std::vector<int32_t> text_ids(std::string_view text) const;  // before the post-processor

  std::shared_ptr<const tokenizers::Pipeline> pipeline_;
};

// Decodes ids as they arrive. Every piece is valid UTF-8 and never half a character; the joined
// pieces, including that of finish(), equal decode() of all ids. Text that a later id could still
// change is held back.
class PIPPIN_API StreamDecoder {
 public:
  // `shown`: special tokens that are never skipped.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true,
                         std::vector<int32_t> shown = {});
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  // Adds an id and returns the text that is certain now.
  std::string push(int32_t id);
  // Returns the rest of the text. No ids may be added afterwards.
  std::string finish();

 private:
  std::shared_ptr<const tokenizers::Pipeline> pipeline_;
  std::unique_ptr<tokenizers::DecodeChain> chain_;
  bool skip_special_tokens_;
  std::vector<int32_t> shown_;
};

}  // namespace pippin
