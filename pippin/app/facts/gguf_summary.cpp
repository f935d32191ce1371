#include "pippin/app/facts/gguf_summary.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/open/ggml_model.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/base/bytes.h"
#include "pippin/base/columns.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/text.h"
#include "pippin/io/ggml.h"
#include "pippin/io/gguf.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/models/gguf/gguf.h"

namespace pippin::app {
namespace {

constexpr size_t kMostText = 120;  // bytes of text shown per line

struct TypeGroup {
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;
  std::string form;  // the form used for running
};

struct Summary {
  std::string name, path;
  size_t parts = 0;
  std::shared_ptr<const MappedFile> mapped;  // of the first part, like the members below
  GgufContent content;
  std::map<std::string, TypeGroup> types;
  int64_t tensors = 0;
  uint64_t bytes = 0;
  bool is_ggml = false;
  std::string model_type, tokenizer;                 // the types that it runs as
  std::optional<std::string> refusal, no_tokenizer;  // why it does not run
};

std::string form_of(std::string_view type) {
  if (type == "F32" || type == "F16" || type == "BF16") return "values";
  for (const kernels::GgmlForm& form : kernels::ggml_forms()) {
    const bool same =
        std::equal(type.begin(), type.end(), form.name.begin(), form.name.end(),
                   [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
    if (!same) continue;
    return fmt::format("{}int{} in blocks of {}{}", form.is_signed ? "" : "u", form.code_bits,
                       form.group, form.has_offsets ? " with offsets" : "");
  }
  return "not read";
}

template <typename Work>
std::optional<std::string> refusal_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    return error.what();
  }
  return std::nullopt;
}

void count_tensors(Summary& summary, const std::vector<GgufTensor>& tensors,
                   const std::string& name) {
  for (const GgufTensor& tensor : tensors) {
    const GgufBlock block = gguf_block(tensor.type, name);
    TypeGroup& group = summary.types[std::string(block.name)];
    group.form = form_of(block.name);
    group.elements += static_cast<int64_t>(tensor.data.size()) / block.bytes * block.elements;
    group.bytes += tensor.data.size();
    ++group.tensors;
    ++summary.tensors;
    summary.bytes += tensor.data.size();
  }
}

// The sizes of a GGML file stand for the metadata that it does not have.
Summary summarize_ggml(const std::filesystem::path& file) {
  Summary summary;
  summary.path = file.string();
  summary.name = file.filename().string();
  summary.parts = 1;
  summary.is_ggml = true;
  summary.model_type = "whisper";
  summary.tokenizer = "whisper";
  const auto mapped = MappedFile::open(file);
  const GgmlContent content = parse_ggml(mapped->bytes(), summary.name);
  count_tensors(summary, content.tensors, summary.name);
  summary.refusal = refusal_of([&] { ggml_files(content, summary.name); });
  return summary;
}

Summary summarize(const std::filesystem::path& file) {
  if (is_ggml_file(file)) return summarize_ggml(file);
  Summary summary;
  summary.path = file.string();
  for (const auto& part : gguf_parts(std::filesystem::absolute(file))) {
    const auto mapped = MappedFile::open(part);
    const std::string name = part.filename().string();
    GgufContent content = parse_gguf(mapped->bytes(), name);
    count_tensors(summary, content.tensors, name);
    if (summary.parts++ > 0) continue;
    summary.name = name;
    summary.refusal = refusal_of([&] {
      const std::string config = models::gguf_config(content, name);
      gguf_sentence_files(content, name);
      summary.model_type = Json::parse(config, name).get_string("model_type");
    });
    summary.no_tokenizer = refusal_of([&] { tokenizers::read_gguf_tokenizer(content, name); });
    if (!summary.no_tokenizer) {
      summary.tokenizer = *GgufMetadata(content, name).text("tokenizer.ggml.model");
    }
    summary.content = std::move(content);
    summary.mapped = mapped;
  }
  return summary;
}

std::string counted(uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// Calls show with the value of a number or bool in its own type.
template <typename Show>
void visit_number(const GgufMetadata& metadata, const std::string& key, const GgufValue& value,
                  const Show& show) {
  ByteReader reader(value.data, key);
  switch (value.type) {
    case GgufValueType::Bool:
      return show(reader.read<uint8_t>() != 0);
    case GgufValueType::F32:
      return show(reader.read<float>());
    case GgufValueType::F64:
      return show(reader.read<double>());
    case GgufValueType::U64:
      return show(reader.read<uint64_t>());
    case GgufValueType::I64:
      return show(reader.read<int64_t>());
    default:
      return show(static_cast<int64_t>(*metadata.number(key)));
  }
}

// An array is shown as its number of elements.
std::string spell(const GgufMetadata& metadata, const std::string& key, const GgufValue& value) {
  if (value.is_array) {
    return counted(value.count, value.type == GgufValueType::Text ? "text" : "number");
  }
  std::string result;
  if (value.type == GgufValueType::Text) {
    const std::string_view text = value.texts()[0];
    if (text.size() <= kMostText) return std::string(text);
    result = text.substr(0, complete_utf8_prefix(text.substr(0, kMostText)));
    return result + " ...";
  }
  visit_number(metadata, key, value, [&](auto number) { result = fmt::format("{}", number); });
  return result;
}

}  // namespace

std::string gguf_summary_text(const std::filesystem::path& file) {
  const Summary summary = summarize(file);
  const GgufMetadata metadata(summary.content, summary.name);
  std::string result = fmt::format(
      "{}: {}, {}{}, {} of weights\n", one_line(summary.name), summary.is_ggml ? "GGML" : "GGUF",
      summary.parts > 1 ? counted(summary.parts, "part") + ", " : "",
      counted(static_cast<uint64_t>(summary.tensors), "tensor"), format_bytes(summary.bytes));
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"runs as", one_line(summary.refusal.value_or(summary.model_type))});
  rows.push_back({"tokenizer", one_line(summary.no_tokenizer.value_or(summary.tokenizer))});
  result += in_columns(rows, "  ");
  rows.clear();
  for (const auto& [type, group] : summary.types) {
    rows.push_back({type, format_bytes(group.bytes),
                    counted(static_cast<uint64_t>(group.tensors), "tensor"),
                    fmt::format("{} elements", group.elements), group.form});
  }
  if (!rows.empty()) result += "\nweights\n" + in_columns(rows, "  ");
  rows.clear();
  for (const auto& [key, value] : summary.content.metadata) {
    rows.push_back({one_line(key), one_line(spell(metadata, key, value))});
  }
  if (!rows.empty()) result += "\nmetadata\n" + in_columns(rows, "  ");
  return result;
}

