#include "pippin/python/language.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "pippin/api/device.h"
#include "pippin/app/facts/machine.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/error.h"
#include "pippin/engine/cache_type.h"
#include "pippin/io/load_cache.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"
#include "pippin/python/generation.h"
#include "pippin/python/message_images.h"
#include "pippin/python/options.h"
#include "pippin/python/tokenizer.h"
#include "pippin/runtime/draft/draft_model.h"
#include "pippin/runtime/run_adapter.h"

namespace pippin::python {

namespace py = pybind11;

std::shared_ptr<runtime::Drafts> PyLanguageModel::drafts_by(const PyLanguageModel& draft,
                                                            int64_t most) const {
  const runtime::LoadedModel& smaller = draft.parts().model;
  const std::lock_guard lock(mutex_);
  if (drafts_ != nullptr && drafts_model_ == smaller.model.get() && drafts_most_ == most) {
    return drafts_;
  }
  runtime::DraftOptions options;
  if (most > 0) options.most = most;
  options.always = most > 0;
  options.lookup = most < 0;
  options.model = std::make_shared<runtime::DraftModel>(smaller.model, parts().model.tokenizer,
                                                        smaller.tokenizer);
  drafts_ = std::make_shared<runtime::Drafts>(options);
  drafts_model_ = smaller.model.get();
  drafts_most_ = most;
  return drafts_;
}

void PySequence::fail_busy() {
  fail(ErrorCode::InvalidArgument,
       "a text is being written into the sequence, and has neither ended nor been closed");
}

namespace {

std::vector<Message> messages_of(const py::list& given) {
  std::vector<Message> messages;
  for (const py::handle one : given) {
    if (!py::isinstance<py::dict>(one)) {
      fail(ErrorCode::InvalidArgument, "messages are dicts with \"role\" and \"content\"");
    }
    const auto message = py::reinterpret_borrow<py::dict>(one);
    Message made;
    Options members(message);
    members.take("role", made.role);
    const py::object content = members.take_object("content");
    if (py::isinstance<py::list>(content) || py::isinstance<py::tuple>(content)) {
      fail(ErrorCode::InvalidArgument,
           "content: prompt() takes lists of parts, encode_chat() takes texts");
    }
    members.take("content", made.content);
    if (made.role.empty()) fail(ErrorCode::InvalidArgument, "a message has no role");
    messages.push_back(std::move(made));
  }
  return messages;
}

engine::Precision precision_of(const std::string& name) {
  if (name == "fast") return engine::Precision::Fast;
  if (name == "exact") return engine::Precision::Exact;
  if (name == "reference") return engine::Precision::Reference;
  fail(ErrorCode::InvalidArgument, "precision: \"{}\" is not fast, exact or reference", name);
}

std::unique_ptr<PyLanguageModel> open(const LoadArguments& given, const py::object& progress) {
  LanguageModelOptions options;
  options.tokenizer = given.tokenizer;
  options.chat_template = given.chat_template;
  options.context = given.context;
  options.threads = given.num_threads;
  options.adapter = given.adapter;
  options.mmproj = given.mmproj;
  for (const std::string& text : given.lora) {
    options.run_adapters.push_back(runtime::parse_run_adapter(text));
  }
  options.low_memory = given.low_memory;
  options.cache_type = engine::read_cache_type("cache_type", given.cache_type);
  options.compute.precision = precision_of(given.precision);
  set_backend(options.compute, given.backend, given.compute_units);
  if (given.load_cache) options.compute.cache = default_load_cache();
  std::optional<LanguageModel> model;
  run_work([&](BackgroundWork& background) {
    if (!progress.is_none()) {
      options.progress = [&](const std::string& repository, uint64_t done, uint64_t total) {
        background.call_python([&] { progress(repository, done, total); });
      };
    }
    model.emplace(LanguageModel::load(given.path, options));
  });
  return std::make_unique<PyLanguageModel>(*model, given);
}

std::unique_ptr<PyLanguageModel> load(
    const std::string& path, const std::string& tokenizer, const std::string& chat_template,
    int64_t context, int num_threads, const std::string& adapter, const std::string& mmproj,
    const std::string& precision, bool low_memory, bool load_cache, const std::string& backend,
    const std::string& compute_units, const std::string& cache_type,
    const std::vector<std::string>& lora, const py::object& progress) {
  return open({path, tokenizer, chat_template, adapter, mmproj, precision, backend, compute_units,
               cache_type, context, num_threads, low_memory, load_cache, lora},
              progress);
}

py::tuple state_of(const PyLanguageModel& own) {
  const LoadArguments& given = own.arguments();
  return py::make_tuple(given.path, given.tokenizer, given.chat_template, given.adapter,
                        given.mmproj, given.precision, given.backend, given.compute_units,
                        given.cache_type, given.context, given.num_threads, given.low_memory,
                        given.load_cache, given.lora);
}

std::unique_ptr<PyLanguageModel> model_of(const py::tuple& state) {
  size_t place = 0;
  const auto next = [&](auto& member) {
    member = state[place++].cast<std::remove_reference_t<decltype(member)>>();
  };
  LoadArguments given;
  next(given.path);
  next(given.tokenizer);
  next(given.chat_template);
  next(given.adapter);
  next(given.mmproj);
  next(given.precision);
  next(given.backend);
  next(given.compute_units);
  next(given.cache_type);
  next(given.context);
  next(given.num_threads);
  next(given.low_memory);
  next(given.load_cache);
  next(given.lora);
  return open(given, py::none());
}

// -log of the probability of each token after those before it, except the first.
std::vector<float> losses_of(Sequence& sequence, std::span<const int32_t> ids) {
  constexpr size_t kPiece = 64;  // rows of logits in memory at a time
  std::vector<float> losses;
  const auto width = static_cast<size_t>(sequence.model().vocab_size());
  for (size_t first = 0; first + 1 < ids.size(); first += kPiece) {
    const size_t count = std::min(kPiece, ids.size() - 1 - first);
    const std::vector<float> rows = sequence.all_logits(ids.subspan(first, count));
    for (size_t i = 0; i < count; ++i) {
      const auto next = log_softmax({rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                                     rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)});
      losses.push_back(-next[static_cast<size_t>(ids[first + i + 1])]);
    }
  }
  return losses;
}

py::array_t<float> losses(const PyLanguageModel& model, const std::vector<int32_t>& tokens) {
  if (tokens.size() < 2) {
    fail(ErrorCode::InvalidArgument, "{} tokens: the second one is the first with a loss",
         tokens.size());
  }
  std::vector<float> result;
  run_work([&](BackgroundWork& /*background*/) {
    runtime::check_vocabulary(*model.parts().model.model, tokens);
    result = losses_of(*model.model().new_sequence(), tokens);
  });
  return py::array_t<float>(static_cast<py::ssize_t>(result.size()), result.data());
}

// The logits after each token.
py::array_t<float> all_logits(const PyLanguageModel& model, const std::vector<int32_t>& tokens,
                              PySequence* sequence) {
  std::vector<float> result;
  run_work([&](BackgroundWork& /*background*/) {
    runtime::check_ids(*model.parts().model.model, tokens);
    if (sequence != nullptr) {
      result = sequence->idle().all_logits(tokens);
    } else {
      result = model.model().new_sequence()->all_logits(tokens);
    }
  });
  const auto rows = static_cast<py::ssize_t>(tokens.size());
  return py::array_t<float>(
      {rows, static_cast<py::ssize_t>(result.size()) / std::max<py::ssize_t>(rows, 1)},
      result.data());
}

VisionPrompt conversation_prompt(const PyLanguageModel& own, const py::object& messages,
                                 MessageImages& images, const PyTemplate* chat,
                                 const py::dict& variables) {
  const app::Conversation conversation =
      conversation_of(images.take(messages), variables, PromptEnd::Generation);
  VisionPrompt result;
  run_work([&](BackgroundWork& /*background*/) {
    const std::vector<MessageImage> files = images.read();
    const auto& model = own.parts().model;
    result =
        app::conversation_prompt(model, chat == nullptr ? app::chat_template(model) : chat->chat,
                                 conversation, app::image_files(files));
  });
  return result;
}

VisionPrompt prompt(const PyLanguageModel& own, const py::object& given,
                    const py::object& given_images, bool add_special_tokens, const PyTemplate* chat,
                    const py::kwargs& variables) {
  MessageImages images(given_images);
  if (!py::isinstance<py::str>(given)) {
    return conversation_prompt(own, given, images, chat, variables);
  }
  if (chat != nullptr || !variables.empty()) {
    fail(ErrorCode::InvalidArgument, "a text takes neither chat_template nor its variables");
  }
  images.take_rest();
  const auto text = given.cast<std::string>();
  VisionPrompt result;
  run_work([&](BackgroundWork& /*background*/) {
    const std::vector<MessageImage> files = images.read();
    result = app::text_prompt(own.parts().model, text, add_special_tokens, app::image_files(files));
  });
  return result;
}

void bind_prompt(py::module_& module) {
  py::class_<VisionPrompt>(module, "VisionPrompt", docs::kVisionPrompt)
      .def_property_readonly(
          "tokens", [](const VisionPrompt& own) { return own.ids; },
          "The tokens. Rows of images have negative ones.")
      .def("__len__", [](const VisionPrompt& own) { return own.ids.size(); })
      .def("after", &runtime::prompt_after, py::arg("count"),
           "Returns the prompt without its first `count` tokens, for a sequence that has them. "
           "Raises InvalidArgumentError for more tokens than it has, and if it would begin within "
           "an image.");
}

void bind_sequence(py::module_& module) {
  const auto fork = [](PySequence& own) {
    std::unique_ptr<Sequence> made;
    const Sequence& sequence = own.idle();
    without_lock([&] { made = sequence.fork(); });
    return std::make_shared<PySequence>(std::move(made));
  };
  py::class_<PySequence, std::shared_ptr<PySequence>>(module, "Sequence", docs::kSequence)
      .def_property_readonly(
          "position", [](const PySequence& own) { return own.position(); }, "The number of tokens.")
      .def_property_readonly(
          "adapters",
          [](const PySequence& own) {
            const auto numbers = own.idle().adapters();
            return std::vector<float>(numbers.begin(), numbers.end());
          },
          "What the changes of the model's adapters are multiplied by, one number for each.")
      .def(
          "set_adapters",
          [](PySequence& own, const std::vector<float>& numbers) {
            own.idle().set_adapters(numbers);
          },
          py::arg("numbers"),
          "Sets what the changes of the model's adapters (LanguageModel.adapters) are multiplied "
          "by: one number for each, 0 for no change. Raises InvalidArgumentError for another "
          "number "
          "of numbers, and for a sequence with tokens.")
      .def_property_readonly(
          "tokens",
          [](const PySequence& own) {
            const auto tokens = own.idle().tokens();
            return std::vector<int32_t>(tokens.begin(), tokens.end());
          },
          "The tokens.")
      .def_property_readonly(
          "earliest", [](const PySequence& own) { return own.idle().earliest(); },
          "The smallest count, other than 0, that truncate() accepts now.")
      .def(
          "truncate", [](PySequence& own, int64_t count) { own.idle().truncate(count); },
          py::arg("count"),
          "Keeps the first `count` tokens. Raises InvalidArgumentError for more than there are, "
          "UnsupportedError if the model cannot go back that far (earliest).")
      .def(
          "reset", [](PySequence& own) { own.idle().reset(); }, "Forgets all tokens.")
      .def(
          "save",
          [](PySequence& own, const std::filesystem::path& path) {
            Sequence& sequence = own.idle();
            without_lock([&] { sequence.save(path); });
          },
          py::arg("path"),
          "Writes a file for restore(). Raises UnsupportedError if the model cannot, "
          "InputOutputError.")
      .def(
          "restore",
          [](PySequence& own, const std::filesystem::path& path) {
            Sequence& sequence = own.idle();
            without_lock([&] { sequence.restore(path); });
          },
          py::arg("path"),
          "Restores a sequence of the same model from a file. Raises NotFoundError, "
          "InvalidFileError for a damaged file, UnsupportedError for another version, and "
          "InvalidArgumentError for a file of another model or context; nothing changes then.")
      .def("fork", fork,
           "Returns an independent copy. Raises UnsupportedError if the model cannot, "
           "LimitExceededError.");
}

}  // namespace

