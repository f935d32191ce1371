#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pippin/api/llm.h"
#include "pippin/base/error.h"
#include "pippin/base/thread.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using namespace std::chrono_literals;

// How long a wait goes on before signals are looked at.
constexpr auto kPatience = 50ms;
// Tokens that may be ready before somebody asks for them: the model need not wait for Python.
constexpr size_t kAhead = 2;

struct PySequence {
  std::unique_ptr<Sequence> sequence;
};

// A text on its way: a thread of the library's writes it, Python takes token after token.
class Generation {
 public:
  Generation(LanguageModel model, std::shared_ptr<PySequence> sequence, std::vector<int32_t> prompt,
             TextSettings settings)
      : sequence_(std::move(sequence)),
        thread_([this, model = std::move(model), prompt = std::move(prompt),
                 settings = std::move(settings)] {
          try {
            const CancelScope scope(cancel_);
            completion_ = model.generate_tokens(
                *sequence_->sequence, prompt, settings,
                [this](int32_t id, std::string_view piece) { return give(id, piece); });
          } catch (...) {
            error_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          has_ended_ = true;
          changed_.notify_all();
        }) {}
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() { close(); }

  // The next token and its text. Ends with StopIteration. Ctrl-C ends the text.
  std::pair<int32_t, std::string> next() {
    while (true) {
      std::optional<std::pair<int32_t, std::string>> token;
      bool is_over = false;
      without_lock([&] {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kPatience, [&] { return !tokens_.empty() || has_ended_; });
        if (!tokens_.empty()) {
          token = std::move(tokens_.front());
          tokens_.pop_front();
          changed_.notify_all();
        } else {
          is_over = has_ended_;
        }
      });
      if (token) return *token;
      if (is_over && error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
      if (is_over) throw py::stop_iteration();
      try {
        check_signals();
      } catch (...) {
        close();
        throw;
      }
    }
  }

  // Ends the text, and waits for that: the sequence can be used again.
  void close() {
    cancel_.request();
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      changed_.notify_all();
    }
    without_lock([&] { thread_ = {}; });
  }

  // After the end.
  const Completion& completion() {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) fail(ErrorCode::InvalidArgument, "the text has not ended yet");
    return completion_;
  }

 private:
  bool give(int32_t id, std::string_view piece) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tokens_.size() < kAhead || is_closed_; });
    if (is_closed_) return false;
    tokens_.emplace_back(id, piece);
    changed_.notify_all();
    return true;
  }

  const std::shared_ptr<PySequence> sequence_;
  CancelToken cancel_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::pair<int32_t, std::string>> tokens_;
  bool has_ended_ = false, is_closed_ = false;
  Completion completion_;
  std::exception_ptr error_;
  Thread thread_;  // first to go
};

// Options by name, each of which has to be known.
class Options {
 public:
  explicit Options(py::dict given) : given_(std::move(given)) {}

  template <typename T>
  void take(const char* name, T& option) {
    known_.insert(name);
    if (!given_.contains(name) || given_[name].is_none()) return;
    try {
      option = given_[name].cast<T>();
    } catch (const py::cast_error&) {
      fail(ErrorCode::InvalidArgument, "{}: {} is of the wrong type", name,
           std::string(py::str(py::repr(given_[name]))));
    }
  }
  // After all of them were taken.
  void refuse_others() const {
    for (const auto& [key, value] : given_) {
      const auto name = key.cast<std::string>();
      if (!known_.contains(name)) {
        fail(ErrorCode::InvalidArgument, "there is no option \"{}\"", name);
      }
    }
  }

 private:
  const py::dict given_;
  std::set<std::string> known_;
};

// Sampling options, and those of texts, by name.
TextSettings settings_of(const LanguageModel& model, const py::dict& given) {
  Options options(given);
  TextSettings settings;
  SamplingOptions sampling = model.default_sampling();
  options.take("temperature", sampling.temperature);
  options.take("top_k", sampling.top_k);
  options.take("top_p", sampling.top_p);
  options.take("min_p", sampling.min_p);
  options.take("typical_p", sampling.typical_p);
  options.take("xtc_probability", sampling.xtc_probability);
  options.take("xtc_threshold", sampling.xtc_threshold);
  options.take("repetition_penalty", sampling.repetition_penalty);
  options.take("presence_penalty", sampling.presence_penalty);
  options.take("frequency_penalty", sampling.frequency_penalty);
  options.take("penalty_last_n", sampling.penalty_last_n);
  options.take("logit_bias", sampling.logit_bias);
  options.take("seed", sampling.seed);
  settings.sampling = std::move(sampling);
  options.take("max_tokens", settings.max_tokens);
  options.take("stop", settings.stop);
  options.take("drafts", settings.drafts);
  constexpr std::pair<const char*, TextForm::Kind> kForms[] = {
      {"json_schema", TextForm::Kind::JsonSchema},
      {"grammar", TextForm::Kind::Grammar},
      {"regex", TextForm::Kind::Regex}};
  for (const auto& [name, kind] : kForms) {
    std::string text;
    options.take(name, text);
    if (!text.empty()) settings.form = TextForm{kind, text, {}};
  }
  std::vector<std::string> choices;
  options.take("choices", choices);
  if (!choices.empty()) settings.form = TextForm{TextForm::Kind::Choice, {}, choices};
  options.refuse_others();
  return settings;
}

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
    members.take("content", made.content);
    if (made.role.empty()) fail(ErrorCode::InvalidArgument, "a message has no role");
    messages.push_back(std::move(made));
  }
  return messages;
}

