#include "pippin/server/fill_in.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

struct FillMarks {
  std::string_view prefix, suffix, middle;
  bool suffix_comes_first = false;
};
// Marks of CodeQwen and Qwen-Coder, StarCoder and Granite, CodeGemma, DeepSeek-Coder, Code Llama,
// Codestral, CodeGeeX.
constexpr std::array<FillMarks, 8> kFillMarks = {{
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "begin\xEF\xBD\x9C>",
     "<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "hole\xEF\xBD\x9C>",
     "<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "end\xEF\xBD\x9C>"},
    {"\xE2\x96\x81<PRE>", "\xE2\x96\x81<SUF>", "\xE2\x96\x81<MID>"},
    {"[PREFIX]", "[SUFFIX]", "", true},
    {"<PRE>", "<SUF>", "<MID>"},
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
}};
constexpr std::array<std::string_view, 5> kRepositoryMarks = {
    "<|repo_name|>", "<|fim_repo|>", "<repo_name>", "<reponame>", "<fim-repo>"};
constexpr std::array<std::string_view, 3> kFileMarks = {"<|file_sep|>", "<file_sep>", "<filename>"};
constexpr std::array<std::string_view, 4> kPaddings = {"<|fim_pad|>", "<fim_pad>", "<fim-pad>",
                                                       "<|fim_sep|>"};

using Ids = std::vector<int32_t>;

// Some tokenizers have more tokens than the model.
std::optional<int32_t> id_of(const ServedModel& model, std::string_view name) {
  const auto id = model.loaded.tokenizer.token_to_id(name);
  return id && *id < model.loaded.model->vocab_size() ? id : std::nullopt;
}

template <size_t n>
std::optional<int32_t> first_of(const ServedModel& model,
                                const std::array<std::string_view, n>& names) {
  for (const std::string_view name : names) {
    if (const auto id = id_of(model, name)) return id;
  }
  return std::nullopt;
}

void append(Ids& ids, const Ids& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}
void append(Ids& ids, std::optional<int32_t> id) {
  if (id) ids.push_back(*id);
}

// Returns the gap and the text around it; nothing if the tokenizer lacks one of the marks.
std::optional<Ids> around_gap(const ServedModel& model, const FillMarks& marks,
                              const FillRequest& request) {
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  const auto prefix = id_of(model, marks.prefix), suffix = id_of(model, marks.suffix);
  const auto middle = marks.middle.empty() ? std::nullopt : id_of(model, marks.middle);
  if (!prefix || !suffix || (!middle && !marks.middle.empty())) return std::nullopt;
  Ids before{*prefix}, after{*suffix};
  append(before, tokenizer.encode(request.prefix, false));
  append(after, tokenizer.encode(request.suffix, false));
  Ids ids = marks.suffix_comes_first ? after : before;
  append(ids, marks.suffix_comes_first ? before : after);
  append(ids, middle);
  append(ids, tokenizer.encode(request.begin, false));
  return ids;
}

// Returns the other files and, if they have names, the name of the file with the gap.
Ids around_file(const ServedModel& model, const FillRequest& request) {
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  const auto file = first_of(model, kFileMarks);
  Ids ids;
  for (const FillRequest::File& other : request.others) {
    append(ids, file);
    append(ids,
           tokenizer.encode(
               (file ? other.name + "\n" : "\n\n--- " + other.name + "\n\n") + other.text, false));
  }
  if (!ids.empty() && file) {
    append(ids, file);
    append(ids, tokenizer.encode("filename\n", false));
  }
  return ids;
}

// Returns the one token that the tokenizer adds to every text, if there is one.
Ids begin_of_text(const Tokenizer& tokenizer) {
  const Ids ids = tokenizer.encode("");
  return ids.size() == 1 ? ids : Ids{};
}

}  // namespace

std::vector<int32_t> fill_in(const ServedModel& model, const FillRequest& request, int64_t most,
                             const std::string& param) {
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  for (const FillMarks& marks : kFillMarks) {
    const auto gap = around_gap(model, marks, request);
    if (!gap) continue;
    Ids ids = begin_of_text(tokenizer), others = around_file(model, request);
    const auto repository = first_of(model, kRepositoryMarks);
    if (!others.empty() && repository) {
      append(ids, repository);
      append(ids, tokenizer.encode("repository\n", false));
    }
    const int64_t room = std::max<int64_t>(most - std::ssize(ids) - std::ssize(*gap), 0);
    if (std::ssize(others) > room) others.erase(others.begin(), others.end() - room);
    append(ids, others);
    append(ids, *gap);
    return ids;
  }
  throw ApiError(400, param + ": the model has no tokens to fill in with", param);
}

bool can_fill_in(const ServedModel& model) {
  return std::any_of(kFillMarks.begin(), kFillMarks.end(), [&](const FillMarks& marks) {
    return around_gap(model, marks, {}).has_value();
  });
}

std::vector<int32_t> fill_end_ids(const ServedModel& model) {
  Ids ids;
  append(ids, first_of(model, kRepositoryMarks));
  append(ids, first_of(model, kFileMarks));
  for (const std::string_view name : kPaddings) append(ids, id_of(model, name));
  return ids;
}

}  // namespace pippin::server
