#include "pippin/server/embedding_inputs.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "pippin/server/api_error.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

void add_text(MixedInputs& inputs, std::string text) {
  inputs.texts.push_back(std::move(text));
  inputs.is_image.push_back(false);
}

void add_object(MixedInputs& inputs, const Json& object, const std::string& place) {
  const auto text = object.find("text"), image = object.find("image");
  if (!object.is_object() || text.has_value() == image.has_value()) {
    refuse_at(place, "expected a text, or an object with either `text` or `image`");
  }
  if (text) return add_text(inputs, text_of(*text, place + ".text"));
  const std::string where = place + ".image", value = text_of(*image, where);
  const bool is_url =
      value.starts_with("data:") || value.starts_with("http://") || value.starts_with("https://");
  if (is_url) {
    inputs.images.add_url(value, where, "image");
  } else {
    inputs.images.add_base64(value, where, "image");
  }
  inputs.is_image.push_back(true);
}

void add_part(MixedInputs& inputs, const Json& part, const std::string& place) {
  const std::string type = type_at(part, place);
  if (type == "text") return add_text(inputs, text_of(member(part, "text", place), place));
  if (type != "image_url") {
    refuse_at(place, fmt::format("a part of type {} is not supported (supported: text, image_url)",
                                 shown(type)));
  }
  inputs.images.add_openai(part, place);
  inputs.is_image.push_back(true);
}

MixedInputs of_messages(const Json& messages) {
  MixedInputs inputs;
  const bool is_one = messages.is_array() && messages.size() == 1;
  if (is_one) {
    const std::string place = "messages[0].content";
    const Json content = member(messages.at(size_t{0}), "content", "messages[0]");
    if (content.is_string()) {
      add_text(inputs, text_of(content, place));
    } else if (content.is_array()) {
      for (size_t i = 0; i < content.size(); ++i) {
        add_part(inputs, content.at(i), fmt::format("{}[{}]", place, i));
      }
    }
  }
  if (inputs.is_image.size() != 1) {
    refuse_at("messages",
              "expected one message with one text or one image: each has an embedding of its own "
              "(`input` takes several)");
  }
  return inputs;
}

}  // namespace

std::optional<MixedInputs> read_mixed_inputs(const RequestFields& body) {
  const auto messages = body.find("messages"), input = body.find("input");
  if (messages) {
    if (input) refuse_at("messages", "not together with input");
    return of_messages(*messages);
  }
  if (!input) return std::nullopt;
  const std::string name = body.spelling("input");
  MixedInputs inputs;
  if (input->is_object()) {
    add_object(inputs, *input, name);
    return inputs;
  }
  if (!input->is_array()) return std::nullopt;
  const std::vector<Json> all = input->elements();
  if (std::none_of(all.begin(), all.end(), [](const Json& one) { return one.is_object(); })) {
    return std::nullopt;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_string()) {
      add_text(inputs, std::string(all[i].as_string()));
    } else {
      add_object(inputs, all[i], fmt::format("{}[{}]", name, i));
    }
  }
  return inputs;
}

}  // namespace pippin::server
