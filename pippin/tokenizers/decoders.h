// Decoders turn tokens back into text, one stage feeding the next.
//
// A stage receives tokens one by one and passes on the text that no later token can change, so that
// decode() and streaming share one implementation. A token arrives as parts of text followed by its
// end; after Fuse there is one token, which ends only with the whole text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/tokenizers/stages.h"

namespace pippin::tokenizers {

class DecodeStage {
 public:
  explicit DecodeStage(DecodeStage* next) : next_(next) {}
  virtual ~DecodeStage() = default;
  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  // Called after the last token. A stage passes on the text that it holds back, then this call.
  virtual void finish() { next_->finish(); }
  // Passes on bytes that are not UTF-8, instead of U+FFFD for them.
  void keep_bytes() { keeps_bytes_ = true; }

 protected:
  DecodeStage* next_;
  bool keeps_bytes_ = false;
};

// The description of a decoder, which makes one set of stages for each text.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Adds this decoder's stages in front of `next`, and returns the first of them.
  virtual DecodeStage* start(DecodeStage* next,
                             std::vector<std::unique_ptr<DecodeStage>>& stages) const = 0;
};

std::unique_ptr<Decoder> make_decoder(const Json& config);

// One text being decoded.
class DecodeChain {
 public:
  // Without a decoder, tokens are joined with spaces.
  explicit DecodeChain(const Decoder* decoder, bool keeps_bytes = false);
  void token(std::string_view text) {
    first_->text(text);
    first_->end_token();
  }
  void finish() { first_->finish(); }
  // Returns the text that became final since the last call.
  std::string take() { return std::exchange(output_, {}); }

 private:
  std::string output_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
  DecodeStage* first_;
};

}  // namespace pippin::tokenizers
