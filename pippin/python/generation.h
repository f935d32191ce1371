// A text on its way: a thread of the library's writes it, Python takes token after token.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/base/thread.h"
#include "pippin/python/errands.h"
#include "pippin/python/language.h"
#include "pippin/python/sampling.h"
#include "pippin/runtime/text.h"

namespace pippin::python {

// Scores of a token's step; Python makes log probabilities of them when it wants some.
struct Logits {
  Row row;
};

struct Token {
  int32_t id = runtime::kNoToken;  // kNoToken: text that was held back, at the end
  std::string text;
  bool was_drafted = false;
  Row logits;  // null: not asked for
};

// What Python says of a text (generation.cpp lists the options by name).
struct TextRequest {
  runtime::TextOptions options;
  std::shared_ptr<ScoreTap> tap;  // null: logits are the model's own
  bool keeps_logits = false;
  int64_t piece = 0;  // tokens of the prompt between two reports; 0: it is read as a whole
  std::function<void(int64_t done, int64_t total)> progress;  // by the work's thread
};
// Throws InvalidArgument, Unsupported, for options that there are not, or that cannot be.
TextRequest request_of(const PyLanguageModel& model, const pybind11::dict& options,
                       Errands& errands, uint64_t number = 0);
// Has `token` kept with its logits whenever one is chosen.
void watch(TextRequest& request, std::function<void(const runtime::ChosenToken&, Row)> token);

class Generation {
 public:
  Generation(const PyLanguageModel& model, std::shared_ptr<PySequence> sequence,
             std::vector<int32_t> prompt, const pybind11::dict& options);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() { close(); }

  // Ends with StopIteration. Ctrl-C and what callbacks raise end the text.
  Token next();
  // Ends the text, and waits for that: the sequence can be used again.
  void close();
  // After the end. Throws InvalidArgument before.
  const runtime::TextResult& result();
  // The end token that ended it; nothing: something else did. Throws as result().
  std::optional<int32_t> end_token();
  // That next() gave last, behind the end the end token.
  const Token& last() const { return last_; }

 private:
  void start(Sequence& sequence);
  void write(Sequence& sequence);
  void read_prompt(Sequence& sequence, std::span<const int32_t>& prompt);
  bool give(Token token);

  const LanguageModel model_;
  const std::shared_ptr<PySequence> sequence_;
  const std::vector<int32_t> prompt_;
  Errands errands_;
  TextRequest request_;
  runtime::TextResult result_;
  Token chosen_, end_;        // the thread's
  Token last_;                // Python's
  double read_seconds_ = 0;   // of the prompt's pieces
  std::deque<Token> tokens_;  // this and what follows: under the errands' mutex
  bool has_ended_ = false;
  std::exception_ptr error_;
  Thread thread_;  // first to go
};

// Texts behind prompts, each in a sequence of its own (a copy of one that has begun, where there
// are some), `at_most` of them at a time; options of each as request_of() takes them. Calls
// progress(ended, all). Throws as request_of() and runtime::generate().
pybind11::dict generate_together(const PyLanguageModel& model,
                                 const std::vector<std::vector<int32_t>>& prompts,
                                 const std::vector<std::shared_ptr<PySequence>>& begun,
                                 const std::vector<pybind11::dict>& options, int64_t at_most,
                                 bool keeps_sequences, const pybind11::object& progress);

}  // namespace pippin::python
