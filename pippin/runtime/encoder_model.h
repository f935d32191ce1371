// A model that embeds or scores texts: ids in, a row of numbers for each text out. It runs the
// programs that encoder_schema.h finds, whatever tool made them.
//
// Texts of similar length are computed together, few enough at once that what lies between two
// layers stays near the processor; each gets what it would get alone, up to rounding. A program of
// fixed sizes gets padding, which its mask hides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/fork.h"
#include "pippin/base/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/encoder_schema.h"
#include "pippin/runtime/load_options.h"

namespace pippin::runtime {

struct EncoderText {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // as many as ids, or none: all are 0
  size_t unpooled = 0;         // of the first tokens: those of a prompt, where the model skips them
};

class EncoderModel {
 public:
  // Whether a program is one.
  static bool takes(const mil::Model& model);

  // Throws Unsupported where the program is none, and as engine::Plan::make() when texts of a
  // length are run first.
  EncoderModel(std::shared_ptr<const mil::Model> model, std::shared_ptr<ThreadPool> pool,
               const LoadOptions& options);
  ~EncoderModel();

  bool scores() const { return schema_.scores; }  // logits instead of embeddings
  bool is_sigmoid() const { return sigmoid_; }    // a score is the sigmoid of its logit
  bool skips_prompts() const { return skips_prompts_; }
  int64_t max_tokens() const { return max_tokens_; }
  const mil::Model& program() const { return *model_; }

  // One row for each text, in their order. Any thread. Throws InvalidArgument for a text that is
  // empty or too long, or an id that the model has not, with its number; Cancelled.
  std::vector<std::vector<float>> run(std::span<const EncoderText> texts);

 private:
  struct LengthClass;

  void check(const EncoderText& text, size_t number) const;
  LengthClass& class_of(int64_t length);
  void fill(engine::Execution& execution, size_t port, const EncoderText& text, size_t row,
            size_t length) const;
  std::vector<float> pooled(std::span<const float> states, size_t tokens) const;
  void run_together(std::span<const EncoderText> texts, std::span<const size_t> rows,
                    std::vector<std::vector<float>>& results);

  std::shared_ptr<const mil::Model> model_;
  std::shared_ptr<ThreadPool> pool_;
  engine::ComputeOptions compute_;
  EncoderSchema schema_;
  bool sigmoid_, skips_prompts_;
  int64_t max_tokens_, max_batch_, vocabulary_, types_;
  ForkMutex mutex_;
  std::map<int64_t, std::unique_ptr<LengthClass>> classes_;  // by their longest text
  engine::State state_;
};

}  // namespace pippin::runtime
