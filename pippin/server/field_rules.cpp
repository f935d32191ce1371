#include "pippin/server/field_rules.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace pippin::server {
namespace {

constexpr uint32_t kConversations = kChat | kResponses;
constexpr uint32_t kText = kConversations | kCompletions | kNative;
constexpr uint32_t kSampled = kText | kMessages;
constexpr uint32_t kTemplated = kConversations | kMessages;
constexpr uint32_t kVectors = kEmbeddings | kRerank | kScore;
constexpr uint32_t kAll = kSampled | kVectors;
constexpr uint32_t kSampling = kSampled | kOllamaOptions;
constexpr uint32_t kAnyOllama = kOllama | kOllamaEmbed;
constexpr uint32_t kSpeech = kTranscriptions | kTranslations | kInference;

// If a request has two spellings of a field, the first one here counts. A plain array, because
// clang deduces the size of a std::array only up to 256 elements.
constexpr FieldRule kRules[] = {
    // --- the prompt ---
    {"model", kAll | kAnyOllama | kSpeech, Use::Honoured, "", "default: the first model"},
    {"messages", kChat | kMessages | kOllama, Use::Honoured, "", ""},
    {"messages", kResponses, Use::Only, "[]", "use input"},
    {"input", kResponses, Use::Honoured, "", "a text, or items"},
    {"instructions", kResponses, Use::Honoured, "",
     "a system message before the others; not carried over to the next response"},
    {"previous_response_id", kResponses, Use::Honoured, "",
     "id of a stored response to continue from"},
    {"conversation", kResponses, Use::Only, "[]", "use previous_response_id"},
    {"system", kMessages | kOllama, Use::Honoured, "", ""},
    {"system", kResponses, Use::Only, R"([""])", "use instructions"},
    {"prompt", kCompletions | kNative, Use::Honoured, "",
     "a text, tokens, or a list of them; /infill: the start of the middle"},
    {"prompt", kOllama, Use::Honoured, "", "a text; empty: the model is loaded"},
    {"prompt", kResponses, Use::Only, "[]", "use input"},
    {"suffix", kCompletions | kOllama, Use::Honoured, "", "for models with fill-in tokens"},
    {"raw", kOllama, Use::Honoured, "", "true: the prompt is used without the template"},
    {"context", kOllama, Use::Honoured, "",
     "tokens of the previous answer, which the prompt follows"},
    {"echo", kCompletions, Use::Honoured, "",
     "repeats the prompt before the text; with logprobs, also those of the prompt"},
    {"echo", kConversations, Use::Only, "[false]", ""},
    {"add_special_tokens", kConversations | kCompletions, Use::Honoured, "",
     "the tokenizer's, before the prompt; chat: off, because the template writes them"},
    {"truncate_prompt_tokens", kText, Use::Honoured, "",
     "keeps only this many of the prompt's last tokens; -1: as many as fit"},
    {"truncation_side", kText, Use::Only, R"(["left"])", ""},
    {"add_bos_token", kConversations | kCompletions, Use::Honoured, "add_special_tokens", ""},
    {"truncation_length", kText, Use::Only, "[]", "use truncate_prompt_tokens"},
    {"input_ids", kText, Use::Only, "[]", "use prompt"},
    {"prompt_token_ids", kText, Use::Only, "[]", "use prompt"},
    {"prompt_embeds", kText, Use::Only, "[]", ""},
    {"multimodal_data", kText, Use::Only, "[]", ""},
    {"images", kText, Use::Only, "[[]]", "use image_url parts of messages"},
    {"images", kOllama, Use::Honoured, "", "images in base64, before the prompt"},
    {"negative_prompt", kText, Use::Only, R"([""])", ""},
    {"return_full_text", kText, Use::Only, "[false]", "use echo"},
    {"token_healing", kText, Use::Only, "[false]", ""},
    {"truncation", kResponses, Use::Only, R"(["disabled", "auto"])",
     "nothing is ever cut, an input that does not fit gets 400"},
    {"input_prefix", kNative, Use::Honoured, "", "/infill: before the gap"},
    {"input_suffix", kNative, Use::Honoured, "", "/infill: after the gap"},
    {"input_extra", kNative, Use::Honoured, "", "/infill: {filename, text} of other files"},

    // --- how much of it, and where it ends ---
    {"max_completion_tokens", kConversations, Use::Honoured, "max_tokens", ""},
    {"max_output_tokens", kResponses, Use::Honoured, "max_tokens",
     "1 or more; none: to the end of the context"},
    {"max_tokens", kResponses, Use::Honoured, "", "1 or more"},
    {"max_tokens", kSampled & ~kResponses, Use::Honoured, "",
     "0 or more; -1, or none: to the end of the context (/v1/completions: 16)"},
    {"n_predict", kText, Use::Honoured, "max_tokens", ""},
    {"num_predict", kText | kOllamaOptions, Use::Honoured, "max_tokens", ""},
    {"max_new_tokens", kText, Use::Honoured, "max_tokens", ""},
    {"min_tokens", kText, Use::Honoured, "", "no end token before this many"},
    {"min_new_tokens", kText, Use::Honoured, "min_tokens", ""},
    {"stop", kText | kOllamaOptions, Use::Honoured, "", "a text, or up to 256 of them"},
    {"stop_sequences", kMessages, Use::Honoured, "stop", ""},
    {"stop_token_ids", kText, Use::Honoured, "", "the text ends before one of them"},
    {"include_stop_str_in_output", kText, Use::Honoured, "", "the text ends after the stop string"},
    {"no_stop_trim", kText, Use::Honoured, "include_stop_str_in_output", ""},
    {"stop_regex", kText, Use::Only, "[[]]", ""},
    {"custom_stopping_strings", kText, Use::Only, R"(["", []])", "use stop"},
    {"ignore_eos", kText, Use::Honoured, "", "end tokens do not end the text"},
    {"ban_eos_token", kText, Use::Honoured, "ignore_eos", ""},
    {"n_indent", kNative, Use::Honoured, "",
     "the text ends before a line with a smaller indentation"},
    {"t_max_predict_ms", kNative, Use::Honoured, "",
     "time after which the text ends, once it has a line end"},
    {"n", kText & ~kResponses, Use::Honoured, "", "choices per prompt, at most 128"},
    {"n_cmpl", kText & ~kResponses, Use::Honoured, "n", ""},
    {"n", kResponses, Use::Only, "[1]", "a response has one answer"},
    {"n_cmpl", kResponses, Use::Only, "[1]", "a response has one answer"},
    {"best_of", kResponses, Use::Only, "[1]", "a response has one answer"},
    {"best_of", kChat | kCompletions, Use::Honoured, "", "only as many as `n`"},
    {"use_beam_search", kText, Use::Only, "[false]", ""},
    {"length_penalty", kText, Use::Only, "[1]", "it belongs to beam search"},
    {"early_stopping", kText, Use::Only, "[false]", "it belongs to beam search"},

    // --- which token comes next ---
    {"temperature", kSampling, Use::Honoured, "", "0: always the most likely token"},
    {"do_sample", kText, Use::Honoured, "", "false: temperature 0"},
    {"top_p", kSampling, Use::Honoured, "", ""},
    {"top_k", kSampling, Use::Honoured, "", "0 or -1: all"},
    {"min_p", kSampling, Use::Honoured, "", ""},
    {"typical_p", kSampling, Use::Honoured, "", ""},
    {"typ_p", kSampling, Use::Honoured, "typical_p", ""},
    {"xtc_probability", kSampling, Use::Honoured, "", ""},
    {"xtc_threshold", kSampling, Use::Honoured, "", ""},
    {"mirostat", kSampling, Use::Honoured, "",
     "0: off; 2: version 2, with tau 5 by default; 1 gets 400"},
    {"mirostat_tau", kSampling, Use::Honoured, "", "above 0: mirostat version 2"},
    {"mirostat_target", kText, Use::Honoured, "mirostat_tau", ""},
    {"mirostat_eta", kSampling, Use::Honoured, "", ""},
    {"mirostat_lr", kText, Use::Honoured, "mirostat_eta", ""},
    {"repetition_penalty", kSampling, Use::Honoured, "", ""},
    {"repeat_penalty", kSampling, Use::Honoured, "repetition_penalty", ""},
    {"presence_penalty", kSampling, Use::Honoured, "", ""},
    {"frequency_penalty", kSampling, Use::Honoured, "", ""},
    {"penalty_last_n", kSampling, Use::Honoured, "",
     "number of last tokens that penalties consider; -1: all, 0: no penalties"},
    {"repeat_last_n", kSampling, Use::Honoured, "penalty_last_n", ""},
    {"repetition_context_size", kText, Use::Honoured, "penalty_last_n", ""},
    {"presence_context_size", kText, Use::Only, "[]", "use penalty_last_n"},
    {"frequency_context_size", kText, Use::Only, "[]", "use penalty_last_n"},
    {"dry_multiplier", kSampling, Use::Honoured, "", ""},
    {"dry_base", kSampling, Use::Honoured, "", ""},
    {"dry_allowed_length", kSampling, Use::Honoured, "", ""},
    {"dry_last_n", kSampling, Use::Honoured, "", "-1: all, 0: off"},
    {"dry_penalty_last_n", kSampling, Use::Honoured, "dry_last_n", ""},
    {"dry_sequence_breakers", kSampling, Use::Honoured, "", ""},
    {"logit_bias", kSampling, Use::Honoured, "",
     "{token: bias}, or a list of pairs; -100 or false: never"},
    {"allowed_token_ids", kText, Use::Honoured, "", "only these tokens are generated"},
    {"bad_words", kText, Use::Honoured, "", "texts that the answer must not contain"},
    {"banned_strings", kText, Use::Honoured, "bad_words", ""},
    {"banned_tokens", kText, Use::Only, "[[]]", "use logit_bias"},
    {"custom_token_bans", kText, Use::Only, R"([""])", "use logit_bias"},
    {"logit_bias_exp", kText, Use::Only, "[[]]", "use logit_bias"},
    {"seed", kSampling, Use::Honoured, "", "choice i has seed + i; -1: any"},
    {"random_seed", kSampling, Use::Honoured, "seed", ""},
    {"samplers", kText, Use::Honoured, "",
     "filters that are not in the list are off; their order is always the same"},
    {"min_keep", kText, Use::Only, "[0, 1]", ""},
    {"dynatemp_range", kText, Use::Only, "[0]", ""},
    {"dynatemp_exponent", kText, Use::Ignored, "", "it needs dynatemp_range"},
    {"top_n_sigma", kText, Use::Only, "[0, -1]", ""},
    {"adaptive_target", kText, Use::Only, "[-1]", ""},
    {"adaptive_decay", kText, Use::Ignored, "", "it needs adaptive_target"},
    {"top_a", kText, Use::Only, "[0]", ""},
    {"tfs", kText, Use::Only, "[1]", ""},
    {"tfs_z", kText | kOllamaOptions, Use::Only, "[1]", ""},
    {"smoothing_factor", kText, Use::Only, "[0]", ""},
    {"nsigma", kText, Use::Only, "[0]", ""},
    {"skew", kText, Use::Only, "[0]", ""},
    {"epsilon_cutoff", kText, Use::Only, "[0]", ""},
    {"eta_cutoff", kText, Use::Only, "[0]", ""},
    {"penalty_alpha", kText, Use::Only, "[0]", ""},
    {"no_repeat_ngram_size", kText, Use::Only, "[0]", ""},
    {"encoder_repetition_penalty", kText, Use::Only, "[1]", ""},
    {"temperature_last", kText, Use::Only, "[false]", ""},
    {"sampler_order", kText, Use::Only, "[]", ""},
    {"repetition_detection", kText, Use::Only, "[]", ""},
    {"watermark", kText, Use::Only, "[false]", ""},
    {"smoothing_curve", kText, Use::Ignored, "", "it needs smoothing_factor"},
    {"guidance_scale", kText, Use::Only, "[1]", ""},
    {"logits_processors", kText, Use::Only, "[[]]", ""},
    {"custom_logit_processor", kText, Use::Only, R"([""])", ""},
    {"lora", kText, Use::Only, "[[]]", "adapters are chosen when the server starts"},
    {"lora_path", kText, Use::Only, R"([""])", "adapters are chosen when the server starts"},
    {"temperature", kOllama, Use::Honoured, "",
     "some clients send it here; `options` takes precedence"},
    {"top_p", kOllama, Use::Honoured, "", "the same"},
    {"max_output_tokens", kOllama, Use::Honoured, "max_tokens", "the same"},

    // --- the form of the answer ---
    {"adapters", kText, Use::Only, R"([""])", "adapters are chosen when the server starts"},
    {"adapter", kText, Use::Only, R"([""])", "adapters are chosen when the server starts"},
    {"adapter_id", kText, Use::Only, R"([""])", "adapters are chosen when the server starts"},
    {"response_format", kText, Use::Honoured, "", "json_object, json_schema, regex, grammar"},
    {"text", kResponses, Use::Honoured, "",
     R"({"format": text, json_object or json_schema, "verbosity": "medium"})"},
    {"json_schema", kText, Use::Honoured, "", ""},
    {"guided_json", kText, Use::Honoured, "", ""},
    {"grammar", kText, Use::Honoured, "", "GBNF"},
    {"ebnf", kText, Use::Honoured, "grammar", ""},
    {"grammar_string", kText, Use::Honoured, "grammar", ""},
    {"guided_grammar", kText, Use::Honoured, "", ""},
    {"guided_regex", kText, Use::Honoured, "", ""},
    {"regex", kText, Use::Honoured, "guided_regex", ""},
    {"guided_choice", kText, Use::Honoured, "", ""},
    {"structured_outputs", kText, Use::Honoured, "", ""},
    {"output_format", kMessages, Use::Honoured, "", ""},
    {"output_config", kMessages, Use::Honoured, "",
     "{\"format\", \"effort\"}; effort: the nearest level or the switch of the template; without "
     "either, x-ignored-fields says so"},
    {"format", kText | kOllama, Use::Honoured, "", R"("json", or a JSON Schema)"},
    {"guided_whitespace_pattern", kText, Use::Only, R"([""])", ""},
    {"guided_decoding_backend", kText, Use::Ignored, "", "there is one"},
    {"structural_tag", kText, Use::Only, R"([""])", ""},
    {"grammar_lazy", kText, Use::Only, "[false]", ""},
    {"grammar_triggers", kText, Use::Only, "[[]]", ""},
    {"preserved_tokens", kText, Use::Only, "[[]]", ""},
    {"verbosity", kConversations, Use::Only, R"(["medium"])", ""},
    {"modalities", kConversations, Use::Only, R"([["text"]])", ""},
    {"audio", kConversations, Use::Only, "[]", ""},

    // --- tools ---
    {"tools", kChat | kOllama, Use::Honoured, "", ""},
    {"tools", kMessages, Use::Honoured, "",
     "the caller's; Anthropic's own are skipped, and x-ignored-fields names them; alone they get "
     "400"},
    {"tools", kResponses, Use::Honoured, "",
     "functions; others have no effect, x-ignored-fields names their kinds"},
    {"tool_choice", kTemplated | kOllama, Use::Honoured, "", ""},
    {"max_tool_calls", kResponses, Use::Honoured, "",
     "repeated in the response; limits tools that a server calls; Pippin has none"},
    {"parallel_tool_calls", kConversations | kOllama, Use::Honoured, "", ""},
    {"parse_tool_calls", kConversations, Use::Only, "[true]", ""},
    {"functions", kConversations, Use::Only, "[[]]", "use tools"},
    {"function_call", kConversations, Use::Only, R"(["none", "auto"])", "use tool_choice"},
    {"web_search_options", kConversations, Use::Only, "[]", ""},
    {"search_parameters", kConversations, Use::Only, "[]", ""},
    {"enable_search", kConversations, Use::Only, "[false]", ""},
    {"plugins", kConversations, Use::Only, "[[]]", ""},
    {"data_sources", kConversations, Use::Only, "[[]]", ""},
    {"compound_custom", kConversations, Use::Only, "[]", ""},
    {"include_domains", kConversations, Use::Only, "[[]]", ""},
    {"exclude_domains", kConversations, Use::Only, "[[]]", ""},
    {"citation_options", kConversations, Use::Only, R"(["disabled"])", ""},
    {"mcp_servers", kMessages, Use::Only, "[[]]", ""},
    {"container", kMessages, Use::Only, "[]", ""},
    {"thread", kMessages, Use::Only, "[]", "nothing is stored"},
    {"thread_id", kMessages, Use::Only, "[]", "nothing is stored"},
    {"threads", kMessages, Use::Only, "[[]]", "nothing is stored"},

    // --- the template, and thoughts ---
    {"chat_template_kwargs", kTemplated | kOllama, Use::Honoured, "", "passed to the template"},
    {"documents", kTemplated, Use::Honoured, "", "passed to the template"},
    {"add_generation_prompt", kTemplated, Use::Honoured, "", "passed to the template"},
    {"continue_final_message", kTemplated, Use::Honoured, "", "passed to the template"},
    {"chat_template", kConversations, Use::Only, R"([""])", "--chat-template of the server"},
    {"safe_prompt", kConversations, Use::Only, "[false]", ""},
    {"prompt_mode", kConversations, Use::Only, "[]", ""},
    {"instruction_template", kConversations, Use::Only, R"([""])", "--chat-template of the server"},
    {"character", kConversations, Use::Only, R"([""])", ""},
    {"mode", kConversations, Use::Only, R"(["instruct"])", ""},
    {"preset", kText, Use::Only, R"([""])", ""},
    {"generation_prompt", kConversations, Use::Only, R"([""])", ""},
    {"thinking_forced_open", kConversations, Use::Only, "[false]", ""},
    {"transforms", kConversations, Use::Only, "[[]]", ""},
    {"thinking", kTemplated, Use::Honoured, "",
     R"({"type": "enabled", "disabled" or "adaptive" (the template decides), "budget_tokens": N}; )"
     "if the template has no switch, x-ignored-fields says so"},
    {"enable_thinking", kTemplated, Use::Honoured, "", "passed to the template"},
    {"think", kConversations | kOllama, Use::Honoured, "", "true, false, or an effort"},
    {"reasoning_effort", kTemplated, Use::Honoured, "",
     "passed to the template; if it has neither levels nor a switch, x-ignored-fields says so"},
    {"reasoning", kConversations, Use::Honoured, "",
     R"({"effort", "max_tokens", "enabled", "exclude"}; responses: also "summary", )"
     "which returns thoughts in full"},
    {"thinking_token_budget", kTemplated | kOllama, Use::Honoured, "",
     "after this many tokens of thoughts their end is forced; -1: no limit"},
    {"thinking_budget", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"thinking_budget_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"reasoning_budget", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"reasoning_budget_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"budget_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"max_thinking_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"max_reasoning_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"reasoning_max_tokens", kTemplated, Use::Honoured, "thinking_token_budget", ""},
    {"thinking_token_budget", kCompletions | kNative, Use::Only, "[-1]",
     "prompts without a template have no thoughts"},
    {"reasoning_budget", kCompletions | kNative, Use::Only, "[-1]",
     "prompts without a template have no thoughts"},
    {"reasoning_budget_tokens", kCompletions | kNative, Use::Only, "[-1]",
     "prompts without a template have no thoughts"},
    {"reasoning_format", kChat, Use::Honoured, "",
     "none, raw: thoughts stay in the content; hidden: they are omitted"},
    {"separate_reasoning", kChat, Use::Honoured, "", "false: as reasoning_format none"},
    {"include_reasoning", kChat, Use::Honoured, "", "false: thoughts are omitted"},
    {"reasoning_format", kResponses, Use::Only,
     R"(["auto", "deepseek", "deepseek-legacy", "parsed"])", "thoughts are items"},
    {"separate_reasoning", kResponses, Use::Only, "[true]", "thoughts are items"},
    {"include_reasoning", kResponses, Use::Only, "[true]", "use reasoning.exclude"},
    {"stream_reasoning", kConversations, Use::Ignored, "", ""},
    {"reasoning_in_content", kConversations, Use::Only, "[false]", ""},

    // --- the answer besides its text ---
    {"stream", kSampled | kOllama, Use::Honoured, "", ""},
    {"stream_options", kChat | kCompletions, Use::Honoured, "", "include_usage"},
    {"stream_options", kResponses, Use::Ignored, "", "there is always a usage"},
    {"include", kResponses, Use::Honoured, "",
     "message.output_text.logprobs, reasoning.encrypted_content"},
    {"background", kResponses, Use::Honoured, "", "needs `store`"},
    {"logprobs", kChat | kOllama, Use::Honoured, "", ""},
    {"logprobs", kResponses, Use::Only, "[false]", "use include and top_logprobs"},
    {"top_logprobs", kConversations | kOllama, Use::Honoured, "", "at most 20"},
    {"n_probs", kChat, Use::Honoured, "", "above 0: logprobs with this many top_logprobs"},
    {"logprobs", kCompletions, Use::Honoured, "", "at most 20"},
    {"n_probs", kResponses, Use::Only, "[0]", "use include and top_logprobs"},
    {"n_probs", kCompletions | kNative, Use::Honoured, "logprobs", "0: none"},
    {"post_sampling_probs", kNative, Use::Only, "[false]", ""},
    {"prompt_logprobs", kChat | kCompletions, Use::Honoured, "",
     "of the prompt's tokens, with this many of the likeliest ones; not in streams"},
    {"prompt_logprobs", kResponses, Use::Only, "[]", ""},
    {"return_progress", kConversations, Use::Honoured, "", "chunks with prompt_progress"},
    {"return_progress", kNative, Use::Only, "[false]", ""},
    {"return_tokens", kNative, Use::Honoured, "", "tokens of the text"},
    {"response_fields", kNative, Use::Honoured, "", "keeps only these fields of a whole answer"},
    {"return_tokens_as_token_ids", kText, Use::Only, "[false]", ""},
    {"return_token_ids", kText, Use::Only, "[false]", ""},
    {"return_hidden_states", kText, Use::Only, "[false]", ""},
    {"skip_special_tokens", kText, Use::Only, "[true]", "their text is never shown"},
    {"spaces_between_special_tokens", kText, Use::Ignored, "", "none are shown"},
    {"detokenize", kText, Use::Only, "[true]", ""},
    {"details", kText, Use::Only, "[false]", "use logprobs"},
    {"decoder_input_details", kText, Use::Only, "[false]", "use prompt_logprobs"},
    {"top_n_tokens", kText, Use::Only, "[0]", "use logprobs"},
    {"raw_output", kText, Use::Only, "[false]", ""},
    {"timings_per_token", kText, Use::Ignored, "", "timings come at the end"},

    // --- speed ---
    {"prediction", kText, Use::Honoured, "",
     "the expected text: a source of drafts that does not change the answer"},
    {"draft_max", kText, Use::Honoured, "", "most drafted tokens per pass; 0: none"},
    {"speculative.n_max", kText, Use::Honoured, "draft_max", ""},
    {"num_draft_tokens", kText, Use::Honoured, "draft_max", ""},
    {"speculative.n_min", kText, Use::Ignored, "", ""},
    {"speculative.p_min", kText, Use::Ignored, "", ""},
    {"draft_model", kConversations | kCompletions, Use::Ignored, "", ""},
    {"cache_prompt", kText, Use::Ignored, "", "known prefixes are always reused"},
    {"n_cache_reuse", kText, Use::Ignored, "", ""},
    {"n_keep", kText, Use::Ignored, "", "no part of a text is ever dropped"},
    {"n_discard", kText, Use::Ignored, "", "no part of a text is ever dropped"},
    {"num_ctx", kText | kOllamaOptions, Use::Ignored, "", "--context of the server"},
    {"backend_sampling", kText, Use::Ignored, "", ""},
    {"id_slot", kText, Use::Ignored, "", "requests have no fixed slots"},
    {"t_max_prompt_ms", kNative, Use::Ignored, "", ""},
    {"sse_ping_interval", kText, Use::Ignored, "", "--ping of the server"},
    {"cache_salt", kText, Use::Ignored, "", ""},
    {"extra_key", kText, Use::Ignored, "", ""},
    {"data_parallel_rank", kText, Use::Ignored, "", ""},
    {"priority", kText | kVectors, Use::Ignored, "", ""},
    {"keep_alive", kAll | kAnyOllama, Use::Honoured, "",
     "idle time before the model is unloaded: seconds, or \"5m\"; negative: for ever; 0: none"},
    {"ttl", kAll | kAnyOllama, Use::Honoured, "keep_alive", ""},

    // --- other servers' ways to say some of this ---
    {"options", kAnyOllama, Use::Honoured, "", "the fields of `ollama options`"},
    {"options", kAll, Use::Only, "[{}]", "name the options one by one"},
    {"raw", kText, Use::Only, "[false]", ""},
    {"template", kText, Use::Only, R"([""])", ""},
    {"template", kOllama, Use::Only, R"([""])", "--chat-template of the server"},
    {"shift", kOllama, Use::Ignored, "", "no part of a text is ever dropped"},
    {"truncate", kOllama, Use::Ignored, "", "a prompt that does not fit gets 400"},
    {"_debug_render_only", kOllama, Use::Only, "[false]", "use /apply-template"},
    {"width", kOllama, Use::Only, "[0]", ""},
    {"height", kOllama, Use::Only, "[0]", ""},
    {"steps", kOllama, Use::Only, "[0]", ""},
    {"num_keep", kOllamaOptions, Use::Ignored, "", "no part of a text is ever dropped"},
    {"penalize_newline", kOllamaOptions, Use::Only, "[true]", ""},
    {"num_batch", kOllamaOptions, Use::Ignored, "", ""},
    {"num_gpu", kOllamaOptions, Use::Ignored, "", ""},
    {"main_gpu", kOllamaOptions, Use::Ignored, "", ""},
    {"num_thread", kOllamaOptions, Use::Ignored, "", "--threads of the server"},
    {"numa", kOllamaOptions, Use::Ignored, "", ""},
    {"low_vram", kOllamaOptions, Use::Ignored, "", ""},
    {"f16_kv", kOllamaOptions, Use::Ignored, "", ""},
    {"vocab_only", kOllamaOptions, Use::Only, "[false]", ""},
    {"logits_all", kOllamaOptions, Use::Ignored, "", ""},
    {"use_mmap", kOllamaOptions, Use::Ignored, "", "weights are always mapped"},
    {"use_mlock", kOllamaOptions, Use::Ignored, "", ""},
    {"vllm_xargs", kText, Use::Only, "[{}]", ""},
    {"custom_params", kText, Use::Only, "[{}]", ""},
    {"deferred", kConversations, Use::Only, "[false]", ""},
    {"background", kChat, Use::Only, "[false]", ""},
    {"context_length_exceeded_behavior", kText, Use::Only, R"(["error"])", ""},
    {"prompt_truncate_len", kText, Use::Only, "[]", "use truncate_prompt_tokens"},

    // --- accounts, logs and caches of other servers ---
    {"user", kResponses, Use::Honoured, "", "repeated in the response"},
    {"user", kAll & ~kResponses, Use::Ignored, "", ""},
    {"metadata", kResponses, Use::Honoured, "", "at most 16 texts; repeated in the response"},
    {"metadata", kAll & ~kResponses, Use::Ignored, "", ""},
    {"client_metadata", kResponses, Use::Ignored, "", ""},
    {"store", kResponses, Use::Honoured, "", "default: true"},
    {"store", kText & ~kResponses, Use::Ignored, "", "nothing is stored"},
    {"service_tier", kSampled, Use::Ignored, "", ""},
    {"safety_identifier", kResponses, Use::Honoured, "", "repeated in the response"},
    {"safety_identifier", kText & ~kResponses, Use::Ignored, "", ""},
    {"moderation", kText, Use::Ignored, "", ""},
    {"prompt_cache_key", kResponses, Use::Honoured, "",
     "repeated in the response; common prefixes of prompts are always reused"},
    {"prompt_cache_key", kText & ~kResponses, Use::Ignored, "",
     "common prefixes of prompts are always reused"},
    {"prompt_cache_options", kText, Use::Ignored, "", ""},
    {"prompt_cache_retention", kText, Use::Ignored, "", ""},
    {"cache_control", kMessages, Use::Ignored, "", "common prefixes of prompts are always reused"},
    {"context_management", kResponses, Use::Only, "[[]]", ""},
    {"context_management", kMessages, Use::Ignored, "", ""},
    {"inference_geo", kMessages, Use::Ignored, "", ""},
    {"speed", kMessages, Use::Ignored, "", ""},
    {"betas", kMessages, Use::Ignored, "", ""},
    {"provider", kText, Use::Ignored, "", ""},
    {"route", kText, Use::Ignored, "", ""},
    {"models", kText, Use::Ignored, "", ""},
    {"usage", kText, Use::Ignored, "", "there is always one"},
    {"user_id", kText, Use::Ignored, "", ""},
    {"safety_model", kText, Use::Ignored, "", ""},
    {"perf_metrics_in_response", kText, Use::Ignored, "", "timings are always there"},
    {"request_id", kAll, Use::Ignored, "", "x-request-id"},
    {"rid", kAll, Use::Ignored, "", "x-request-id"},
    {"session_params", kText, Use::Ignored, "", ""},
    {"kv_transfer_params", kText, Use::Ignored, "", ""},
    {"mm_processor_kwargs", kText, Use::Ignored, "", "there are only texts"},
    {"media_io_kwargs", kText, Use::Ignored, "", "there are only texts"},

    // --- vectors and scores ---
    {"input", kEmbeddings, Use::Honoured, "",
     "a text, tokens, or a list of either; also objects with `text` or `image`"},
    {"messages", kEmbeddings, Use::Honoured, "", "vLLM's form: a message with a text or an image"},
    {"input", kOllamaEmbed, Use::Honoured, "",
     "a text, or a list of them; empty: the model is loaded"},
    {"prompt", kOllamaEmbed, Use::Honoured, "input", "/api/embeddings: a text"},
    {"content", kEmbeddings, Use::Honoured, "input", ""},
    {"inputs", kEmbeddings, Use::Honoured, "input", ""},
    {"dimensions", kEmbeddings | kOllamaEmbed, Use::Honoured, "", ""},
    {"encoding_format", kEmbeddings, Use::Honoured, "", "float or base64"},
    {"prompt_name", kEmbeddings, Use::Honoured, "", ""},
    {"input_type", kEmbeddings, Use::Honoured, "",
     "query or document: the model's prompt for it, and ColBERT's format"},
    {"truncate", kVectors, Use::Honoured, "",
     "whether long texts are truncated or get 400; default: true for encoders, false for others"},
    {"truncate", kOllamaEmbed, Use::Honoured, "",
     "whether long texts are truncated or get 400; default: true"},
    {"normalize", kEmbeddings, Use::Only, "[true]", ""},
    {"embd_normalize", kEmbeddings, Use::Only, "[2]", ""},
    {"truncation_direction", kVectors, Use::Only, R"(["Right", "right"])", ""},
    {"truncate_prompt_tokens", kVectors, Use::Only, "[]", "use truncate"},
    {"query", kRerank, Use::Honoured, "", ""},
    {"documents", kRerank, Use::Honoured, "", "texts, or objects with `text`"},
    {"texts", kRerank, Use::Honoured, "documents", ""},
    {"text_1", kScore, Use::Honoured, "", "a text, or a list of them"},
    {"data_1", kScore, Use::Honoured, "text_1", ""},
    {"queries", kScore, Use::Honoured, "text_1", ""},
    {"text_2", kScore, Use::Honoured, "",
     "the text for text_1, or a list: for one text_1, or for as many"},
    {"data_2", kScore, Use::Honoured, "text_2", ""},
    {"documents", kScore, Use::Honoured, "text_2", ""},
    {"top_n", kRerank, Use::Honoured, "", ""},
    {"return_documents", kRerank, Use::Honoured, "", ""},
    {"return_text", kRerank, Use::Honoured, "return_documents", ""},
    {"raw_scores", kRerank, Use::Only, "[false]", ""},
    {"rank_fields", kRerank, Use::Only, R"([["text"]])", ""},
    {"max_tokens_per_doc", kRerank, Use::Only, "[]", ""},
    {"max_chunks_per_doc", kRerank, Use::Only, "[]", ""},

    // --- recordings ---
    {"file", kSpeech, Use::Honoured, "", "a recording: WAV, FLAC, Ogg, MP3, AIFF, AU or CAF"},
    {"language", kSpeech, Use::Honoured, "", "a code or an English name; auto: it is detected"},
    {"prompt", kSpeech, Use::Honoured, "initial_prompt", "the text before the recording"},
    {"hotwords", kSpeech, Use::Honoured, "", "words before the text of each window"},
    {"response_format", kSpeech, Use::Honoured, "", "json, text, srt, verbose_json or vtt"},
    {"temperature", kSpeech, Use::Honoured, "", "from 0 to 1; raised while a window's text fails"},
    {"temperature_inc", kSpeech, Use::Honoured, "", "by this (0.2); 0: not raised"},
    {"stream", kSpeech, Use::Honoured, "", "events with the text of each segment"},
    {"timestamp_granularities", kSpeech, Use::Honoured, "", "word, segment; with verbose_json"},
    {"word_timestamps", kSpeech, Use::Honoured, "", "adds times of words to verbose_json"},
    {"translate", kTranscriptions | kInference, Use::Honoured, "", "true: into English"},
    {"beam_size", kSpeech, Use::Honoured, "", "at most 16; 1 and less: greedy"},
    {"best_of", kSpeech, Use::Honoured, "", "samples at temperatures above 0, at most 16"},
    {"length_penalty", kSpeech, Use::Honoured, "", ""},
    {"patience", kSpeech, Use::Honoured, "", "of the beams"},
    {"seed", kSpeech, Use::Honoured, "", ""},
    {"no_speech_threshold", kSpeech, Use::Honoured, "", ""},
    {"no_speech_thold", kSpeech, Use::Honoured, "no_speech_threshold", ""},
    {"log_prob_threshold", kSpeech, Use::Honoured, "logprob_threshold", ""},
    {"logprob_thold", kSpeech, Use::Honoured, "logprob_threshold", ""},
    {"compression_ratio_threshold", kSpeech, Use::Honoured, "", ""},
    {"without_timestamps", kSpeech, Use::Honoured, "", ""},
    {"no_timestamps", kSpeech, Use::Honoured, "without_timestamps", ""},
    {"carry_initial_prompt", kSpeech, Use::Honoured, "", "the prompt is that of every window"},
    {"condition_on_previous_text", kSpeech, Use::Honoured, "", ""},
    {"no_context", kSpeech, Use::Honoured, "", "true: windows do not see the text before them"},
    {"include", kSpeech, Use::Only, "[[]]", ""},
    {"chunking_strategy", kSpeech, Use::Only, R"(["auto"])", "recordings are cut into windows"},
    {"known_speaker_names", kSpeech, Use::Only, "[[]]", ""},
    {"known_speaker_references", kSpeech, Use::Only, "[[]]", ""},
    {"vad_filter", kSpeech, Use::Honoured, "", "true: silence is left out; needs serve --vad"},
    {"vad", kSpeech, Use::Honoured, "vad_filter", ""},
    {"vad_threshold", kSpeech, Use::Honoured, "", "probability from which a window has voice"},
    {"vad_min_speech_duration_ms", kSpeech, Use::Honoured, "", ""},
    {"vad_max_speech_duration_s", kSpeech, Use::Honoured, "", ""},
    {"vad_min_silence_duration_ms", kSpeech, Use::Honoured, "", ""},
    {"vad_speech_pad_ms", kSpeech, Use::Honoured, "", ""},
    {"diarize", kSpeech, Use::Only, "[false]", ""},
    {"tinydiarize", kSpeech, Use::Only, "[false]", ""},
    {"detect_language", kSpeech, Use::Only, "[false]", "use language"},
    {"token_timestamps", kSpeech, Use::Only, "[false]", "use word_timestamps"},
    {"offset_t", kSpeech, Use::Only, "[0]", ""},
    {"offset_n", kSpeech, Use::Only, "[0]", ""},
    {"duration", kSpeech, Use::Only, "[0]", ""},

    // --- files and batches ---
    {"purpose", kFiles, Use::Honoured, "",
     "batch, or assistants, fine-tune, vision, user_data, evals, which have no use here"},
    {"expires_after", kFiles, Use::Honoured, "",
     "[anchor]: created_at; [seconds]: 3600 to 2592000. Default: never"},
    {"input_file_id", kBatches, Use::Honoured, "", "a file with the purpose batch"},
    {"endpoint", kBatches, Use::Honoured, "", "of all requests"},
    {"completion_window", kBatches, Use::Honoured, "",
     "24h, or another number of hours (h) or days (d)"},
    {"metadata", kBatches, Use::Honoured, "", "up to 16 texts, repeated in the batch"},
    {"output_expires_after", kBatches, Use::Honoured, "",
     "as expires_after, for the files with the answers"},
};

struct EndpointName {
  FieldsOf endpoint;
  std::string_view name;
};
constexpr std::array<EndpointName, 16> kEndpoints = {{{kChat, "chat"},
                                                      {kCompletions, "completions"},
                                                      {kMessages, "messages"},
                                                      {kNative, "completion"},
                                                      {kEmbeddings, "embeddings"},
                                                      {kRerank, "rerank"},
                                                      {kScore, "score"},
                                                      {kResponses, "responses"},
                                                      {kOllama, "ollama"},
                                                      {kOllamaOptions, "ollama options"},
                                                      {kOllamaEmbed, "ollama embed"},
                                                      {kTranscriptions, "transcriptions"},
                                                      {kTranslations, "translations"},
                                                      {kInference, "inference"},
                                                      {kFiles, "files"},
                                                      {kBatches, "batches"}}};

std::string endpoints_of(const FieldRule& rule) {
  std::string text;
  for (const auto& [endpoint, name] : kEndpoints) {
    if ((rule.endpoints & endpoint) == 0) continue;
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

std::string treatment_of(const FieldRule& rule) {
  std::string text;
  if (rule.use == Use::Ignored) text = "ignored";
  if (rule.use == Use::Only) {
    text = rule.meaning == "[]" ? "400" : "400 unless in `" + std::string(rule.meaning) + "`";
  }
  if (rule.use == Use::Honoured && !rule.meaning.empty()) {
    text = "as `" + std::string(rule.meaning) + "`";
  }
  if (!rule.note.empty()) text.append(text.empty() ? "" : ": ").append(rule.note);
  return text;
}

}  // namespace

std::span<const FieldRule> field_rules() {
  return kRules;
}

const FieldRule* find_rule(std::string_view name, FieldsOf endpoint) {
  const auto* const found = std::find_if(
      std::begin(kRules), std::end(kRules),
      [&](const FieldRule& rule) { return rule.name == name && (rule.endpoints & endpoint) != 0; });
  return found == std::end(kRules) ? nullptr : found;
}

std::string fields_document() {
  std::string text =
      "# Fields of requests\n\n"
      "The treatment of each field by `pippin serve`. The server reads requests by this table, "
      "and its tests compare this\npage with it.\n\n"
      "- A field that would change the text is honoured, or gets 400 with its name.\n"
      "- A field that changes neither the text nor the rest of the answer is ignored.\n"
      "- A field that is not in the table is ignored, because clients keep adding new ones; the "
      "header `x-ignored-fields` of\n  the answer names it. The header also names a field that "
      "this model "
      "cannot follow.\n"
      "- null is the same as an absent field. Of two spellings of one field the first one here "
      "counts; the header names the\n  other one if its value differs.\n\n"
      "Endpoints: `chat` is `/v1/chat/completions`, `completions` `/v1/completions`, `messages` "
      "`/v1/messages`, `completion`\nllama-server's `/completion` and `/infill`, `embeddings` "
      "`/v1/embeddings`, `/embedding` and `/embed`,\n`rerank` `/v1/rerank` and its other "
      "spellings, "
      "`score` `/v1/score`, `responses` `/v1/responses`.\n`ollama` is `/api/chat` and "
      "`/api/generate`, `ollama options` their "
      "`options`, `ollama embed` `/api/embed` and\n`/api/embeddings`.\n`transcriptions` is "
      "`/v1/audio/transcriptions`, `translations` `/v1/audio/translations`, `inference` "
      "whisper.cpp's\n`/inference`: forms with a file. `files` is `/v1/files`, a form with a "
      "`file`; "
      "`batches` is `/v1/batches`.\n\n"
      "| field | endpoints | |\n|---|---|---|\n";
  for (const FieldRule& rule : kRules) {
    text.append("| `").append(rule.name).append("` | ").append(endpoints_of(rule));
    text.append(" | ").append(treatment_of(rule)).append(" |\n");
  }
  return text;
}

}  // namespace pippin::server
