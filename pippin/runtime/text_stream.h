// Tokens in, pieces of text out: valid UTF-8, up to the first of some strings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/runtime/stop_strings.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

class TextStream {
 public:
  // `shown`: special tokens whose text counts, too.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop,
             std::vector<int32_t> shown = {})
      : decoder_(tokenizer, /*skip_special_tokens=*/true, std::move(shown)),
        stop_(std::move(stop)) {}

  // The text that is certain after this token; often empty.
  std::string push(int32_t id) { return stop_.push(decoder_.push(id)); }
  // The rest, at the end of the text.
  std::string finish() {
    std::string rest = stop_.push(decoder_.finish());
    return rest += stop_.finish();
  }
  // Whether the text reached one of the strings, where it ends.
  bool is_stopped() const { return stop_.found(); }
  const std::string& stop_string() const { return stop_.which(); }  // of them; empty: none

 private:
  StreamDecoder decoder_;
  StopStrings stop_;
};

}  // namespace pippin::runtime
