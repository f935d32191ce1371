#include "pippin/cli/embed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/image_encoder.h"
#include "pippin/app/open/text_input.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/image_files.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using Texts = std::vector<std::string>;

struct TextsCommand {
  app::ModelChoice choice;
  std::string prompt_name, query;
  app::EmbedOptions options;
  Texts texts;
  std::vector<std::string> images;  // paths
  int64_t top = 0;
  bool json = false, jsonl = false, sparse = false, multi = false;
};

// Reads the lines of stdin: texts, or texts as JSON strings.
Texts read_text_lines(bool jsonl) {
  Texts texts;
  app::for_each_line("-", [&](std::string_view line, int64_t number) {
    texts.emplace_back(
        jsonl ? std::string(Json::parse(line, fmt::format("line {}", number)).as_string())
              : std::string(line));
  });
  return texts;
}

Texts texts_of(const TextsCommand& command) {
  if (command.jsonl && !command.texts.empty()) {
    fail(ErrorCode::InvalidArgument,
         "--jsonl reads texts from stdin: {} are given as arguments, too", command.texts.size());
  }
  const bool from_stdin =
      command.texts.empty() || (command.texts.size() == 1 && command.texts.front() == "-");
  return from_stdin ? read_text_lines(command.jsonl) : command.texts;
}

// Writes numbers that read back as the same floats.
void write_vector(JsonWriter& json, const std::vector<float>& vector) {
  json.begin_array();
  for (const float x : vector) {
    if (std::isfinite(x)) {
      json.raw(fmt::format("{}", x));
    } else {
      json.value(nullptr);
    }
  }
  json.end_array();
}

void tell_cut(int64_t cut, int64_t most) {
  if (cut == 0) return;
  fmt::print(stderr, "pippin: {} of the texts had more than {} tokens and were cut\n", cut, most);
}

void write_vector(JsonWriter& json, const app::SparseVector& vector) {
  json.begin_object().key("indices").begin_array();
  for (const int32_t index : vector.indices) json.value(int64_t{index});
  json.end_array().key("values");
  write_vector(json, vector.values);
  json.end_object();
}

void write_vector(JsonWriter& json, const app::TokenVectors& vectors) {
  json.begin_array();
  for (size_t i = 0; i < vectors.count(); ++i) {
    const auto first = vectors.values.begin() + static_cast<int64_t>(i * vectors.width);
    write_vector(json, std::vector<float>(first, first + static_cast<int64_t>(vectors.width)));
  }
  json.end_array();
}

// Prints the results of embed() and similar functions.
template <typename Made>
void print_embedded(const TextsCommand& command, const std::string& name, const Made& made) {
  if (command.json) {
    JsonWriter json;
    json.begin_object().member("model", name).key("embeddings").begin_array();
    for (const auto& vector : made.vectors) write_vector(json, vector);
    json.end_array().member("tokens", made.tokens);
    print_out(json.end_object().text() + "\n");
    return;
  }
  for (const auto& vector : made.vectors) {
    JsonWriter json;
    write_vector(json, vector);
    print_out(json.text() + "\n");
  }
}

// Texts come first, then images.
void embed_with_images(const TextsCommand& command) {
  const auto files = read_image_files(command.images);
  app::Embedded made;
  if (command.jsonl || !command.texts.empty()) {
    const app::TextEncoder encoder = app::TextEncoder::open(command.choice);
    made = encoder.embed(texts_of(command), command.options);
    tell_cut(made.cut_texts, encoder.max_tokens());
  }
  const app::ImageEncoder encoder = app::ImageEncoder::open(command.choice);
  auto vectors = encoder.embed(app::image_files(files), command.options.dimensions);
  std::move(vectors.begin(), vectors.end(), std::back_inserter(made.vectors));
  print_embedded(command, encoder.name(), made);
}

void embed(TextsCommand command) {
  command.choice.pulls = show_pulls();
  if (!command.images.empty()) return embed_with_images(command);
  const app::TextEncoder encoder = app::TextEncoder::open(command.choice);
  const Texts texts = texts_of(command);
  const auto print = [&](const auto& made) {
    tell_cut(made.cut_texts, encoder.max_tokens());
    print_embedded(command, encoder.name(), made);
  };
  if (command.sparse) {
    print(encoder.embed_sparse(texts, command.options));
  } else if (command.multi) {
    print(encoder.embed_tokens(texts, command.options));
  } else {
    print(encoder.embed(texts, command.options));
  }
}

