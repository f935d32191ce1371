#include "pippin/app/convert/calibration_corpus.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/convert/product_inputs.h"
#include "pippin/app/convert/text_values.h"
#include "pippin/app/open/corpus_text.h"
#include "pippin/base/error.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/file.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/batch/claims.h"
#include "pippin/batch/job.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/model_source.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using compress::InputMoments;
using Texts = std::vector<std::vector<int32_t>>;

// Its members say that a job.json is one of calibration.
constexpr const char* kKind = "calibration";
constexpr std::string_view kSamples = ".samples", kTokens = "tokens", kTexts = "texts";

fs::path moments_path(const batch::Job& job, size_t shard) {
  return job.parts() / fmt::format("{:08}.safetensors", shard);
}

std::vector<size_t> missing_parts(const batch::Job& job) {
  std::vector<size_t> missing;
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    if (!fs::exists(moments_path(job, shard))) missing.push_back(shard);
  }
  return missing;
}

uint64_t count_lines(const fs::path& input) {
  const auto file = MappedFile::open(input, StandIns::Allow);
  const auto bytes = file->bytes();
  const auto lines = std::count(bytes.begin(), bytes.end(), std::byte{'\n'});
  return static_cast<uint64_t>(lines) + 1;
}

// Each input once, in the order of its first weight.
std::vector<ProductInput> distinct(const ProductInputs& inputs) {
  std::vector<ProductInput> result;
  std::set<std::string> names;
  for (const std::string& weight : inputs.order) {
    const ProductInput& input = inputs.by_weight.at(weight);
    if (names.insert(input.name).second) result.push_back(input);
  }
  return result;
}

int64_t triangle(int64_t size) {
  return size * (size + 1) / 2;
}

// The fp16 program of a folder, as `pippin convert` writes it, or a package's.
mil::Model program_of(const fs::path& source, int64_t context) {
  if (mil::is_package(source)) return mil::read_package(source);
  models::BuildOptions options;
  options.context = std::min(context, models::describe(source).decoder.context);
  return models::build(source, options);
}

fs::path tokenizer_folder_of(const fs::path& source) {
  return mil::is_package(source) ? runtime::find_packages(source).tokenizer_folder()
                                 : models::text_folder(source);
}

// `texts` starts the message of an error.
void check_tokens(int64_t tokens, const fs::path& texts) {
  if (tokens >= kMinCalibrationTokens) return;
  fail(ErrorCode::InvalidArgument, "{}: {} tokens are too few to calibrate with; give {} or more",
       texts.string(), tokens, kMinCalibrationTokens);
}

class CorpusWork {
 public:
  // `model` must outlive it.
  CorpusWork(const mil::Model& model, const fs::path& tokenizer, const CalibrationCorpus& corpus,
             const CalibrationOptions& options)
      : corpus_(corpus),
        options_(options),
        inputs_(distinct(ProductInputs(model))),
        reader_(model, options),
        tokenizer_(Tokenizer::open(tokenizer)) {}

  int64_t count_tokens(std::string_view text) const { return std::ssize(tokenizer_.encode(text)); }

  // Until all parts are there.
  void run(const batch::Job& job) {
    using namespace std::chrono_literals;
    batch::Claims claims(job.claims());
    for (auto missing = missing_parts(job); !missing.empty(); missing = missing_parts(job)) {
      check_cancel();
      tell(job, missing.size());
      const auto shard = claims.take_one(missing);
      if (!shard) {
        std::this_thread::sleep_for(500ms);
        continue;
      }
      if (!fs::exists(moments_path(job, *shard))) make(job, *shard, claims);
      claims.finish(*shard);
    }
    tell(job, 0);
  }

 private:
  void tell(const batch::Job& job, size_t missing) const {
    if (!corpus_.progress) return;
    const uint64_t done =
        std::min(job.requests, (job.shards.size() - missing) * job.shard_requests);
    corpus_.progress(missing == 0 ? job.requests : done, job.requests);
  }

