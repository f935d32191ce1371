#include "pippin/generate/windowed_model.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/engine/plan.h"
#include "pippin/generate/step_runner.h"
#include "pippin/generate/windowed_schema.h"

namespace pippin::generate {
namespace {

// A package's one function, planned for its declared shapes.
class WindowedPart {
 public:
  WindowedPart(std::filesystem::path path, std::string name, std::shared_ptr<LoadCache> cache)
      : path_(std::move(path)), name_(std::move(name)), cache_(std::move(cache)), state_({}) {
    load();
  }

  const std::string& name() const { return name_; }
  const mil::FunctionDescription& description() const {
    return model_->description(model_->default_function);
  }

  bool is_ready() const { return execution_ != nullptr; }
  void prepare(ThreadPool& pool) {
    if (execution_) return;
    load();
    with_context(name_, [&] {
      engine::PlanOptions options;
      options.cache = cache_;
      execution_ = std::make_unique<engine::Execution>(
          engine::Plan::make(*model_, model_->default_function, options), pool);
      execution_->bind(declared_shapes(execution_->plan(), description()), state_);
    });
  }
  void release() {
    execution_.reset();
    model_.reset();
  }

  engine::Execution& execution() { return *execution_; }
  size_t input_port(const std::string& name) const {
    return find_port(execution_->plan().inputs(), name);
  }
  size_t output_port(const std::string& name) const {
    return find_port(execution_->plan().outputs(), name);
  }
  std::span<float> input(const std::string& name) {
    return execution_->float_input(input_port(name));
  }
  std::span<const float> output(const std::string& name) const {
    return execution_->float_output(output_port(name));
  }

 private:
  void load() {
    if (model_) return;
    model_ = std::make_unique<mil::Model>(mil::read_package(path_));
    if (model_->is_pipeline()) {
      fail(ErrorCode::Unsupported, "{}: a {}, which is no part of a language model", name_,
           to_string(model_->kind));
    }
  }

  std::filesystem::path path_;
  std::string name_;
  std::shared_ptr<LoadCache> cache_;
  engine::State state_;
  std::unique_ptr<mil::Model> model_;
  std::unique_ptr<engine::Execution> execution_;
};

// One thread that does jobs in order; whoever needs a job's result waits for its number.
class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Gives the number to wait for; 0 is no job.
  uint64_t add(std::function<void()> job) {
    uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
      number = ++added_;
    }
    changed_.notify_all();
    return number;
  }

  // Rethrows what a job threw, once.
  void wait(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  void wait_all() noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == added_; });
    error_ = nullptr;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      std::exception_ptr error;
      try {
        job();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) error_ = error;
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  uint64_t added_ = 0, done_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

class WindowedModel final : public LanguageModel {
 public:
  WindowedModel(PackageFolder folder, const WindowedFiles& files, ThreadPool& pool,
                const WindowedOptions& options)
      : folder_(std::move(folder)), pool_(pool), options_(options), cache_pool_(1) {
    std::vector<NamedDescription> descriptions;
    for (const std::string& stem : files.chunks) {
      chunks_.push_back(open(stem));
      descriptions.push_back({chunks_.back()->name(), &chunks_.back()->description()});
    }
    processor_ = open(files.cache_processor);
    schema_ = windowed_schema(descriptions, {processor_->name(), &processor_->description()});
    context_ = options.context > 0 ? std::min(options.context, schema_.context) : schema_.context;
    processor_->prepare(cache_pool_);
    if (!files.logit_processor.empty()) open_logit_processor(files.logit_processor);
    pending_.resize(chunks_.size(), 0);
    caches_.resize(chunks_.size());
    if (options_.low_memory) {
      for (auto& chunk : chunks_) chunk->release();
    } else {
      for (auto& chunk : chunks_) chunk->prepare(pool_);
    }
    find_vocabulary();
  }
  ~WindowedModel() override { worker_.wait_all(); }

