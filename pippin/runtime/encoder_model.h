// A model that embeds or scores texts: takes ids and returns one row of numbers per text. It runs
// the programs that encoder_schema.h recognizes, whatever tool made them.
//
// Texts of similar length run together, in batches small enough that intermediate values stay in
// the cache. Each text gets the result that it would get alone, up to rounding. A program of fixed
// sizes gets padding, which its mask hides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/encoder_schema.h"
#include "pippin/runtime/load_options.h"

namespace pippin::runtime {

struct EncoderText {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // one per id; empty: all 0
  size_t unpooled = 0;         // leading tokens that pooling skips (the prompt's)
  size_t unseen = 0;           // last tokens that the others do not see, but that have vectors
};

class EncoderModel {
 public:
  // Whether the program is an encoder.
  static bool takes(const mil::Model& model);

  // Throws Unsupported if the program is not an encoder. When texts of a length first run, throws
  // the errors of engine::Plan::make().
  EncoderModel(std::shared_ptr<const mil::Model> model, std::shared_ptr<ThreadPool> pool,
               const LoadOptions& options);
  ~EncoderModel();

  bool scores() const { return schema_.scores; }        // logits, not embeddings
  bool of_tokens() const { return schema_.of_tokens; }  // a row has the vectors of all tokens
  bool is_sigmoid() const { return sigmoid_; }          // a score is the sigmoid of its logit
  bool skips_prompts() const { return skips_prompts_; }
  int64_t max_tokens() const { return max_tokens_; }
  const mil::Model& program() const { return *model_; }

  // Returns one row per text, in order; with token vectors, one after another. May be called by any
  // thread. Throws InvalidArgument, with the text's number, for a text that is empty or too long or
  // an id outside the vocabulary; Cancelled.
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
  bool sees_padding_;  // only texts of equal length run together
  int64_t max_tokens_, max_batch_, vocabulary_, types_;
  int64_t tokens_at_once_;  // in one run
  ForkMutex mutex_;
  std::map<int64_t, std::unique_ptr<LengthClass>> classes_;  // by their longest text
  engine::State state_;
};

}  // namespace pippin::runtime
