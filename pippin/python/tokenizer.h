// Python's tokenizers and chat templates, which are pickled by their sources.
#pragma once

#include <string>
#include <utility>

#include "pippin/chat/chat_template.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::python {

struct PyTokenizer : Tokenizer {
  PyTokenizer(Tokenizer made, std::string from)
      : Tokenizer(std::move(made)), path(std::move(from)) {}

  std::string path;  // empty: not from a file
};

struct PyTemplate {
  ChatTemplate chat;
  std::string path = {}, name = {};  // empty: not from a file
  bool is_text = false;              // pickled as its source with the special tokens
};

}  // namespace pippin::python