std::string gguf_summary_json(const std::filesystem::path& file) {
  const Summary summary = summarize(file);
  const GgufMetadata metadata(summary.content, summary.name);
  JsonWriter json(2);
  const auto reason = [&](std::string_view key, const std::optional<std::string>& text) {
    if (text) json.member(key, *text);
  };
  json.begin_object()
      .member("path", summary.path)
      .member("kind", summary.is_ggml ? "ggml" : "gguf");
  json.member("parts", summary.parts);
  if (!summary.refusal) json.member("model_type", summary.model_type);
  reason("refused", summary.refusal);
  reason("tokenizer_refused", summary.no_tokenizer);
  json.key("weights").begin_object().member("bytes", summary.bytes).key("types").begin_array();
  for (const auto& [type, group] : summary.types) {
    json.begin_object().member("type", type).member("tensors", group.tensors);
    json.member("elements", group.elements).member("bytes", group.bytes);
    json.member("form", group.form).end_object();
  }
  json.end_array().end_object().key("metadata").begin_object();
  for (const auto& [key, value] : summary.content.metadata) {
    json.key(key);
    if (value.is_array) {
      json.begin_object().member("count", value.count).end_object();
    } else if (value.type == GgufValueType::Text) {
      json.value(value.texts()[0]);
    } else {
      visit_number(metadata, key, value, [&](auto number) {
        if constexpr (std::is_same_v<decltype(number), float>) {
          json.value(static_cast<double>(number));
        } else {
          json.value(number);
        }
      });
    }
  }
  json.end_object().end_object();
  return json.text() + "\n";
}

}  // namespace pippin::app
