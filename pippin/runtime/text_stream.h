// Converts tokens to pieces of text: valid UTF-8, up to the first of several stop strings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/runtime/stop_strings.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

class TextStream {
 public:
  // `shown`: special tokens whose text is included.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop,
             std::vector<int32_t> shown = {})
      : decoder_(tokenizer, /*skip_special_tokens=*/true, std::move(shown)),
        stop_(std::move(stop)) {}

  // Returns the text that is certain after this token; often empty.
  std::string push(int32_t id) { return stop_.push(decoder_.push(id)); }
  // Returns the remaining text at the end.
  std::string finish() {
    std::string rest = stop_.push(decoder_.finish());
    return rest += stop_.finish();
  }
  // Whether a stop string was found, at which the text ends.
  bool is_stopped() const { return stop_.found(); }
  const std::string& stop_string() const { return stop_.which(); }  // the one found; empty: none

 private:
  StreamDecoder decoder_;
  StopStrings stop_;
};

}  // namespace pippin::runtime
