#include "pippin/generate/windowed_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/worker.h"
#include "pippin/engine/plan.h"
#include "pippin/generate/step_runner.h"
#include "pippin/generate/windowed_schema.h"

namespace pippin::generate {
namespace {

// A package's one function, planned for its declared shapes.
class WindowedPart {
 public:
  WindowedPart(std::filesystem::path path, std::string name, const engine::ComputeOptions& compute)
      : path_(std::move(path)), name_(std::move(name)), state_({}) {
    plan_options_.compute = compute;
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
      execution_ = std::make_unique<engine::Execution>(
          engine::Plan::make(*model_, model_->default_function, plan_options_), pool);
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
  std::span<float> input(const std::string& name, size_t seat = 0) {
    return execution_->float_input(input_port(name), seat);
  }
  std::span<const float> output(const std::string& name, size_t seat = 0) const {
    return execution_->float_output(output_port(name), seat);
  }
  void reserve_seats(size_t count) {
    execution_->reserve_seats(count);
    const auto shapes = declared_shapes(execution_->plan(), description());
    for (size_t seat = 0; seat < count; ++seat) execution_->bind(shapes, state_, seat);
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
  engine::PlanOptions plan_options_;
  engine::State state_;
  std::unique_ptr<mil::Model> model_;
  std::unique_ptr<engine::Execution> execution_;
};

// What the sequences of a model share: its packages, and the thread that keeps caches up to date.
struct WindowedShared {
  WindowedShared(PackageFolder given_folder, const WindowedFiles& files, ThreadPool& threads,
                 const WindowedOptions& given_options)
      : folder(std::move(given_folder)), pool(threads), options(given_options), cache_pool(1) {
    std::vector<NamedDescription> descriptions;
    for (const std::string& stem : files.chunks) {
      chunks.push_back(open(stem));
      descriptions.push_back({chunks.back()->name(), &chunks.back()->description()});
    }
    processor = open(files.cache_processor);
    schema = windowed_schema(descriptions, {processor->name(), &processor->description()});
    context = options.context > 0 ? std::min(options.context, schema.context) : schema.context;
    processor->prepare(cache_pool);
    if (!files.logit_processor.empty()) open_logit_processor(files.logit_processor);
    if (options.low_memory) {
      for (auto& chunk : chunks) chunk->release();
    } else {
      for (auto& chunk : chunks) chunk->prepare(pool);
    }
    find_vocabulary();
  }
  std::unique_ptr<WindowedPart> open(const std::string& stem) {
    return std::make_unique<WindowedPart>(folder.package(stem), folder.file_name(stem),
                                          options.compute);
  }

  void open_logit_processor(const std::string& stem) {
    logit_processor = open(stem);
    for (const std::string& part : schema.logits) {
      const auto& inputs = logit_processor->description().inputs;
      if (std::none_of(inputs.begin(), inputs.end(),
                       [&](const auto& input) { return input.name == part; })) {
        fail(ErrorCode::InvalidFile, "{}: takes no '{}', which '{}' gives", logit_processor->name(),
             part, chunks.back()->name());
      }
    }
    logit_processor->prepare(pool);
    argmax_port = logit_processor->output_port("argmax");
  }

  void find_vocabulary() {
    WindowedPart& last = *chunks.back();
    last.prepare(pool);
    for (const std::string& part : schema.logits) {
      const auto shape = last.execution().output_shape(last.output_port(part));
      if (shape.size() < 2 ||
          last.output(part).size() != static_cast<size_t>(schema.window * shape.back())) {
        fail(ErrorCode::Unsupported, "{}: '{}' does not have a row for each of {} tokens",
             last.name(), part, schema.window);
      }
      part_sizes.push_back(shape.back());
      vocab_size += shape.back();
    }
    if (options.low_memory) last.release();
  }

  // A place for a sequence in every chunk: its caches are inputs.
  size_t take_seat() {
    const auto free = std::find(taken.begin(), taken.end(), false);
    const auto seat = static_cast<size_t>(free - taken.begin());
    if (free == taken.end()) {
      worker.wait_all();  // its jobs know places that move
      if (!options.low_memory) {
        for (auto& chunk : chunks) chunk->reserve_seats(seat + 1);
      }
      taken.push_back(false);
    }
    taken[seat] = true;
    return seat;
  }

  PackageFolder folder;  // what was unpacked stays
  ThreadPool& pool;
  WindowedOptions options;
  ThreadPool cache_pool;  // the worker's own
  std::vector<std::unique_ptr<WindowedPart>> chunks;
  std::unique_ptr<WindowedPart> processor, logit_processor;
  WindowedSchema schema;
  size_t argmax_port = 0;
  int64_t context = 0, vocab_size = 0;
  std::vector<int64_t> part_sizes;
  std::vector<bool> taken;  // by seat
  Worker worker;            // last: its jobs use all of the above
};

class WindowedModel final : public LanguageModel {
 public:
  explicit WindowedModel(std::shared_ptr<WindowedShared> shared)
      : shared_(std::move(shared)),
        place_(shared_->take_seat()),
        seat_(shared_->options.low_memory ? 0 : place_),
        pending_(shared_->chunks.size(), 0),
        caches_(shared_->chunks.size()),
        row_(static_cast<size_t>(shared_->vocab_size)) {
    reset();
  }
  WindowedModel(const WindowedModel&) = delete;
  WindowedModel& operator=(const WindowedModel&) = delete;
  ~WindowedModel() override {
    shared_->worker.wait_all();
    shared_->taken[place_] = false;
  }

  int64_t context() const override { return shared_->context; }
  int64_t vocab_size() const override { return shared_->vocab_size; }
  int64_t position() const override { return position_; }
  bool slides() const override { return shared_->options.slide; }
  uint64_t saved_bytes() const override {
    uint64_t bytes = 0;
    for (const auto& chunk : shared_->chunks) {
      if (chunk->is_ready()) bytes += chunk->execution().plan().saved_bytes();
    }
    return bytes;
  }

  std::unique_ptr<LanguageModel> new_sequence() override {
    return std::make_unique<WindowedModel>(shared_);
  }
  const void* shared() const override { return shared_.get(); }

  void decode_group(std::span<const NextToken> next,
                    std::vector<std::span<const float>>& logits) override {
    if (shared_->options.low_memory) return LanguageModel::decode_group(next, logits);
    std::vector<WindowedModel*> sequences;
    std::vector<size_t> seats;
    for (const NextToken& one : next) {
      sequences.push_back(static_cast<WindowedModel*>(one.sequence));
      seats.push_back(sequences.back()->seat_);
      sequences.back()->check_positions(1);
    }
    try {
      for (size_t i = 0; i < next.size(); ++i) sequences[i]->window_.push_back(next[i].id);
      for (size_t i = 0; i < shared_->chunks.size(); ++i) {
        check_cancel();
        for (WindowedModel* one : sequences) one->fill_chunk(i, one->position_ + 1);
        shared_->chunks[i]->execution().run_together(seats);
        for (WindowedModel* one : sequences) one->keep_window(i);
      }
    } catch (...) {
      for (WindowedModel* one : sequences) one->reset();
      throw;
    }
    for (WindowedModel* one : sequences) {
      ++one->position_;
      one->result_row_ = std::ssize(one->window_) - 1;
      one->take_row(one->result_row_);
      if (one->is_full()) one->window_.clear();
      logits.push_back(one->logits_ = one->row_);
    }
  }

  void reset() override {
    shared_->worker.wait_all();
    std::fill(pending_.begin(), pending_.end(), 0);
    for (size_t i = 0; i < shared_->chunks.size(); ++i) {
      caches_[i].clear();
      if (!shared_->chunks[i]->is_ready()) continue;
      if (shared_->options.low_memory) {
        shared_->chunks[i]->release();  // whoever is next puts its own caches in
        continue;
      }
      for (const WindowedBlock& block : shared_->schema.chunks[i].blocks) {
        for (const std::string& name : {block.k, block.v}) {
          const auto cache = shared_->chunks[i]->input(name, seat_);
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
    rows.reserve(ids.size() * static_cast<size_t>(shared_->vocab_size));
    feed(ids, true, nullptr, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row <= last; ++row) {
        take_row(row);
        rows.insert(rows.end(), row_.begin(), row_.end());
      }
    });
    return rows;
  }

  std::optional<int32_t> likeliest() override {
    if (!shared_->logit_processor || result_row_ < 0 || shared_->options.low_memory)
      return std::nullopt;
    for (const std::string& part : shared_->schema.logits) {
      const auto values = shared_->chunks.back()->output(part, seat_);
      std::copy(values.begin(), values.end(), shared_->logit_processor->input(part).begin());
    }
    shared_->logit_processor->execution().run();
    const auto ids = shared_->logit_processor->execution().int_output(shared_->argmax_port);
    const int32_t id = ids[static_cast<size_t>(result_row_) % ids.size()];
    if (id < 0 || id >= shared_->vocab_size) {
      fail(ErrorCode::InvalidFile, "{}: chose token {} of {}", shared_->logit_processor->name(), id,
           shared_->vocab_size);
    }
    return id;
  }

  std::vector<HiddenStates> trace(std::span<const int32_t> ids) override {
    std::vector<HiddenStates> result(shared_->chunks.size() - 1);
    for (size_t i = 0; i < result.size(); ++i) {
      result[i].name = shared_->chunks[i]->name();
      result[i].width = shared_->schema.width;
    }
    feed(ids, true, &result, [](int64_t, int64_t) {});
    return result;
  }

 private:
  // Window by window; use(first, last) gets the rows of each run that are new tokens'.
  template <typename Use>
  void feed(std::span<const int32_t> ids, bool every, std::vector<HiddenStates>* trace, Use&& use) {
    check_ids(*this, ids);
    check_positions(std::ssize(ids));
    while (!ids.empty()) {
      check_cancel();
      const auto present = static_cast<int64_t>(window_.size());
      const auto count =
          std::min<int64_t>(shared_->schema.window - present, static_cast<int64_t>(ids.size()));
      window_.insert(window_.end(), ids.begin(), ids.begin() + count);
      ids = ids.subspan(static_cast<size_t>(count));
      const bool with_head = every || ids.empty();
      try {
        const int64_t end = present + count;
        run_window(position_ + count, with_head, {every ? present : end - 1, end}, trace);
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
      if (is_full()) window_.clear();
    }
    if (shared_->options.low_memory) shared_->chunks.back()->release();
    logits_ = row_;
  }

  // The tokens so far are `total`; those of the window are in window_. Of their logits only the
  // wanted rows are computed, where nothing else comes with them.
  void run_window(int64_t total, bool with_head, engine::WantedRows wanted,
                  std::vector<HiddenStates>* trace) {
    const size_t count = shared_->chunks.size() - (with_head ? 0 : 1);
    for (size_t i = 0; i < count; ++i) {
      check_cancel();
      fill_chunk(i, total);
      const bool is_head =
          i + 1 == shared_->chunks.size() && shared_->schema.chunks[i].blocks.empty();
      shared_->chunks[i]->execution().run(seat_, is_head ? std::optional(wanted) : std::nullopt);
      if (shared_->options.low_memory) keep_outputs(i);
      if (trace != nullptr && i < trace->size()) take_hidden(i, wanted.begin, (*trace)[i]);
      keep_window(i);
      if (shared_->options.low_memory && i + 1 < shared_->chunks.size()) release(i);
    }
  }

  void check_positions(int64_t added) const {
    const int64_t total = position_ + added, known = shared_->options.positions;
    if (known > 0 && total > known) {
      fail(ErrorCode::LimitExceeded,
           "the sequence would have {} tokens, the model's tables have {}", total, known);
    }
  }

  bool is_full() const { return std::ssize(window_) == shared_->schema.window; }

  // The inputs of a chunk.
  void fill_chunk(size_t index, int64_t total) {
    WindowedPart& chunk = *shared_->chunks[index];
    if (pending_[index] != 0) shared_->worker.wait(std::exchange(pending_[index], 0));
    if (!chunk.is_ready()) restore(index);
    if (index == 0) {
      fill_first(chunk, total);
    } else {
      for (const WindowedRoute& route : shared_->schema.chunks[index].routes) fill(chunk, route);
    }
  }

  // After a chunk's run over a full window: its columns join the caches.
  void keep_window(size_t index) {
    if (!is_full() || shared_->schema.chunks[index].blocks.empty()) return;
    pending_[index] = shared_->worker.add([this, index] { update_caches(index); });
  }

  void fill_first(WindowedPart& chunk, int64_t total) {
    const int64_t window = shared_->schema.window;
    const auto ids = chunk.execution().int_input(chunk.input_port(shared_->schema.ids), seat_);
    std::copy(window_.begin(), window_.end(), ids.begin());
    std::fill(ids.begin() + std::ssize(window_), ids.end(), 0);
    // Padding counts, so that positions come out right.
    const int64_t padded = (total + window - 1) / window * window;
    chunk.execution().int_input(chunk.input_port(shared_->schema.length), seat_)[0] =
        static_cast<int32_t>(padded);
  }

  void fill(WindowedPart& chunk, const WindowedRoute& route) {
    const auto target = chunk.input(route.input, seat_);
    std::span<const float> source;
    if (shared_->options.low_memory) {
      source = kept_.at(stored(route));
    } else {
      source = shared_->chunks[route.chunk]->output(route.output, seat_);
    }
    if (source.size() != target.size()) {
      fail(ErrorCode::InvalidFile, "'{}' has {} elements in '{}' and {} in '{}'", route.input,
           source.size(), shared_->chunks[route.chunk]->name(), target.size(), chunk.name());
    }
    std::copy(source.begin(), source.end(), target.begin());
  }

  // On the worker's thread: appends the window's columns to the caches, block by block.
  void update_caches(size_t index) {
    WindowedPart& chunk = *shared_->chunks[index];
    const auto move = [](std::span<const float> from, std::span<float> to) {
      std::copy(from.begin(), from.end(), to.begin());
    };
    for (const WindowedBlock& block : shared_->schema.chunks[index].blocks) {
      move(chunk.input(block.k, seat_), shared_->processor->input("old_k_cache"));
      move(chunk.input(block.v, seat_), shared_->processor->input("old_v_cache"));
      move(chunk.output(block.new_k, seat_), shared_->processor->input("new_k_cache"));
      move(chunk.output(block.new_v, seat_), shared_->processor->input("new_v_cache"));
      shared_->processor->execution().run();
      move(shared_->processor->output("updated_k_cache"), chunk.input(block.k, seat_));
      move(shared_->processor->output("updated_v_cache"), chunk.input(block.v, seat_));
    }
  }

  // What chunks that are gone gave: low memory.
  static std::string stored(const WindowedRoute& route) {
    return fmt::format("{}/{}", route.chunk, route.output);
  }

  void keep_outputs(size_t index) {
    for (size_t later = index + 1; later < shared_->chunks.size(); ++later) {
      for (const WindowedRoute& route : shared_->schema.chunks[later].routes) {
        if (route.chunk != index) continue;
        const auto values = shared_->chunks[index]->output(route.output, seat_);
        kept_[stored(route)].assign(values.begin(), values.end());
      }
    }
  }

  void restore(size_t index) {
    WindowedPart& chunk = *shared_->chunks[index];
    chunk.prepare(shared_->pool);
    for (const WindowedBlock& block : shared_->schema.chunks[index].blocks) {
      for (const std::string& name : {block.k, block.v}) {
        const auto cache = chunk.input(name, seat_);
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
      shared_->worker.wait(std::exchange(pending_[index], 0));
      for (const WindowedBlock& block : shared_->schema.chunks[index].blocks) {
        for (const std::string& name : {block.k, block.v}) {
          const auto cache = shared_->chunks[index]->input(name, seat_);
          caches_[index][name].assign(cache.begin(), cache.end());
        }
      }
    }
    shared_->chunks[index]->release();
  }

  void take_row(int64_t row) {
    auto target = row_.begin();
    for (size_t i = 0; i < shared_->schema.logits.size(); ++i) {
      const auto values = shared_->chunks.back()->output(shared_->schema.logits[i], seat_);
      target = std::copy_n(values.begin() + row * shared_->part_sizes[i], shared_->part_sizes[i],
                           target);
    }
  }

  // x is (1, width, 1, window), or the window in a square: a column per token.
  void take_hidden(size_t index, int64_t first_row, HiddenStates& target) {
    for (const char* name : {"new_x", "x"}) {
      const auto outputs = shared_->chunks[index]->execution().plan().outputs();
      if (std::none_of(outputs.begin(), outputs.end(),
                       [&](const engine::Port& port) { return port.name == name; })) {
        continue;
      }
      const auto x = shared_->chunks[index]->output(name, seat_);
      for (int64_t row = first_row; row < std::ssize(window_); ++row) {
        for (int64_t c = 0; c < shared_->schema.width; ++c) {
          target.rows.push_back(x[static_cast<size_t>(c * shared_->schema.window + row)]);
        }
      }
      return;
    }
  }

  std::shared_ptr<WindowedShared> shared_;
  size_t place_;  // among the sequences
  size_t seat_;   // in each chunk; in low memory all are computed in the first
  int64_t position_ = 0;
  int64_t result_row_ = -1;        // of the window, the newest token's
  std::vector<int32_t> window_;    // the tokens of the window that is not full
  std::vector<uint64_t> pending_;  // by chunk: the job that updates its caches
  std::vector<std::map<std::string, std::vector<float>>> caches_;  // low memory, by chunk
  std::map<std::string, std::vector<float>> kept_;                 // low memory, by route
  std::vector<float> row_;
  std::span<const float> logits_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_windowed_model(PackageFolder folder, const WindowedFiles& files,
                                                   ThreadPool& pool,
                                                   const WindowedOptions& options) {
  return std::make_unique<WindowedModel>(
      std::make_shared<WindowedShared>(std::move(folder), files, pool, options));
}

}  // namespace pippin::generate
