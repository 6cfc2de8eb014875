"""Decoders for export.py that take keys and values of earlier tokens and return them with the new token's, and models above 1 GB.

Batch 1 and one token, as in generation; the number of earlier tokens is always dynamic. Inputs past.0.key, past.0.value, …; outputs
logits, present.0.key, …. A decoder after an encoder also takes the encoder's keys and values (cross.0.key, …), which do not change.
Sizes are the published ones, with 8192 words; names state where layers are fewer. The models above 1 GB have all their words.
"""

import inspect
import pathlib

import torch

PAST = 16  # earlier tokens in the export's example


class Decoder(torch.nn.Module):
    """A decoder as a function from tensors to tensors. `cross`: whether it has keys and values of an encoder."""

    def __init__(self, model, names, layers, cross):
        super().__init__()
        parameters = inspect.signature(model.forward).parameters
        self.encoded = "encoder_outputs" if "encoder_outputs" in parameters else "encoder_hidden_states"
        self.model, self.names, self.layers, self.cross = model, names, layers, cross
        self.outputs = ["logits", *(f"present.{layer}.{part}" for layer in range(layers) for part in ("key", "value"))]

    def cache(self, given, prefix):
        from transformers.cache_utils import DynamicCache, DynamicLayer

        cache = DynamicCache()
        for number in range(self.layers):
            layer = DynamicLayer()
            layer.keys, layer.values = given[f"{prefix}.{number}.key"], given[f"{prefix}.{number}.value"]
            layer.dtype, layer.device, layer.is_initialized = layer.keys.dtype, layer.keys.device, True
            cache.layers.append(layer)
        return cache

    def forward(self, *inputs):
        from transformers.cache_utils import EncoderDecoderCache

        given = dict(zip(self.names, inputs))
        past = self.cache(given, "past")
        others = {name: value for name, value in given.items() if not name.startswith(("past.", "cross."))}
        if self.cross:
            past = EncoderDecoderCache(past, self.cache(given, "cross"))
            past.is_updated = dict.fromkeys(range(self.layers), True)
            others[self.encoded] = given["cross.0.key"][:, 0]  # its values are not read
        found = self.model(**others, past_key_values=past, use_cache=True)
        words = found[0]
        present = past.self_attention_cache if self.cross else past
        return words, *(tensor for layer in present.layers for tensor in (layer.keys, layer.values))


def decoder(family, kind="ForCausalLM", config=None, mask=False, cross=None, words=8192, **settings):
    """`mask`: with an attention mask of earlier and new tokens. `cross`: the number of an encoder's rows. `config`: the
    configuration's family."""
    def make():
        import importlib

        import transformers

        of = getattr(transformers, (config or family) + "Config")(vocab_size=words, **settings)
        of._attn_implementation = "eager"
        place = importlib.import_module(f"transformers.models.{family.lower()}.modeling_{family.lower()}")
        model = getattr(place, family + kind)(of)
        layers = getattr(of, "decoder_layers", None) or of.num_hidden_layers
        queries = getattr(of, "decoder_attention_heads", None) or of.num_attention_heads
        heads = getattr(of, "num_key_value_heads", None) or queries
        width = getattr(of, "head_dim", None) or of.hidden_size // queries
        given, axes = {"input_ids": torch.randint(0, 1000, (1, 1))}, {"input_ids": {0: "batch", 1: "sequence"}}
        if mask:
            given["attention_mask"] = torch.ones(1, PAST + 1, dtype=torch.int64)
            axes["attention_mask"] = {0: "batch", 1: "past + sequence"}
        for prefix, length in (("past", PAST), ("cross", cross)):
            for name in (f"{prefix}.{layer}.{part}" for layer in range(layers) for part in ("key", "value")):
                if length:
                    given[name] = torch.randn(1, heads, length, width)
                    axes[name] = {0: "batch", **({2: "past"} if prefix == "past" else {})}
        made = Decoder(model, list(given), layers, cross)
        axes.update({name: {0: "batch", 2: "past + sequence"} for name in made.outputs[1:]}, logits={0: "batch", 1: "sequence"})
        return made, given, axes

    return make