  void make(const batch::Job& job, size_t shard, batch::Claims& claims) {
    const CorpusTexts lines(corpus_.input);
    Texts texts;
    int64_t tokens = 0;
    const std::vector<batch::Request> requests = job.read(shard);
    texts.reserve(requests.size());
    for (const batch::Request& request : requests) {
      texts.push_back(tokenizer_.encode(lines.of(request, fmt::format("line {}", request.line))));
      tokens += std::ssize(texts.back());
    }
    std::vector<SafetensorsWriter::Declaration> tensors;
    tensors.reserve(2 * inputs_.size() + 2);
    for (const ProductInput& input : inputs_) {
      tensors.push_back({input.name, Dtype::F32, {triangle(input.size)}});
      tensors.push_back({input.name + std::string(kSamples), Dtype::I64, {1}});
    }
    tensors.push_back({std::string(kTokens), Dtype::I64, {1}});
    tensors.push_back({std::string(kTexts), Dtype::I64, {1}});
    // The same name for all processes: the next one removes what a killed one left.
    const fs::path draft = job.parts() / fmt::format("{:08}.draft", shard);
    {
      SafetensorsWriter writer(draft, tensors, {{"format", "pippin"}});
      for (size_t first = 0; first < inputs_.size();) first = append(texts, first, writer, claims);
      append_number(writer, tokens);
      append_number(writer, std::ssize(texts));
      writer.finish();
    }
    const fs::path part = moments_path(job, shard);
    if (!fs::exists(part)) {
      publish_draft(part, draft);
      return;
    }
    std::error_code ignored;  // another process took over what seemed to be abandoned
    fs::remove(draft, ignored);
  }

  // The moments of inputs from `first` on, as many as fit into memory. Returns the next one.
  size_t append(const Texts& texts, size_t first, SafetensorsWriter& writer,
                batch::Claims& claims) {
    std::vector<const mil::Var*> vars;
    std::vector<InputMoments> moments;
    uint64_t bytes = 0;
    size_t end = first;
    for (; end < inputs_.size(); ++end) {
      const auto size = static_cast<uint64_t>(inputs_[end].size);
      bytes += size * size * sizeof(float);
      if (end > first && bytes > options_.max_bytes) break;
      vars.push_back(inputs_[end].var);
      moments.emplace_back(inputs_[end].size);
    }
    reader_.read(texts, vars, [&](size_t index, const engine::Execution& execution) {
      add_output(inputs_[first + index], execution, index, reader_.pool(), moments[index]);
      claims.beat();
    });
    for (const InputMoments& one : moments) {
      for (int64_t row = 0; row < one.size; ++row) {
        const auto from = std::span(one.products)
                              .subspan(static_cast<size_t>(row * one.size + row),
                                       static_cast<size_t>(one.size - row));
        writer.append(std::as_bytes(from));
      }
      append_number(writer, one.samples);
    }
    return end;
  }

  static void append_number(SafetensorsWriter& writer, int64_t number) {
    writer.append(std::as_bytes(std::span(&number, 1)));
  }

  const CalibrationCorpus& corpus_;
  const CalibrationOptions& options_;
  std::vector<ProductInput> inputs_;
  TextReader reader_;
  Tokenizer tokenizer_;
};

int64_t number_in(const Checkpoint& part, std::string_view name) {
  const TensorInfo& tensor = part.at(name);
  int64_t number = 0;
  if (tensor.dtype != Dtype::I64 || tensor.bytes.size() != sizeof(number)) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is not one integer", part.path().string(), name);
  }
  std::memcpy(&number, tensor.bytes.data(), sizeof(number));
  return number;
}

std::vector<Checkpoint> open_parts(const batch::Job& job) {
  const size_t missing = missing_parts(job).size();
  if (missing > 0) {
    fail(ErrorCode::InvalidArgument, "{}: {} of {} parts are missing: run pippin calibrate again",
         job.folder.string(), missing, job.shards.size());
  }
  std::vector<Checkpoint> parts;
  parts.reserve(job.shards.size());
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    parts.push_back(Checkpoint::open(moments_path(job, shard)));
  }
  return parts;
}

// `texts` starts the message of an error.
CalibrationSums sums_of_parts(const std::vector<Checkpoint>& parts, const fs::path& texts) {
  CalibrationSums sums;
  sums.parts = parts.size();
  for (const Checkpoint& part : parts) {
    sums.tokens += number_in(part, kTokens);
    sums.texts += static_cast<uint64_t>(number_in(part, kTexts));
  }
  check_tokens(sums.tokens, texts);
  return sums;
}

class StoredCalibration final : public compress::InputStatistics {
 public:
  StoredCalibration(const mil::Model& model, std::vector<Checkpoint> parts)
      : parts_(std::move(parts)), inputs_(ProductInputs(model).by_weight) {}