  int64_t context() const override { return context_; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t position() const override { return position_; }
  bool slides() const override { return options_.slide; }

  void reset() override {
    worker_.wait_all();
    std::fill(pending_.begin(), pending_.end(), 0);
    for (size_t i = 0; i < chunks_.size(); ++i) {
      caches_[i].clear();
      if (!chunks_[i]->is_ready()) continue;
      for (const WindowedBlock& block : schema_.chunks[i].blocks) {
        for (const std::string& name : {block.k, block.v}) {
          const auto cache = chunks_[i]->input(name);
          std::fill(cache.begin(), cache.end(), 0.0f);
        }
      }
    }
    window_.clear();
    position_ = 0;
    result_row_ = -1;
  }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    feed(ids, false, nullptr, [](int64_t, int64_t) {});
    return logits_;
  }
  std::span<const float> decode(int32_t id) override { return prefill({&id, 1}); }

  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    std::vector<float> rows;
    rows.reserve(ids.size() * static_cast<size_t>(vocab_size_));
    feed(ids, true, nullptr, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row <= last; ++row) {
        take_row(row);
        rows.insert(rows.end(), row_.begin(), row_.end());
      }
    });
    return rows;
  }

  std::optional<int32_t> likeliest() override {
    if (!logit_processor_ || result_row_ < 0 || options_.low_memory) return std::nullopt;
    for (const std::string& part : schema_.logits) {
      const auto values = chunks_.back()->output(part);
      std::copy(values.begin(), values.end(), logit_processor_->input(part).begin());
    }
    logit_processor_->execution().run();
    const auto ids = logit_processor_->execution().int_output(argmax_port_);
    const int32_t id = ids[static_cast<size_t>(result_row_) % ids.size()];
    if (id < 0 || id >= vocab_size_) {
      fail(ErrorCode::InvalidFile, "{}: chose token {} of {}", logit_processor_->name(), id,
           vocab_size_);
    }
    return id;
  }

  std::vector<HiddenStates> trace(std::span<const int32_t> ids) override {
    std::vector<HiddenStates> result(chunks_.size() - 1);
    for (size_t i = 0; i < result.size(); ++i) {
      result[i].name = chunks_[i]->name();
      result[i].width = schema_.width;
    }
    feed(ids, true, &result, [](int64_t, int64_t) {});
    return result;
  }

 private:
  std::unique_ptr<WindowedPart> open(const std::string& stem) {
    return std::make_unique<WindowedPart>(folder_.package(stem), folder_.file_name(stem),
                                          options_.cache);
  }

  void open_logit_processor(const std::string& stem) {
    logit_processor_ = open(stem);
    for (const std::string& part : schema_.logits) {
      const auto& inputs = logit_processor_->description().inputs;
      if (std::none_of(inputs.begin(), inputs.end(),
                       [&](const auto& input) { return input.name == part; })) {
        fail(ErrorCode::InvalidFile, "{}: takes no '{}', which '{}' gives",
             logit_processor_->name(), part, chunks_.back()->name());
      }
    }
    logit_processor_->prepare(pool_);
    argmax_port_ = logit_processor_->output_port("argmax");
  }

  void find_vocabulary() {
    WindowedPart& last = *chunks_.back();
    last.prepare(pool_);
    for (const std::string& part : schema_.logits) {
      const auto shape = last.execution().output_shape(last.output_port(part));
      if (shape.size() < 2 ||
          last.output(part).size() != static_cast<size_t>(schema_.window * shape.back())) {
        fail(ErrorCode::Unsupported, "{}: '{}' does not have a row for each of {} tokens",
             last.name(), part, schema_.window);
      }
      part_sizes_.push_back(shape.back());
      vocab_size_ += shape.back();
    }
    row_.resize(static_cast<size_t>(vocab_size_));
    if (options_.low_memory) last.release();
  }

  // Window by window; use(first, last) gets the rows of each run that are new tokens'.
  template <typename Use>
  void feed(std::span<const int32_t> ids, bool every, std::vector<HiddenStates>* trace, Use&& use) {
    check_ids(*this, ids);
    const auto total = position_ + static_cast<int64_t>(ids.size());
    if (options_.positions > 0 && total > options_.positions) {
      fail(ErrorCode::LimitExceeded,
           "the sequence would have {} tokens, the model's tables have {}", total,
           options_.positions);
    }
    while (!ids.empty()) {
      check_cancel();
      const auto present = static_cast<int64_t>(window_.size());
      const auto count =
          std::min<int64_t>(schema_.window - present, static_cast<int64_t>(ids.size()));
      window_.insert(window_.end(), ids.begin(), ids.begin() + count);
      ids = ids.subspan(static_cast<size_t>(count));
      const bool with_head = every || ids.empty();
      try {
        run_window(position_ + count, with_head, present, trace);
      } catch (...) {
        // Caches of some chunks may be a window ahead: there is no way back.
        reset();
        throw;
      }
      position_ += count;
      result_row_ = present + count - 1;
      if (with_head) {
        use(present, result_row_);
        take_row(result_row_);
      }
      if (static_cast<int64_t>(window_.size()) == schema_.window) window_.clear();
    }
    if (options_.low_memory) chunks_.back()->release();
    logits_ = row_;
  }

  // The tokens so far are `total`; those of the window are in window_.
  void run_window(int64_t total, bool with_head, int64_t first_row,
                  std::vector<HiddenStates>* trace) {
    const bool full = static_cast<int64_t>(window_.size()) == schema_.window;
    const size_t count = chunks_.size() - (with_head ? 0 : 1);
    for (size_t i = 0; i < count; ++i) {
      check_cancel();
      WindowedPart& chunk = *chunks_[i];
      if (pending_[i] != 0) worker_.wait(std::exchange(pending_[i], 0));
      if (!chunk.is_ready()) restore(i);
      if (i == 0) {
        fill_first(chunk, total);
      } else {
        for (const WindowedRoute& route : schema_.chunks[i].routes) fill(chunk, route);
      }
      chunk.execution().run();
      if (options_.low_memory) keep_outputs(i);
      if (trace != nullptr && i < trace->size()) take_hidden(i, first_row, (*trace)[i]);
      if (full && !schema_.chunks[i].blocks.empty()) {
        pending_[i] = worker_.add([this, i] { update_caches(i); });
      }
      if (options_.low_memory && i + 1 < chunks_.size()) release(i);
    }
  }

  void fill_first(WindowedPart& chunk, int64_t total) {
    const int64_t window = schema_.window;
    const auto ids = chunk.execution().int_input(chunk.input_port(schema_.ids));
    std::copy(window_.begin(), window_.end(), ids.begin());
    std::fill(ids.begin() + std::ssize(window_), ids.end(), 0);
    // Padding counts, so that positions come out right.
    const int64_t padded = (total + window - 1) / window * window;
    chunk.execution().int_input(chunk.input_port(schema_.length))[0] = static_cast<int32_t>(padded);
  }

  void fill(WindowedPart& chunk, const WindowedRoute& route) {
    const auto target = chunk.input(route.input);
    std::span<const float> source;
    if (options_.low_memory) {
      source = kept_.at(stored(route));
    } else {
      source = chunks_[route.chunk]->output(route.output);
    }
    if (source.size() != target.size()) {
      fail(ErrorCode::InvalidFile, "'{}' has {} elements in '{}' and {} in '{}'", route.input,
           source.size(), chunks_[route.chunk]->name(), target.size(), chunk.name());
    }
    std::copy(source.begin(), source.end(), target.begin());
  }

  // On the worker's thread: appends the window's columns to the caches, block by block.
  void update_caches(size_t index) {
    WindowedPart& chunk = *chunks_[index];
    const auto move = [](std::span<const float> from, std::span<float> to) {
      std::copy(from.begin(), from.end(), to.begin());
    };
    for (const WindowedBlock& block : schema_.chunks[index].blocks) {
      move(chunk.input(block.k), processor_->input("old_k_cache"));
      move(chunk.input(block.v), processor_->input("old_v_cache"));
      move(chunk.output(block.new_k), processor_->input("new_k_cache"));
      move(chunk.output(block.new_v), processor_->input("new_v_cache"));
      processor_->execution().run();
      move(processor_->output("updated_k_cache"), chunk.input(block.k));
      move(processor_->output("updated_v_cache"), chunk.input(block.v));
    }
  }

  // What chunks that are gone gave: low memory.
  static std::string stored(const WindowedRoute& route) {
    return fmt::format("{}/{}", route.chunk, route.output);
  }

  void keep_outputs(size_t index) {
    for (size_t later = index + 1; later < chunks_.size(); ++later) {
      for (const WindowedRoute& route : schema_.chunks[later].routes) {
        if (route.chunk != index) continue;
        const auto values = chunks_[index]->output(route.output);
        kept_[stored(route)].assign(values.begin(), values.end());
      }
    }
  }

  void restore(size_t index) {
    WindowedPart& chunk = *chunks_[index];
    chunk.prepare(pool_);
    for (const WindowedBlock& block : schema_.chunks[index].blocks) {
      for (const std::string& name : {block.k, block.v}) {
        const auto cache = chunk.input(name);
        const auto kept = caches_[index].find(name);
        if (kept == caches_[index].end()) {
          std::fill(cache.begin(), cache.end(), 0.0f);
        } else {
          std::copy(kept->second.begin(), kept->second.end(), cache.begin());
        }
      }
    }
  }

  void release(size_t index) {
    if (pending_[index] != 0) {
      worker_.wait(std::exchange(pending_[index], 0));
      for (const WindowedBlock& block : schema_.chunks[index].blocks) {
        for (const std::string& name : {block.k, block.v}) {
          const auto cache = chunks_[index]->input(name);
          caches_[index][name].assign(cache.begin(), cache.end());
        }
      }
    }
    chunks_[index]->release();
  }

  void take_row(int64_t row) {
    auto target = row_.begin();
    for (size_t i = 0; i < schema_.logits.size(); ++i) {
      const auto values = chunks_.back()->output(schema_.logits[i]);
      target = std::copy_n(values.begin() + row * part_sizes_[i], part_sizes_[i], target);
    }
  }

  // x is (1, width, 1, window), or the window in a square: a column per token.
  void take_hidden(size_t index, int64_t first_row, HiddenStates& target) {
    for (const char* name : {"new_x", "x"}) {
      const auto outputs = chunks_[index]->execution().plan().outputs();
      if (std::none_of(outputs.begin(), outputs.end(),
                       [&](const engine::Port& port) { return port.name == name; })) {
        continue;
      }
      const auto x = chunks_[index]->output(name);
      for (int64_t row = first_row; row < std::ssize(window_); ++row) {
        for (int64_t c = 0; c < schema_.width; ++c) {
          target.rows.push_back(x[static_cast<size_t>(c * schema_.window + row)]);
        }
      }
      return;
    }
  }

  PackageFolder folder_;  // what was unpacked stays
  ThreadPool& pool_;
  WindowedOptions options_;
  ThreadPool cache_pool_;  // the worker's own
  std::vector<std::unique_ptr<WindowedPart>> chunks_;
  std::unique_ptr<WindowedPart> processor_, logit_processor_;
  WindowedSchema schema_;
  size_t argmax_port_ = 0;
  int64_t context_ = 0, vocab_size_ = 0, position_ = 0;
  int64_t result_row_ = -1;  // of the window, the newest token's
  std::vector<int64_t> part_sizes_;
  std::vector<int32_t> window_;    // the tokens of the window that is not full
  std::vector<uint64_t> pending_;  // by chunk: the job that updates its caches
  std::vector<std::map<std::string, std::vector<float>>> caches_;  // low memory, by chunk
  std::map<std::string, std::vector<float>> kept_;                 // low memory, by route
  std::vector<float> row_;
  std::span<const float> logits_;
  Worker worker_;  // last: its jobs use all of the above
};

}  // namespace

std::unique_ptr<LanguageModel> make_windowed_model(PackageFolder folder, const WindowedFiles& files,
                                                   ThreadPool& pool,
                                                   const WindowedOptions& options) {
  return std::make_unique<WindowedModel>(std::move(folder), files, pool, options);
}

}  // namespace pippin::generate
