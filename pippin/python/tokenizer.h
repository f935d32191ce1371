// Tokenizers and chat templates as Python has them: pickled as what they were made of.
#pragma once

#include <string>
#include <utility>

#include "pippin/chat/chat_template.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::python {

struct PyTokenizer : Tokenizer {
  PyTokenizer(Tokenizer made, std::string from)
      : Tokenizer(std::move(made)), path(std::move(from)) {}

  std::string path;  // empty: it has none of its own
};

struct PyTemplate {
  ChatTemplate chat;
  std::string path = {}, name = {};  // empty: it has none of its own
  bool is_text = false;              // and is its source with the special tokens
};

}  // namespace pippin::python