def export_in_little_memory(model, arguments, path, opset, dynamic, names):
    """Exports with one file of weights beside the model, PATH.data, in about as much memory as the model has: the exporter gets no
    weights, and each is written once. Matrices that are only read transposed are written transposed, as the exporter does."""
    import numpy as np
    import onnx

    torch.onnx.export(model, arguments, path, dynamo=False, opset_version=opset, dynamic_axes=dynamic, export_params=False,
                      do_constant_folding=False, keep_initializers_as_inputs=False, **names)
    graph = (made := onnx.load(path)).graph
    weights = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
    given = [value.name for value in graph.input if value.name in weights]
    readers = {name: [node for node in graph.node if name in node.input] for name in given}
    turned = {name: nodes for name, nodes in readers.items() if all(node.op_type == "Transpose" and list(node.attribute[0].ints) == [1, 0]
                                                                   for node in nodes)}
    new_names = {node.output[0]: name for name, nodes in turned.items() for node in nodes}
    kept = [node for node in graph.node if node.output[0] not in new_names]
    for node in kept:
        node.input[:] = [new_names.get(name, name) for name in node.input]
    data, inputs = pathlib.Path(f"{path}.data"), [value for value in graph.input if value.name not in weights]
    for field, content in ((graph.node, kept), (graph.input, inputs)):
        copies = [type(each).FromString(each.SerializeToString()) for each in content]
        del field[:]
        field.extend(copies)
    with data.open("wb") as file:
        for name in given:
            values = weights[name].detach().numpy()
            values = np.ascontiguousarray(values.T if name in turned else values)
            file.write(bytes(-file.tell() % 4096))
            tensor = graph.initializer.add(name=name, data_type=onnx.helper.np_dtype_to_tensor_dtype(values.dtype), dims=values.shape,
                                           data_location=onnx.TensorProto.EXTERNAL)
            for key, value in (("location", data.name), ("offset", file.tell()), ("length", values.nbytes)):
                tensor.external_data.add(key=key, value=str(value))
            file.write(values.data)
    onnx.save(made, path)


tiny_llama = dict(hidden_size=2048, intermediate_size=5632, num_attention_heads=32, num_key_value_heads=4)
qwen3 = dict(hidden_size=1024, intermediate_size=3072, num_attention_heads=16, num_key_value_heads=8, head_dim=128)
marian = dict(d_model=512, decoder_layers=6, decoder_attention_heads=8, decoder_ffn_dim=2048, pad_token_id=0, decoder_start_token_id=0)
whisper = dict(d_model=384, decoder_layers=4, decoder_attention_heads=6, decoder_ffn_dim=1536, pad_token_id=0)

models = {
    "smollm_135m_past": decoder("Llama", hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                                num_key_value_heads=3),
    "smollm_135m_past_mask": decoder("Llama", mask=True, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                                     num_attention_heads=9, num_key_value_heads=3),
    "gpt2_past": decoder("GPT2", "LMHeadModel"),
    "qwen3_4_layers_past": decoder("Qwen3", num_hidden_layers=4, **qwen3),
    "gemma3_6_layers_past": decoder("Gemma3", config="Gemma3Text", hidden_size=640, intermediate_size=2048, num_hidden_layers=6,
                                    num_attention_heads=4, num_key_value_heads=1, head_dim=256),
    "whisper_tiny_decoder_past": decoder("Whisper", "ForCausalLM", cross=1500, **whisper),
    "marian_decoder_past": decoder("Marian", "ForCausalLM", cross=128, **marian),
    "gpt2_medium_past": decoder("GPT2", "LMHeadModel", words=50257, n_embd=1024, n_layer=24, n_head=16),
    "gpt2_large_past": decoder("GPT2", "LMHeadModel", words=50257, n_embd=1280, n_layer=36, n_head=20),
    "tiny_llama_1b_past": decoder("Llama", words=32000, num_hidden_layers=22, **tiny_llama),
}