void rerank(TextsCommand command) {
  command.choice.pulls = show_pulls();
  const app::TextEncoder encoder = app::TextEncoder::open(command.choice);
  const Texts documents = texts_of(command);
  const app::Scored scored = encoder.score(command.query, documents, command.options.refuse_long);
  tell_cut(scored.cut_texts, encoder.max_tokens());
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scored.scores[a] > scored.scores[b]; });
  if (command.top > 0) order.resize(std::min(order.size(), static_cast<size_t>(command.top)));
  if (!command.json) {
    for (const size_t i : order) {
      print_out(fmt::format("{:.6f}\t{}\t{}\n", scored.scores[i], i, documents[i]));
    }
    return;
  }
  JsonWriter json;
  json.begin_object().member("model", encoder.name()).key("results").begin_array();
  for (const size_t i : order) {
    json.begin_object().member("index", i).member("relevance_score", scored.scores[i]);
    json.member("document", documents[i]).end_object();
  }
  json.end_array().member("tokens", scored.tokens);
  print_out(json.end_object().text() + "\n");
}

void add_texts_options(CLI::App& command, TextsCommand& values) {
  command.add_flag("--json", values.json, "Print the result as JSON");
  command.add_flag("--jsonl", values.jsonl, "Texts are lines of stdin, each a JSON string");
  command.add_flag("--refuse-long", values.options.refuse_long,
                   "Refuse texts of more tokens than the model takes, instead of cutting them");
  command.add_option("--tokenizer", values.choice.tokenizer,
                     "Folder or file of the tokenizer (default: the model's own)");
  command.add_option("-t,--threads", values.choice.load.threads, "Threads (default: one per core)")
      ->check(between(0, 4096));
}

void add_encoder(CLI::App& command, TextsCommand& values) {
  command
      .add_option(
          "MODEL", values.choice.path,
          "Folder or GGUF file of an embedding model or a cross-encoder, a package, or org/name")
      ->type_name("")
      ->required();
}

}  // namespace

CLI::App* add_embed_command(CLI::App& app) {
  auto command = std::make_shared<TextsCommand>();
  CLI::App* sub =
      app.add_subcommand("embed", "Print embeddings of texts and images, a JSON list per line");
  add_encoder(*sub, *command);
  sub->add_option("TEXT", command->texts, "Texts; none (without --image), or -: the lines of stdin")
      ->type_name("");
  auto* name = sub->add_option("--prompt-name", command->prompt_name,
                               "The model's prompt of that name goes before each text (default: "
                               "the one that the model says)");
  auto* sparse = sub->add_flag("--sparse", command->sparse,
                               "Sparse vectors (SPLADE): a JSON object of indices and values per "
                               "line");
  auto* multi = sub->add_flag("--multi", command->multi,
                              "A vector for each token (ColBERT): a JSON list of lists per line");
  sub->add_flag("--query", command->options.is_query,
                "With --multi: the texts are queries, not documents")
      ->needs(multi);
  sub->add_option("--active", command->options.active,
                  "With --sparse: the N largest numbers of each (default: the model's limit)")
      ->check(between(1))
      ->needs(sparse);
  sparse->excludes(multi);
  sub->add_option("--image", command->images,
                  "An image to embed, after the texts, with a model of images; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->excludes(sparse)
      ->excludes(multi);
  sub->add_option("--dimensions", command->options.dimensions,
                  "That many numbers of each dense vector, at length 1 again")
      ->check(between(1))
      ->excludes(sparse)
      ->excludes(multi);
  add_texts_options(*sub, *command);
  sub->callback([command, name] {
    if (name->count() > 0) command->options.prompt_name = command->prompt_name;
    embed(*command);
  });
  return sub;
}

CLI::App* add_rerank_command(CLI::App& app) {
  auto command = std::make_shared<TextsCommand>();
  CLI::App* sub = app.add_subcommand(
      "rerank", "Print documents by how well they answer a query: score, number, text");
  add_encoder(*sub, *command);
  sub->add_option("QUERY", command->query, "The query")->type_name("")->required();
  sub->add_option("DOCUMENT", command->texts, "Documents; none, or -: the lines of stdin")
      ->type_name("");
  sub->add_option("--top", command->top, "Print the best N only")->check(between(1));
  add_texts_options(*sub, *command);
  sub->callback([command] { rerank(*command); });
  return sub;
}

}  // namespace pippin::cli
