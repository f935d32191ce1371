// Python's tokenizers and chat templates, which are pickled by their sources.
#pragma once

#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "pippin/app/conversation.h"
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

// Messages and other variables of the template; None counts as not given. Throws InvalidArgument
// for values that JSON cannot express.
app::Conversation conversation_of(const pybind11::object& messages, const pybind11::dict& more,
                                  PromptEnd end_by_default);

}  // namespace pippin::python