void bind_language(py::module_& module) {
  bind_sequence(module);
  bind_prompt(module);
  module.def("_peak_memory", &app::peak_memory_bytes, "The peak memory of this process, in bytes.");
  py::class_<PyLanguageModel>(module, "LanguageModel", docs::kLanguageModel)
      .def(py::init(&load), py::arg("path"), py::kw_only(), py::arg("tokenizer") = "",
           py::arg("chat_template") = "", py::arg("context") = 0, py::arg("num_threads") = 0,
           py::arg("adapter") = "", py::arg("mmproj") = "", py::arg("precision") = "fast",
           py::arg("low_memory") = false, py::arg("load_cache") = true, py::arg("backend") = "cpu",
           py::arg("compute_units") = "", py::arg("cache_type") = "f16",
           py::arg("lora") = std::vector<std::string>(), py::arg("progress") = py::none())
      .def(py::pickle(&state_of, &model_of))
      .def_property_readonly(
          "name", [](const PyLanguageModel& own) { return own.model().name(); },
          "The model's name.")
      .def_property_readonly(
          "context", [](const PyLanguageModel& own) { return own.model().context(); },
          "The most tokens that a sequence can have.")
      .def_property_readonly(
          "vocab_size", [](const PyLanguageModel& own) { return own.model().vocab_size(); },
          "The number of tokens in the vocabulary.")
      .def_property_readonly(
          "adapters",
          [](const PyLanguageModel& own) {
            std::vector<std::string> names;
            for (const auto& adapter : own.parts().model.model->adapters()) {
              names.push_back(adapter.name);
            }
            return names;
          },
          "The names of the adapters that sequences choose from: Sequence.set_adapters().")
      .def_property_readonly(
          "end_tokens", [](const PyLanguageModel& own) { return own.model().end_tokens(); },
          "Tokens that end a text or an answer.")
      .def_property_readonly(
          "has_chat_template",
          [](const PyLanguageModel& own) { return own.model().has_chat_template(); },
          "Whether it can render conversations.")
      .def_property_readonly(
          "takes_images", [](const PyLanguageModel& own) { return own.model().takes_images(); },
          "Whether messages may have images.")
      .def_property_readonly(
          "can_truncate",
          [](const PyLanguageModel& own) { return own.model().capabilities().truncate; },
          "Whether sequences can drop their last tokens.")
      .def_property_readonly(
          "tokenizer",
          [](const PyLanguageModel& own) { return PyTokenizer(own.parts().model.tokenizer, ""); },
          "Its tokenizer.")
      .def_property_readonly(
          "chat_template",
          [](const PyLanguageModel& own) -> std::optional<PyTemplate> {
            const auto& model = own.parts().model;
            if (model.template_error) throw Error(*model.template_error);
            if (!model.chat_template) return std::nullopt;
            return PyTemplate{*model.chat_template};
          },
          "Its chat template, or None.")
      .def(
          "encode",
          [](const PyLanguageModel& own, const std::string& text, bool add_special_tokens) {
            std::vector<int32_t> ids;
            without_lock([&] { ids = own.model().encode(text, add_special_tokens); });
            return ids;
          },
          py::arg("text"), py::arg("add_special_tokens") = true,
          "Returns the tokens of a text. Raises LimitExceededError beyond 2^30 bytes.")
      .def(
          "encode_chat",
          [](const PyLanguageModel& own, const py::list& messages) {
            return own.model().encode(messages_of(messages));
          },
          py::arg("messages"),
          "Returns the tokens of a conversation, dicts with \"role\" and \"content\", up to where "
          "the answer begins. Raises InvalidArgumentError without a chat template, or if the "
          "template rejects the conversation.")
      .def("prompt", &prompt, py::arg("prompt"), py::arg("images") = py::none(), py::kw_only(),
           py::arg("add_special_tokens") = true, py::arg("chat_template") = py::none(),
           docs::kPrompt)
      .def(
          "decode",
          [](const PyLanguageModel& own, const std::vector<int32_t>& ids, bool skip) {
            return own.model().decode(ids, skip);
          },
          py::arg("ids"), py::arg("skip_special_tokens") = true,
          "Returns the text of tokens; ids that are not in the vocabulary are skipped.")
      .def(
          "new_sequence",
          [](const PyLanguageModel& own) {
            return std::make_shared<PySequence>(own.model().new_sequence());
          },
          "Returns a sequence without tokens. Raises LimitExceededError, and UnsupportedError for "
          "a second sequence of a model that can have only one.")
      .def(
          "generate",
          [](const PyLanguageModel& own, const std::shared_ptr<PySequence>& sequence,
             const PyPrompt& prompt, const py::dict& options) {
            return std::make_unique<Generation>(own, sequence, prompt_of(prompt), options);
          },
          py::arg("sequence"), py::arg("prompt"), py::arg("options") = py::dict(),
          "Appends the prompt, a list of tokens or a VisionPrompt, to the sequence and returns a "
          "Generation, which yields the text after it. Raises InvalidArgumentError for unknown "
          "options and values "
          "out of range; the Generation raises LimitExceededError if the prompt does not fit.")
      .def("generate_together", &generate_together, py::arg("prompts"), py::arg("sequences"),
           py::arg("options"), py::arg("at_most") = 32, py::arg("keep_sequences") = false,
           py::arg("progress") = py::none(),
           "Generates a text after each prompt, lists of tokens or VisionPrompts; the sequences "
           "share passes over the weights. Raises the errors of generate().")
      .def("losses", &losses, py::arg("tokens"),
           "Returns -log of the probability of each token but the first, float32 (tokens - 1,). "
           "Raises InvalidArgumentError for fewer than two tokens and for ids that are not in the "
           "vocabulary, LimitExceededError beyond the context.")
      .def("_all_logits", &all_logits, py::arg("tokens"), py::arg("sequence") = py::none())
      .def(
          "__call__",
          [](const py::object& own, const py::object& inputs, const py::object& cache) {
            return py::module_::import("pippin.lm.utils").attr("_logits")(own, inputs, cache);
          },
          py::arg("inputs"), py::arg("cache") = py::none(),
          "Logits [rows, tokens, vocabulary] of rows of tokens, which continue a cache.");
}

}  // namespace pippin::python
