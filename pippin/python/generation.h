// Generates a text: a library thread produces tokens, and Python takes them one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/python/background_work.h"
#include "pippin/python/language.h"
#include "pippin/python/sampling.h"
#include "pippin/python/work_stream.h"
#include "pippin/runtime/text.h"

namespace pippin::python {

// A prompt as Python gives it.
using PyPrompt = std::variant<VisionPrompt, std::vector<int32_t>>;
VisionPrompt prompt_of(const PyPrompt& prompt);

// The scores of one step. Log probabilities are computed on request.
struct Logits {
  Row row;
};

struct Token {
  int32_t id = runtime::kNoToken;  // kNoToken: text held back until the end
  std::string text;
  bool was_drafted = false;
  Row logits;  // null: not wanted
};

// The options that Python passes for a text (generation.cpp lists them by name).
struct TextRequest {
  runtime::TextOptions options;
  std::shared_ptr<ScoreTap> tap;  // null: use the model's own logits
  bool keeps_logits = false;
  int64_t piece = 0;  // prompt tokens between two reports; 0: one pass
  std::function<void(int64_t done, int64_t total)> progress;  // called by the work's thread
};
// Throws InvalidArgument or Unsupported for unknown options and invalid values.
TextRequest request_of(const PyLanguageModel& model, const pybind11::dict& options,
                       BackgroundWork& background, uint64_t number = 0);
// Calls `token` with each chosen token and its logits.
void watch(TextRequest& request, std::function<void(const runtime::ChosenToken&, Row)> token);

class Generation {
 public:
  Generation(const PyLanguageModel& model, std::shared_ptr<PySequence> sequence,
             VisionPrompt prompt, const pybind11::dict& options);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() { close(); }

  // Throws StopIteration at the end. Ctrl-C and exceptions of callbacks end the text.
  Token next();
  // Ends the text and waits for the thread; then the sequence can be used again.
  void close() { stream_.close(); }
  // The result. Throws InvalidArgument before the end.
  const runtime::TextResult& result();
  // The end token that ended the text, if one did. Throws the errors of result().
  std::optional<int32_t> end_token();
  // The token that next() returned last; after the end, the end token.
  const Token& last() const { return last_; }

 private:
  void start(Sequence& sequence);
  void write(Sequence& sequence);
  void read_prompt(Sequence& sequence, std::span<const int32_t>& prompt);

  const LanguageModel model_;
  const std::shared_ptr<PySequence> sequence_;
  const VisionPrompt prompt_;
  TextRequest request_;
  runtime::TextResult result_;
  Token chosen_, end_;       // of the thread
  Token last_;               // of Python
  double read_seconds_ = 0;  // for the prompt's pieces
  WorkStream<Token> stream_;
};

// Generates texts for several prompts, `at_most` at a time. Each has its own sequence, which is a
// copy of a given one if there are any. The options of each are those of request_of(). Calls
// progress(finished, all). Throws the errors of request_of() and runtime::generate().
pybind11::dict generate_together(const PyLanguageModel& model, const std::vector<PyPrompt>& prompts,
                                 const std::vector<std::shared_ptr<PySequence>>& begun,
                                 const std::vector<pybind11::dict>& options, int64_t at_most,
                                 bool keeps_sequences, const pybind11::object& progress);

}  // namespace pippin::python
