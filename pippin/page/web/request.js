// Converts a chat to the body of a request.
import { resultOf } from "./calls.js";

// Sampling settings: field name, label, kind of input. `of` reads the model's default.
export const kSampling = [
  { name: "temperature", label: "Temperature", min: 0, step: 0.1, of: (params) => params.temperature },
  { name: "top_p", label: "Top p", min: 0, max: 1, step: 0.05, of: (params) => params.top_p },
  { name: "top_k", label: "Top k", min: 0, step: 1, of: (params) => params.top_k },
  { name: "min_p", label: "Min p", min: 0, max: 1, step: 0.01, of: (params) => params.min_p },
  { name: "repeat_penalty", label: "Repeat penalty", min: 0, step: 0.05, of: (params) => params.repeat_penalty },
  { name: "presence_penalty", label: "Presence penalty", min: -2, max: 2, step: 0.1, of: () => 0 },
  { name: "frequency_penalty", label: "Frequency penalty", min: -2, max: 2, step: 0.1, of: () => 0 },
  { name: "seed", label: "Seed", min: 0, step: 1, of: () => "random" },
  { name: "max_tokens", label: "Longest answer", min: 1, step: 1, of: () => "no limit" },
];

// Returns a code fence that the text cannot close.
function fenced(text) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

// Puts the attached texts before the text; with images, the content is a list of parts, images first.
export function contentOf(message, texts) {
  const files = message.files ?? [];
  const attached = files.filter((file) => !file.isImage).map((file) => `${file.name}:\n${fenced(texts.get(file.id) ?? "")}\n\n`);
  const text = attached.join("") + message.text;
  const images = files.filter((file) => file.isImage && texts.get(file.id));
  if (images.length === 0) return text;
  return [...images.map((file) => ({ type: "image_url", image_url: { url: texts.get(file.id) } })), ...(text ? [{ type: "text", text }] : [])];
}

// Returns a message, followed by the results of its tool calls, if any.
function messagesOf(message, texts) {
  const own = { role: message.role, content: contentOf(message, texts) };
  if (!message.calls?.length) return [own];
  own.tool_calls = message.calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } }));
  return [own, ...message.calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: resultOf(call) }))];
}

// `path`: the messages from the first one on; an answer at the end is continued, unless it calls tools. `texts`: those
// of attachments, by id. `tools`: those that the model may call, in the form of a request.
export function bodyOf(settings, path, texts = new Map(), tools = []) {
  const messages = path.flatMap((message) => messagesOf(message, texts));
  if (settings.system) messages.unshift({ role: "system", content: settings.system });
  const body = { messages, stream: true, stream_options: { include_usage: true }, return_progress: true };
  if (settings.model) body.model = settings.model;
  for (const { name } of kSampling) {
    if (settings[name] !== undefined) body[name] = settings[name];
  }
  if (settings.stop?.length) body.stop = settings.stop;
  if (settings.thinking !== undefined) body.chat_template_kwargs = { enable_thinking: settings.thinking };
  if (tools.length > 0) body.tools = tools;
  if (path.at(-1)?.role === "assistant" && !path.at(-1).calls?.length) body.continue_final_message = true;
  return { ...body, ...settings.more };
}
