// Tokenizers and chat templates, of models and standalone.
#include "pippin/python/tokenizer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/app/conversation.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/open_text.h"
#include "pippin/app/read_answer.h"
#include "pippin/base/error.h"
#include "pippin/chat/json.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using Ids = std::vector<int32_t>;

constexpr size_t kLongText = size_t{1} << 20;  // so that Ctrl-C can interrupt

std::unique_ptr<PyTokenizer> open_tokenizer(const std::filesystem::path& path) {
  std::optional<Tokenizer> made;
  run_work([&](BackgroundWork& /*background*/) {
    made = app::open_tokenizer(app::resolve_model(path.string(), app::ModelPart::Tokenizer));
  });
  return std::make_unique<PyTokenizer>(*std::move(made), path.string());
}

// The pickled form: its path.
py::tuple path_of(const std::string& path, const char* what) {
  if (path.empty()) {
    fail(ErrorCode::InvalidArgument, "a {} is pickled as its path, and this one has none", what);
  }
  return py::make_tuple(path);
}

Ids encode(const PyTokenizer& own, const std::string& text, bool add_special_tokens, bool fitted) {
  Ids ids;
  const auto work = [&] {
    ids =
        fitted ? own.encode_fitted(text, add_special_tokens) : own.encode(text, add_special_tokens);
  };
  if (text.size() < kLongText) {
    without_lock(work);
  } else {
    run_work([&](BackgroundWork& /*background*/) { work(); });
  }
  return ids;
}

// {token: id} of all ids, or of the `special` ones only.
py::dict vocabulary(const PyTokenizer& own, bool special) {
  py::dict result;
  for (int32_t id = 0; id < own.vocab_size(); ++id) {
    if (special && !own.is_special(id)) continue;
    if (const auto token = own.id_to_token(id)) result[py::str(*token)] = id;
  }
  return result;
}

std::unique_ptr<PyTemplate> open_template(const std::filesystem::path& path,
                                          const std::string& name) {
  std::optional<ChatTemplate> made;
  run_work([&](BackgroundWork& /*background*/) {
    const std::string local = app::resolve_model(path.string(), app::ModelPart::Tokenizer);
    made = ChatTemplate::from_sources(app::read_template_sources(local), name);
  });
  if (!made) fail(ErrorCode::NotFound, "{}: has no chat template", path.string());
  return std::make_unique<PyTemplate>(PyTemplate{*std::move(made), path.string(), name});
}

std::string json_of(const py::handle& object, const char* name) {
  try {
    return py::str(py::module_::import("json").attr("dumps")(object));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
    const std::string why = py::str(error.value());
    fail(ErrorCode::InvalidArgument, "{}: only what JSON has can be given: {}", name, why);
  }
}

std::unique_ptr<PyTemplate> from_source(const std::string& source, const py::dict& tokens) {
  return std::make_unique<PyTemplate>(
      PyTemplate{ChatTemplate::from_source(
                     source, chat::parse_json(json_of(tokens, "special_tokens"), "special_tokens")),
                 {},
                 {},
                 true});
}

py::dict special_tokens_of(const ChatTemplate& chat) {
  return py::module_::import("json").attr("loads")(chat::to_json(chat.special_tokens()));
}

// The pickled form: (path, name) or, for a template from a text, (source, special tokens).
py::tuple state_of(const PyTemplate& own) {
  if (own.is_text) {
    return py::make_tuple(true, own.chat.source(), special_tokens_of(own.chat));
  }
  return py::make_tuple(false, path_of(own.path, "chat template")[0], own.name);
}

std::unique_ptr<PyTemplate> template_of(const py::tuple& state) {
  if (state[0].cast<bool>()) return from_source(state[1].cast<std::string>(), state[2]);
  return open_template(state[1].cast<std::string>(), state[2].cast<std::string>());
}

std::string render(const PyTemplate& own, const py::object& messages, const py::kwargs& more) {
  const app::Conversation conversation = conversation_of(messages, more, PromptEnd::Conversation);
  std::string text;
  without_lock([&] {
    text = own.chat.render(conversation.context, conversation.end, conversation.options);
  });
  return text;
}

py::dict read_answer(const PyTemplate& own, const std::string& text, const py::object& messages,
                     const py::kwargs& more) {
  const app::Conversation conversation = conversation_of(messages, more, PromptEnd::Conversation);
  model_output::Answer answer;
  without_lock([&] { answer = app::read_answer(own.chat, conversation, text); });
  return py::module_::import("json").attr("loads")(app::to_json(answer));
}

void bind_template(py::module_& module) {
  py::class_<PyTemplate>(module, "ChatTemplate", docs::kChatTemplate)
      .def(py::init(&open_template), py::arg("path"), py::kw_only(), py::arg("name") = "",
           "name: of several templates the one of this name.")
      .def_static(
          "from_source", &from_source, py::arg("source"), py::arg("special_tokens") = py::dict(),
          "Makes a template from its text; special_tokens: {\"bos_token\": \"<s>\"}. Raises "
          "InvalidFileError for an invalid text, UnsupportedError for features that Pippin lacks.")
      .def_property_readonly(
          "source", [](const PyTemplate& own) { return own.chat.source(); },
          "The text of the template.")
      .def_property_readonly(
          "special_tokens", [](const PyTemplate& own) { return special_tokens_of(own.chat); },
          "{\"bos_token\": \"<s>\"}: what it was made with.")
      .def(py::pickle(&state_of, &template_of))
      .def("render", &render, py::arg("messages"),
           "Returns the text of a conversation, a list of messages with \"role\" and \"content\". "
           "Keywords are the template's variables (tools, documents, enable_thinking ...), and "
           "add_generation_prompt, continue_final_message, now (the time as a text). Raises "
           "InvalidArgumentError for values that JSON cannot express and if the template rejects "
           "the conversation.")
      .def("read_answer", &read_answer, py::arg("answer"), py::arg("messages"),
           "Returns the parts of an answer to a conversation: a dict of content, reasoning_content "
           "and tool_calls. Keywords are those of render(). Raises its errors.");
}

}  // namespace

