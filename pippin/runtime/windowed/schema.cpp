#include "pippin/runtime/windowed/schema.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/families/windowed.h"
#include "pippin/runtime/package/step_schema.h"

namespace pippin::runtime {
namespace {

namespace windowed = families::windowed;
using mil::Feature;

const Feature* find(const std::vector<Feature>& features, std::string_view name) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  return found == features.end() ? nullptr : &*found;
}

bool is_cache(const Feature& feature) {
  return feature.name.find(windowed::kCacheWord) != feature.name.npos;
}

// "new_x" is stored as "x".
std::string stored_name(const std::string& output) {
  return output.starts_with(windowed::kNew) ? output.substr(std::string_view(windowed::kNew).size())
                                            : output;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

[[noreturn]] void fail_shapes(std::string_view what, const std::vector<int64_t>& a,
                              const std::string& a_name, const std::vector<int64_t>& b,
                              const std::string& b_name) {
  fail(ErrorCode::InvalidFile, "{} is {} in '{}' and {} in '{}': they are of different conversions",
       what, shape_text(a), a_name, shape_text(b), b_name);
}

class Maker {
 public:
  Maker(const std::vector<NamedDescription>& chunks, const NamedDescription& processor)
      : chunks_(chunks), processor_(processor) {}

  WindowedSchema make() {
    read_first();
    for (size_t i = 0; i < chunks_.size(); ++i) read_chunk(i);
    if (schema_.cache_shape.empty()) refuse(chunks_[1], "no chunk has an input k_cache_0");
    schema_.context = schema_.window + schema_.cache_shape.back();
    read_last();
    check_processor();
    return std::move(schema_);
  }

 private:
  [[noreturn]] static void refuse(const NamedDescription& chunk, const std::string& what) {
    fail(ErrorCode::Unsupported, "{}: not a chunk of a windowed language model: {}", chunk.name,
         what);
  }

  void read_first() {
    const NamedDescription& first = chunks_.front();
    for (const Feature& input : first.function->inputs) {
      const bool is_int = input.kind == Feature::Kind::MultiArray &&
                          mil::is_integer(input.data_type) && !input.shape.empty();
      const bool is_ids = is_int && input.shape.back() > 1;
      std::string& place = is_ids ? schema_.ids : schema_.length;
      if (!is_int || !place.empty()) {
        refuse(first,
               fmt::format("input '{}'; it takes input_ids and full_sequence_length", input.name));
      }
      place = input.name;
      if (is_ids) schema_.window = input.shape.back();
    }
    if (schema_.ids.empty()) refuse(first, "no input of token ids, int32 (1, window)");
    if (schema_.length.empty()) refuse(first, "no input full_sequence_length, int32 (1)");
  }

  void read_chunk(size_t index) {
    const NamedDescription& chunk = chunks_[index];
    WindowedChunk result;
    result.function = chunk.function->name;
    result.name = chunk.name;
    if (!chunk.function->states.empty()) refuse(chunk, "it has states");
    for (const Feature& input : chunk.function->inputs) {
      if (index == 0) break;
      if (is_cache(input)) {
        read_cache(chunk, input, result);
      } else {
        result.routes.push_back(find_route(index, input));
      }
    }
    schema_.chunks.push_back(std::move(result));
  }

  WindowedRoute find_route(size_t index, const Feature& input) {
    for (size_t before = index; before-- > 0;) {
      for (const Feature& output : chunks_[before].function->outputs) {
        if (is_cache(output) || stored_name(output.name) != input.name) continue;
        if (!output.shape.empty() && output.shape != input.shape) {
          fail_shapes(fmt::format("'{}'", input.name), output.shape, chunks_[before].name,
                      input.shape, chunks_[index].name);
        }
        const bool is_stream = input.name == windowed::kStream && input.shape.size() > 1;
        if (is_stream) schema_.width = input.shape[1];
        return {input.name, before, output.name};
      }
    }
    fail(ErrorCode::InvalidFile, "{}: takes '{}', which no chunk before it gives",
         chunks_[index].name, input.name);
  }

  // Reads k_cache_i with v_cache_i and their new_ outputs.
  void read_cache(const NamedDescription& chunk, const Feature& input, WindowedChunk& result) {
    const bool is_key = input.name.starts_with(windowed::kKeyWord);
    const Feature* fresh = find(chunk.function->outputs, windowed::updated(input.name));
    if (fresh == nullptr) {
      refuse(chunk, fmt::format("it takes '{}' and gives no 'new_{}'", input.name, input.name));
    }
    check_shape(is_key ? schema_.cache_shape : schema_.v_cache_shape, input,
                is_key ? k_origin_ : v_origin_, chunk.name);
    check_shape(is_key ? schema_.new_shape : schema_.v_new_shape, *fresh,
                is_key ? k_origin_ : v_origin_, chunk.name);
    if (!is_key) return;
    const std::string v = windowed::kValueWord + input.name.substr(2);
    if (find(chunk.function->inputs, v) == nullptr) {
      refuse(chunk, fmt::format("it takes '{}' and no '{}'", input.name, v));
    }
    result.blocks.push_back({input.name, v, windowed::updated(input.name), windowed::updated(v)});
  }

  static void check_shape(std::vector<int64_t>& known, const Feature& feature, std::string& origin,
                          const std::string& chunk) {
    if (known.empty()) {
      known = feature.shape;
      origin = chunk;
    } else if (known != feature.shape) {
      fail_shapes(fmt::format("'{}'", feature.name), known, origin, feature.shape, chunk);
    }
  }

  void read_last() {
    const NamedDescription& last = chunks_.back();
    for (const Feature& output : last.function->outputs) {
      if (mil::is_float(output.data_type) && output.name.starts_with(windowed::kLogits)) {
        schema_.logits.push_back(output.name);
      }
    }
    if (schema_.logits.empty()) refuse(last, "the last chunk gives no logits");
    sort_by_number(schema_.logits);
  }

  void check_processor() const {
    const auto& function = *processor_.function;
    const auto check = [&](std::string_view name, const std::vector<int64_t>& shape,
                           const std::string& origin) {
      const bool output = name.starts_with("updated");
      const Feature* feature = find(output ? function.outputs : function.inputs, name);
      if (feature == nullptr) {
        fail(ErrorCode::Unsupported, "{}: no {} '{}'", processor_.name, output ? "output" : "input",
             name);
      }
      if (!feature->shape.empty() && feature->shape != shape) {
        fail_shapes(fmt::format("'{}'", name), feature->shape, processor_.name, shape, origin);
      }
    };
    check(windowed::kOldKeys, schema_.cache_shape, k_origin_);
    check(windowed::kNewKeys, schema_.new_shape, k_origin_);
    check(windowed::kOldValues, schema_.v_cache_shape, v_origin_);
    check(windowed::kNewValues, schema_.v_new_shape, v_origin_);
    check(windowed::kUpdatedKeys, schema_.cache_shape, k_origin_);
    check(windowed::kUpdatedValues, schema_.v_cache_shape, v_origin_);
  }

  const std::vector<NamedDescription>& chunks_;
  const NamedDescription& processor_;
  WindowedSchema schema_;
  std::string k_origin_, v_origin_;
};

}  // namespace

WindowedSchema windowed_schema(const std::vector<NamedDescription>& chunks,
                               const NamedDescription& cache_processor) {
  return Maker(chunks, cache_processor).make();
}

}  // namespace pippin::runtime
