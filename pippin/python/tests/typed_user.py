"""A program of somebody's who checks types strictly. Lines that end with `# error: WORDS` have a mistake, which the checker has to
find; it is not run."""

from typing import Any

import pippin


def predict(path: str, ids: list[int]) -> dict[str, Any]:
    model = pippin.Model(path, precision="exact", num_threads=2)
    state: pippin.State = model.make_state()
    names: list[str] = [*model.inputs(), *model.outputs()]
    outputs = model.predict({names[0]: [ids]}, state, out={"logits": [0.0]}, function=model.functions[0])
    state["keyCache"] = state["valueCache"]
    return {name: outputs[name] for name in state.keys()}


def write(path: str, prompt: str) -> str:
    model = pippin.LanguageModel(path, context=512)
    sequence: pippin.Sequence = model.new_sequence()
    text = ""
    for token, piece in model.generate(sequence, model.encode(prompt), {"max_tokens": 8}):
        text += piece if token >= 0 else ""
    return text


def explain(error: pippin.Error) -> str:
    problem: ValueError = pippin.InvalidArgumentError(error.code)
    return str(problem)


def mistakes(model: pippin.Model, sequence: pippin.Sequence) -> None:
    pippin.Model(7)  # error: incompatible type "int"; expected "str"
    pippin.Model("x", "exact")  # error: Too many positional arguments for "Model"
    model.predict([1])  # error: incompatible type "List[int]"
    model.predikt({})  # error: "Model" has no attribute "predikt"
    number: int = model.functions  # error: Incompatible types in assignment
    sequence.position = number  # error: read-only
    pippin.lm_load("x")  # error: Module has no attribute "lm_load"
