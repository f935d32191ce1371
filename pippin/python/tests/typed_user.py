"""A user's program with strict type checking; it is not run. Lines that end with `# error: WORDS` contain a mistake
that
the checker must find."""

from typing import Any

import pippin
from pippin import lm


def predict(path: str, ids: list[int]) -> dict[str, Any]:
    model = pippin.Model(path, precision="exact", num_threads=2)
    state: pippin.State = model.make_state()
    names: list[str] = [*model.inputs(), *model.outputs()]
    outputs = model.predict({names[0]: [ids]}, state, out={"logits": bytearray(4096)}, function=model.functions[0])
    state["keyCache"] = state["valueCache"]
    return {name: outputs[name] for name in state.keys()}


async def by_function(model: pippin.Model, batch: list[dict[str, list[float]]]) -> pippin.Tensor:
    function: pippin.Function = model.function()
    kinds: list[str] = [info.kind for info in function.inputs.values()]
    state = function.make_state()
    state.view("keyCache")[:] = len(kinds)
    view: pippin.Tensor = state.view("keyCache", as_tensor=True)
    outputs = await function.predict_async({"x": view}, state.copy(), as_tensors=True)
    token = pippin.CancelToken()
    function.predict_batch(batch, cancel=token)
    return pippin.Tensor(outputs["y"])


def write(path: str, prompt: str) -> str:
    model = pippin.LanguageModel(path, context=512)
    sequence: pippin.Sequence = model.new_sequence()
    text = ""
    for token, piece in model.generate(sequence, model.encode(prompt), {"max_tokens": 8}):
        text += piece if token >= 0 else ""
    return text


def hear(path: str) -> str:
    transcriber = pippin.Transcriber(path, num_threads=2)
    result = transcriber.transcribe("talk.wav", language="de", word_timestamps=True, no_speech_threshold=None)
    words: list[str] = [word["word"] for word in result["words"]]
    starts: list[float] = [segment["start"] for segment in transcriber.stream(b"RIFF", temperature=(0, 0.5))]
    return result["text"] + words[0] + str(starts)


def chat(name: str) -> str | None:
    model, tokenizer = lm.load(name)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "Hello"}], add_generation_prompt=True)
    whole: str = lm.generate(model, tokenizer, prompt, max_tokens=8)
    reason = None
    for response in lm.stream_generate(model, tokenizer, whole, sampler=lm.make_sampler(temp=0.8, seed=1)):
        reason = response.finish_reason
    return reason


def see(path: str, image: bytes) -> str:
    model, tokenizer = lm.load(path)
    language: pippin.LanguageModel = model
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}]
    prompt: pippin.VisionPrompt = language.prompt(messages, images=[image], chat_template=language.chat_template)
    language.generate(language.new_sequence(), prompt.after(len(prompt) - 1))
    return lm.generate(model, tokenizer, messages, images="cat.png")


def compare(path: str, checkpoint: str) -> float:
    made = pippin.convert(checkpoint, path, quantize="int4")
    pippin.coreml.install()
    outputs: dict[str, Any] = pippin.coreml.MLModel(made.path).predict({"x": [1.0]})
    return pippin.verify(path, checkpoint, ids=[1, 2]).mean_kl + float(len(outputs))


def explain(error: pippin.Error) -> str:
    problem: ValueError = pippin.InvalidArgumentError(error.code)
    return str(problem)


def mistakes(model: pippin.Model, sequence: pippin.Sequence) -> None:
    pippin.Model(7)  # error: incompatible type "int"; expected "Union[str
    pippin.Model("x", "exact")  # error: Too many positional arguments for "Model"
    model.predict([1])  # error: incompatible type "List[int]"
    model.predict({}, out={"y": [0.0]})  # error: incompatible type "str": "List[float]"
    model.function().inputs["x"].kind = "image"  # error: read-only
    model.predikt({})  # error: "Model" has no attribute "predikt"
    number: int = model.functions  # error: Incompatible types in assignment
    sequence.position = number  # error: read-only
    lm.make_sampler(warmth=1)  # error: Unexpected keyword argument "warmth"
    pippin.coreml.instal()  # error: has no attribute "instal"
    pippin.lm_load("x")  # error: Module has no attribute "lm_load"