LanguageModel load(const std::string& path, const std::string& tokenizer,
                   const std::string& chat_template, int64_t context, int num_threads) {
  LanguageModelOptions options;
  options.tokenizer = tokenizer;
  options.chat_template = chat_template;
  options.context = context;
  options.threads = num_threads;
  std::optional<LanguageModel> model;
  without_lock([&] { model.emplace(LanguageModel::load(path, options)); });
  return *model;
}

void bind_sequence(py::module_& module) {
  py::class_<PySequence, std::shared_ptr<PySequence>>(module, "Sequence", docs::kSequence)
      .def_property_readonly(
          "position", [](const PySequence& own) { return own.sequence->position(); },
          "How many tokens it has.")
      .def_property_readonly(
          "tokens",
          [](const PySequence& own) {
            const auto tokens = own.sequence->tokens();
            return std::vector<int32_t>(tokens.begin(), tokens.end());
          },
          "The tokens.")
      .def(
          "truncate", [](PySequence& own, int64_t count) { own.sequence->truncate(count); },
          py::arg("count"), "Keeps the first `count` tokens.")
      .def(
          "reset", [](PySequence& own) { own.sequence->reset(); }, "Forgets all tokens.")
      .def(
          "save",
          [](PySequence& own, const std::string& path) {
            without_lock([&] { own.sequence->save(path); });
          },
          py::arg("path"), "Writes the tokens and what was computed of them to a file.")
      .def(
          "restore",
          [](PySequence& own, const std::string& path) {
            without_lock([&] { own.sequence->restore(path); });
          },
          py::arg("path"), "Reads what save() of the same model wrote.")
      .def(
          "fork",
          [](PySequence& own) {
            return std::make_shared<PySequence>(PySequence{own.sequence->fork()});
          },
          "A second one with the same tokens, to go on in two ways.");
}

}  // namespace

void bind_language(py::module_& module) {
  bind_sequence(module);
  py::class_<Generation>(module, "Generation", docs::kGeneration)
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Generation::next)
      .def("close", &Generation::close, "Ends the text; the sequence can be used again.")
      .def_property_readonly(
          "reason",
          [](Generation& own) { return std::string(runtime::to_string(own.completion().reason)); },
          "Why it ended; after the end.")
      .def_property_readonly(
          "text", [](Generation& own) { return own.completion().text; },
          "The whole text; after the end.")
      .def_property_readonly(
          "tokens", [](Generation& own) { return own.completion().ids; },
          "Its tokens; after the end.")
      .def_property_readonly(
          "timings",
          [](Generation& own) {
            const runtime::Timings& timings = own.completion().timings;
            const runtime::Statistics statistics = runtime::summarize(timings);
            py::dict result;
            result["prompt_tokens"] = timings.prompt_tokens;
            result["prompt_seconds"] = timings.prompt_seconds;
            result["prompt_tokens_per_second"] = statistics.prompt_tokens_per_second;
            result["first_token_seconds"] = timings.first_token_seconds;
            result["tokens_per_second"] = statistics.tokens_over_elapsed;
            return result;
          },
          "How long it took, and tokens per second; after the end.");
  py::class_<LanguageModel>(module, "LanguageModel", docs::kLanguageModel)
      .def(py::init(&load), py::arg("path"), py::kw_only(), py::arg("tokenizer") = "",
           py::arg("chat_template") = "", py::arg("context") = 0, py::arg("num_threads") = 0)
      .def_property_readonly("name", &LanguageModel::name, "What the model is called.")
      .def_property_readonly("context", &LanguageModel::context,
                             "The most tokens that a sequence can have.")
      .def_property_readonly("vocab_size", &LanguageModel::vocab_size, "How many tokens there are.")
      .def_property_readonly("end_tokens", &LanguageModel::end_tokens,
                             "Tokens that end a text or an answer.")
      .def_property_readonly("has_chat_template", &LanguageModel::has_chat_template,
                             "Whether it can render conversations.")
      .def(
          "encode",
          [](const LanguageModel& model, const std::string& text, bool add_special_tokens) {
            return model.encode(text, add_special_tokens);
          },
          py::arg("text"), py::arg("add_special_tokens") = true, "The tokens of a text.")
      .def(
          "encode_chat",
          [](const LanguageModel& model, const py::list& messages) {
            return model.encode(messages_of(messages));
          },
          py::arg("messages"), "Tokens of a conversation, up to where the answer begins.")
      .def(
          "decode",
          [](const LanguageModel& model, const std::vector<int32_t>& ids, bool skip) {
            return model.decode(ids, skip);
          },
          py::arg("ids"), py::arg("skip_special_tokens") = true, "The text of tokens.")
      .def(
          "new_sequence",
          [](const LanguageModel& model) {
            return std::make_shared<PySequence>(PySequence{model.new_sequence()});
          },
          "A sequence without tokens.")
      .def(
          "generate",
          [](const LanguageModel& model, const std::shared_ptr<PySequence>& sequence,
             const std::vector<int32_t>& prompt, const py::dict& options) {
            return std::make_unique<Generation>(model, sequence, prompt,
                                                settings_of(model, options));
          },
          py::arg("sequence"), py::arg("prompt"), py::arg("options") = py::dict(),
          "Appends the prompt to the sequence and writes a text behind it.");
}

}  // namespace pippin::python