app::Conversation conversation_of(const py::object& messages, const py::dict& more,
                                  PromptEnd end_by_default) {
  if (!core::is_list(messages.ptr()))
    fail(ErrorCode::InvalidArgument, "messages: expected a list of dicts");
  for (const py::handle message : messages) {
    if (!py::isinstance<py::dict>(message)) {
      fail(ErrorCode::InvalidArgument, "messages: a {} is not a dict with \"role\" and \"content\"",
           std::string(py::str(py::type::of(message).attr("__name__"))));
    }
  }
  py::dict members;
  members["messages"] = messages;
  for (const auto& [name, value] : more) {
    if (!value.is_none()) members[name] = value;
  }
  return app::parse_conversation(json_of(members, "messages and variables"), "conversation",
                                 end_by_default);
}

void bind_tokenizer(py::module_& module) {
  py::class_<PyTokenizer>(module, "Tokenizer", docs::kTokenizer)
      .def(py::init(&open_tokenizer), py::arg("path"))
      .def_static(
          "from_json",
          [](const std::string& json) {
            return PyTokenizer(Tokenizer::from_json(json, "tokenizer"), "");
          },
          py::arg("json"),
          "Makes a tokenizer from the text of a tokenizer.json. Raises InvalidFileError, "
          "UnsupportedError for an unknown kind of stage.")
      .def("encode", &encode, py::arg("text"), py::arg("add_special_tokens") = true, py::kw_only(),
           py::arg("fitted") = false,
           "Returns the ids of a text, with special tokens. fitted: truncated and padded as the "
           "file says. Raises LimitExceededError beyond 2^30 bytes, InvalidArgumentError if "
           "truncation or padding is not possible.")
      .def(
          "encode_batch",
          [](const PyTokenizer& own, const std::vector<std::string>& texts, bool add_special_tokens,
             bool fitted) {
            std::vector<Ids> all;
            all.reserve(texts.size());
            for (const std::string& text : texts) {
              all.push_back(encode(own, text, add_special_tokens, fitted));
            }
            return all;
          },
          py::arg("texts"), py::arg("add_special_tokens") = true, py::kw_only(),
          py::arg("fitted") = false, "Returns the ids of each text, as encode().")
      .def(
          "decode",
          [](const PyTokenizer& own, const Ids& ids, bool skip_special_tokens) {
            std::string text;
            without_lock([&] { text = own.decode(ids, skip_special_tokens); });
            return text;
          },
          py::arg("ids"), py::arg("skip_special_tokens") = true,
          "Returns the text of ids; ids without a token are skipped.")
      .def(
          "decode_batch",
          [](const PyTokenizer& own, const std::vector<Ids>& all, bool skip_special_tokens) {
            std::vector<std::string> texts;
            texts.reserve(all.size());
            for (const Ids& ids : all) texts.push_back(own.decode(ids, skip_special_tokens));
            return texts;
          },
          py::arg("sequences"), py::arg("skip_special_tokens") = true,
          "Returns the text of each list of ids, as decode().")
      .def("token_to_id", &Tokenizer::token_to_id, py::arg("token"),
           "Returns a token's id, or None.")
      .def("id_to_token", &Tokenizer::id_to_token, py::arg("id"), "Returns an id's token, or None.")
      .def("is_special", &Tokenizer::is_special, py::arg("id"),
           "Whether it is a special token such as <s>, which texts leave out.")
      .def(
          "token_bytes",
          [](const PyTokenizer& own, int32_t id) { return py::bytes(own.token_bytes(id)); },
          py::arg("id"),
          "Returns the bytes that the token adds within a text; none for an id without a token.")
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size,
                             "The largest id plus one, including added tokens.")
      .def("__len__", &Tokenizer::vocab_size)
      .def(
          "get_vocab", [](const PyTokenizer& own) { return vocabulary(own, false); },
          "Returns {token: id}, including added tokens.")
      .def_property_readonly(
          "special_tokens", [](const PyTokenizer& own) { return vocabulary(own, true); },
          "{token: id} of the special tokens.")
      .def(py::pickle(
          [](const PyTokenizer& own) { return path_of(own.path, "tokenizer"); },
          [](const py::tuple& path) { return open_tokenizer(path[0].cast<std::string>()); }))
      .def(
          "stream",
          [](const PyTokenizer& own, bool skip_special_tokens) {
            return StreamDecoder(own, skip_special_tokens);
          },
          py::arg("skip_special_tokens") = true,
          "Returns a TextStream, which decodes ids as they arrive.");
  py::class_<StreamDecoder>(module, "TextStream", docs::kTextStream)
      .def("push", &StreamDecoder::push, py::arg("id"),
           "Returns the text that is certain after this id; often empty.")
      .def("finish", &StreamDecoder::finish, "Returns the rest; no ids may follow.");
  bind_template(module);
}

}  // namespace pippin::python
