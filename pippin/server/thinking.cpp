#include "pippin/server/thinking.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "pippin/server/api_error.h"
#include "pippin/server/effort_hint.h"
#include "pippin/server/request_json.h"
#include "pippin/server/text_request.h"

namespace pippin::server {
namespace {

using chat::Dict;

// The name in most templates, such as Qwen's; the name in those of DeepSeek V3.1 and Granite.
constexpr std::array kSwitches = {"enable_thinking", "thinking"};

bool knows(const ServedModel& model, std::string_view word) {
  return model.template_source.find(word) != std::string::npos;
}

// Sets the template's switch. Returns false if it has none.
bool set_switch(const ServedModel& model, bool is_on, Dict& context) {
  if (model.thinking_switch.empty()) return false;
  context.set(model.thinking_switch, is_on);
  return true;
}

// Effort and switch of thinking, from all of their fields.
struct Thinking {
  std::optional<std::string> effort;
  std::optional<bool> is_wanted;
  std::string effort_name, switch_name;  // the fields that set these
};

Thinking read_thinking(const RequestFields& body) {
  Thinking thinking{.effort_name = "reasoning_effort", .switch_name = "enable_thinking"};
  thinking.effort = find_string(body, "reasoning_effort");
  thinking.is_wanted = find_bool(body, "enable_thinking");
  if (const auto reasoning = body.find("reasoning")) {
    if (!reasoning->is_object()) {
      throw ApiError(400, "reasoning: expected an object", "reasoning");
    }
    const auto effort = find_string(*reasoning, "effort");
    const auto enabled = find_bool(*reasoning, "enabled");
    if (effort && !thinking.effort) thinking.effort = effort, thinking.effort_name = "reasoning";
    if (enabled && !thinking.is_wanted) {
      thinking.is_wanted = enabled, thinking.switch_name = "reasoning";
    }
  }
  if (const auto think = body.find("think")) {
    if (think->is_string()) {
      if (!thinking.effort) {
        thinking.effort = std::string(think->as_string()), thinking.effort_name = "think";
      }
    } else if (!think->is_bool()) {
      throw ApiError(400, "think: expected true, false or an effort", "think");
    } else if (!thinking.is_wanted) {
      thinking.is_wanted = think->as_bool(), thinking.switch_name = "think";
    }
  }
  return thinking;
}

// Templates support one of these spellings, or none. Returns the fields without effect.
std::vector<std::string> set_effort(const ServedModel& model, const RequestFields& body,
                                    Dict& context) {
  const Thinking thinking = read_thinking(body);
  std::vector<std::string> unheeded;
  if (thinking.effort) {
    if (knows(model, "reasoning_effort")) {
      context.set("reasoning_effort", *thinking.effort);
    } else if (!set_switch(model, *thinking.effort != "none", context) &&
               *thinking.effort != (model.reasoning == nullptr ? "none" : "medium")) {
      unheeded.push_back(thinking.effort_name);
    }
  }
  if (thinking.is_wanted && !set_switch(model, *thinking.is_wanted, context) &&
      *thinking.is_wanted != (model.reasoning != nullptr)) {
    unheeded.push_back(thinking.switch_name);
  }
  if (model.reasoning == nullptr && read_thinking_budget(body) >= 0) {
    unheeded.push_back(body.has("thinking_token_budget") ? body.spelling("thinking_token_budget")
                       : body.has("reasoning")           ? "reasoning.max_tokens"
                                                         : "thinking.budget_tokens");
  }
  return unheeded;
}

// Returns the effort that Anthropic's clients send: a later turn's, else the whole request's.
std::optional<std::string> effort_hint(const RequestFields& body) {
  const auto effort_in = [](const RequestFields& object, const std::string& place) {
    return read_field(place, [&]() -> std::optional<std::string> {
      const auto config = object.find("output_config");
      if (!config) return std::nullopt;
      if (!config->is_object()) config->invalid("expected an object");
      return config->find_string("effort");
    });
  };
  if (const auto messages = body.find("messages"); messages && messages->is_array()) {
    for (size_t i = messages->size(); i-- > 0;) {
      if (!messages->at(i).is_object()) continue;
      if (auto effort = effort_in(messages->at(i), fmt::format("messages.{}.output_config", i))) {
        return effort;
      }
    }
  }
  return effort_in(body, "output_config");
}

// Reads Anthropic's switch. With "adaptive" the template decides, as it does without a switch.
void read_switch(const ServedModel& model, const RequestFields& body, bool has_hint, Dict& context,
                 std::vector<std::string>& unheeded) {
  const auto thinking = body.find("thinking");
  if (!thinking) return;
  const std::string type = read_field("thinking", [&] { return thinking->get_string("type"); });
  // The clients send thoughts back, so the next prompt contains them.
  if (model.reasoning != nullptr && thinking->get_string_or("display", "") == "omitted") {
    unheeded.emplace_back("thinking.display");
  }
  if (type == "adaptive" || type == "auto") return;
  if (type != "enabled" && type != "disabled") {
    throw ApiError(400, "thinking: the type \"" + type + "\" is not enabled, disabled or adaptive",
                   "thinking");
  }
  const bool wanted = type == "enabled";
  if (set_switch(model, wanted, context)) return;
  if (knows(model, "reasoning_effort") && (knows(model, "'none'") || knows(model, "\"none\""))) {
    if (!wanted) context.set("reasoning_effort", "none");
    if (wanted && !has_hint && context.find("reasoning_effort") == nullptr) {
      context.set("reasoning_effort", "high");
    }
  } else if (wanted != (model.reasoning != nullptr)) {
    unheeded.emplace_back("thinking");
  }
}

// Returns the efforts to try with the template for the hint; none if a switch follows it.
Efforts set_hint(const ServedModel& model, const std::string& hint, Dict& context,
                 std::vector<std::string>& unheeded) {
  // Explicit fields take precedence.
  if (context.find("reasoning_effort") != nullptr) return {};
  if (knows(model, "reasoning_effort")) return efforts_for(hint, model.template_source);
  if (context.find(model.thinking_switch) == nullptr &&
      !set_switch(model, hint != "none", context)) {
    unheeded.emplace_back(kEffortHint);
  }
  return {};
}

}  // namespace

Efforts set_thinking(const ServedModel& model, const RequestFields& body, Dict& context,
                     std::vector<std::string>& unheeded) {
  unheeded = set_effort(model, body, context);
  const auto hint = effort_hint(body);
  read_switch(model, body, hint.has_value(), context, unheeded);
  return hint ? set_hint(model, *hint, context, unheeded) : Efforts();
}

std::string find_thinking_switch(const ChatTemplate& chat) {
  for (const char* name : kSwitches) {
    if (chat.reads(name)) return name;
  }
  return {};
}

const std::string& own_variable(const ServedModel& model, const std::string& name) {
  const bool is_switch = std::find(kSwitches.begin(), kSwitches.end(), name) != kSwitches.end();
  return is_switch && !model.thinking_switch.empty() && !model.loaded.chat_template->reads(name)
             ? model.thinking_switch
             : name;
}

}  // namespace pippin::server