  std::shared_ptr<const InputMoments> moments(const std::string& weight) override {
    const auto found = inputs_.find(weight);
    if (found == inputs_.end()) return nullptr;
    const ProductInput& input = found->second;
    if (input.name != last_name_) {
      last_ = sum(input.name, input.size);
      last_name_ = input.name;
    }
    return weighted_moments(input, last_);
  }

 private:
  // In doubles, part after part.
  std::shared_ptr<const InputMoments> sum(const std::string& name, int64_t size) const {
    const auto count = static_cast<size_t>(triangle(size));
    std::vector<double> sums(count);
    std::vector<float> values(count);
    auto result = std::make_shared<InputMoments>(size);
    for (const Checkpoint& part : parts_) {
      const TensorInfo* const tensor = part.find(name);
      if (tensor == nullptr || tensor->dtype != Dtype::F32 ||
          tensor->bytes.size() != count * sizeof(float)) {
        fail(ErrorCode::InvalidFile,
             "{}: has no statistics of {} inputs '{}': it is of another model",
             part.path().string(), size, name);
      }
      std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
      for (size_t i = 0; i < count; ++i) sums[i] += double{values[i]};
      result->samples += number_in(part, name + std::string(kSamples));
      part.file_of(name).release(*tensor);
    }
    const double* next = sums.data();
    for (int64_t row = 0; row < size; ++row) {
      float* const to = result->products.data() + row * size;
      for (int64_t column = row; column < size; ++column) to[column] = static_cast<float>(*next++);
    }
    return result;
  }

  std::vector<Checkpoint> parts_;
  std::map<std::string, ProductInput> inputs_;  // by weight
  std::string last_name_;
  std::shared_ptr<const InputMoments> last_;
};

}  // namespace

CalibrationSums calibrate_corpus(const fs::path& source, const CalibrationCorpus& corpus,
                                 const CalibrationOptions& options) {
  const CorpusTexts texts(corpus.input);
  batch::JobSettings settings;
  settings.input = corpus.input;
  settings.kind = batch::InputKind::Texts;
  constexpr uint64_t kParts = 16, kFewest = 16;
  settings.shard_requests = corpus.shard;
  if (corpus.shard == 0 && !fs::exists(corpus.folder / "job.json")) {
    settings.shard_requests = std::max((count_lines(corpus.input) + kParts - 1) / kParts, kFewest);
  }
  settings.options["MODEL"] = source.string();
  settings.options["kind"] = kKind;
  settings.options["--window"] = std::to_string(options.window);
  std::optional<mil::Model> model;
  std::optional<CorpusWork> work;
  const auto load = [&] {
    if (work) return;
    with_context("calibration", [&] {
      model.emplace(program_of(source, options.window));
      work.emplace(*model, tokenizer_folder_of(source), corpus, options);
    });
  };
  // A model that cannot be calibrated leaves no job behind, and neither do too few texts.
  int64_t tokens = 0;  // until there are enough
  settings.check = [&](const batch::Request& request, const std::string& where) {
    const std::string text = texts.of(request, where);
    if (tokens >= kMinCalibrationTokens) return;
    load();
    tokens += work->count_tokens(text);
  };
  settings.check_all = [&] { check_tokens(tokens, corpus.input); };
  if (!fs::exists(corpus.folder / "job.json")) load();
  const batch::Job job = batch::open_job(corpus.folder, settings, batch::Claims::new_owner());
  if (!missing_parts(job).empty()) {
    load();
    with_context("calibration", [&] { work->run(job); });
  }
  return sums_of_parts(open_parts(job), corpus.input);
}

bool is_calibration_folder(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  const auto job = batch::read_job(path);
  if (!job) return false;
  const auto found = job->options.find("kind");
  return found != job->options.end() && found->second == kKind;
}

std::shared_ptr<compress::InputStatistics> stored_calibration(const mil::Model& model,
                                                              const fs::path& folder) {
  const auto job = batch::read_job(folder);
  if (!job) fail(ErrorCode::NotFound, "{}: has no statistics of pippin calibrate", folder.string());
  std::vector<Checkpoint> parts = open_parts(*job);
  sums_of_parts(parts, folder);  // checks
  return std::make_shared<StoredCalibration>(model, std::move(parts));
}

}  // namespace pippin::app
