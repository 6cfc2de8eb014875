#!/usr/bin/env python3
"""Exports models: `export.py FOLDER [NAME…] [--exporter script|default] [--opset N] [--dynamic] [--type TYPE]`.

Weights and the statistics of batch norms are random: no download; default ones would hide errors, and let optimizers remove zeros.
`script` is PyTorch's TorchScript exporter (default opset 17), `default` the default exporter of torch.onnx.export. `--dynamic` makes
the batch dynamic, and the sequence or the image size if the model accepts more than one; if that cannot be exported, only the batch.
Needs torch, torchvision, timm, transformers, peft and onnx; unet_small and taesd_decoder need diffusers, the yolo models ultralytics,
documents' readers doctr (python-doctr) and U-Nets on other networks segmentation_models_pytorch.
Without names: the models of the table below; `--list` prints it, and those of architectures.py. `timm:NAME` or `timm:NAME@SIZE` is any
model of timm with images of SIZE (default: timm's). Writes FOLDER/NAME.onnx.
"""

import argparse
import os
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402

import architectures  # noqa: E402
import builders  # noqa: E402
import decoders  # noqa: E402
from builders import (Denoiser, Wrapped, any_timm_model, asymmetric_resnet18, hidden, image, linear_transformer, nas_rnn,  # noqa: E402
                      randomize, small, timm_model, tokens, torchvision_model, transformer, unfused, whisper_encoder, with_adapters,
                      yolo)

MAX_INLINE_BYTES = 1 << 30  # a larger model keeps its weights in a file of its own

distilbert = transformer("DistilBert", "ForSequenceClassification", ("logits",), tokens)
bert = transformer("Bert", "Model", hidden, tokens, **small)

models = {
    "repvgg_a0": timm_model("repvgg_a0"),
    "mobileone_s0": timm_model("mobileone_s0"),
    "resnet18": timm_model("resnet18"),
    "resnet50": timm_model("resnet50"),
    "mobilenetv2_100": timm_model("mobilenetv2_100"),
    "mobilenetv3_large_100": timm_model("mobilenetv3_large_100"),
    "efficientnet_b0": timm_model("efficientnet_b0"),
    "densenet121": timm_model("densenet121"),
    "ghostnetv3_100": timm_model("ghostnetv3_100"),
    "repghostnet_100": timm_model("repghostnet_100"),
    "repvit_m0_9": timm_model("repvit_m0_9"),
    "fastvit_t8": timm_model("fastvit_t8", 256),
    "levit_128s": timm_model("levit_128s", dynamic_size=False),
    "convnext_tiny": timm_model("convnext_tiny"),
    "vit_small": timm_model("vit_small_patch16_224", dynamic_size=False),
    "deit_tiny": timm_model("deit_tiny_patch16_224", dynamic_size=False),
    "swin_tiny": timm_model("swin_tiny_patch4_window7_224", dynamic_size=False),
    "mixer_s16": timm_model("mixer_s16_224", dynamic_size=False),
    "regnety_002": timm_model("regnety_002"),
    "hrnet_w18_small": timm_model("hrnet_w18_small", dynamic_size=False),
    "xception41": timm_model("xception41", 299),
    "inception_v3": torchvision_model("inception_v3", 299),
    "googlenet": torchvision_model("googlenet"),
    "squeezenet1_1": torchvision_model("squeezenet1_1"),
    "vgg11": torchvision_model("vgg11"),
    "shufflenet_v2": torchvision_model("shufflenet_v2_x1_0"),
    "mnasnet": torchvision_model("mnasnet1_0"),
    "deeplabv3": torchvision_model("deeplabv3_mobilenet_v3_large", 256, "out"),
    "bert_base": bert,
    "distilbert": distilbert,
    "gpt2": transformer("GPT2", "LMHeadModel", ("logits",), tokens, use_cache=False),
    "minilm": transformer("Bert", "Model", hidden, tokens, hidden_size=384, intermediate_size=1536, num_attention_heads=12, num_hidden_layers=6),
    "t5_encoder": transformer("T5", "EncoderModel", hidden, tokens, **small),
    "llama_small": transformer("Llama", "ForCausalLM", ("logits",), lambda: tokens(64), vocab_size=4096, hidden_size=512,
                               intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
                               num_key_value_heads=4, use_cache=False),
    "segformer_b0": transformer("Segformer", "ForSemanticSegmentation", ("logits",),
                                lambda: ({"pixel_values": torch.randn(1, 3, 512, 512)},
                                         {"pixel_values": {0: "batch", 2: "height", 3: "width"}}),
                                num_labels=150),
    "segformer_b1": transformer("Segformer", "ForSemanticSegmentation", ("logits",),
                                lambda: ({"pixel_values": torch.randn(1, 3, 512, 512)},
                                         {"pixel_values": {0: "batch", 2: "height", 3: "width"}}),
                                num_labels=150, hidden_sizes=[64, 128, 320, 512]),
    "roberta": transformer("Roberta", "ForSequenceClassification", ("logits",), tokens, **small),
    "electra": transformer("Electra", "ForSequenceClassification", ("logits",), tokens, **small),
    "albert": transformer("Albert", "Model", hidden, tokens, hidden_size=768, intermediate_size=3072, num_attention_heads=12, **small),
    "squeezebert": transformer("SqueezeBert", "ForSequenceClassification", ("logits",), tokens, **small),
    "distilbert_lora": with_adapters(distilbert, ["q_lin", "v_lin"]),
    "bert_lora": with_adapters(bert, ["query", "value"]),
    "resnet18_acnet": asymmetric_resnet18,
    "linear_transformer": linear_transformer,
    "nas_rnn": nas_rnn,
    "resnext50_32x4d": timm_model("resnext50_32x4d"),
    "vgg19": torchvision_model("vgg19"),
    "nasnetalarge": timm_model("nasnetalarge", 331),
    "eva02_small": unfused("eva02_small_patch14_224", 224),
    "dinov2_small": unfused("vit_small_patch14_dinov2", 518),
    "lraspp": torchvision_model("lraspp_mobilenet_v3_large", 256, "out"),
    "whisper_tiny_encoder": whisper_encoder,
    "deberta_v3": transformer("DebertaV2", "Model", hidden, tokens, vocab_size=8192, hidden_size=384, num_hidden_layers=6,
                              num_attention_heads=6, intermediate_size=1536, relative_attention=True, position_buckets=256,
                              norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", type_vocab_size=0,
                              position_biased_input=False),
    "unet_small": lambda: (Denoiser(), *image(32, False)),
    "yolov8n": yolo("yolov8n"),
    "yolov10n": yolo("yolov10n"),
    "yolo11n": yolo("yolo11n"),
}
known_models = {**models, **architectures.models, **decoders.models}


def export(name, path, exporter, opset, dynamic, data_type):
    """`dynamic`: names of dynamic axes, by input. `data_type`: of parameters and of inputs that are real numbers."""
    torch.manual_seed(0)
    model, inputs, _ = model_of(name)()
    model = model.eval().to(data_type)
    inputs = {key: value.to(data_type) if value.is_floating_point() else value for key, value in inputs.items()}
    arguments = tuple(inputs.values())
    options = dict(input_names=list(inputs), output_names=getattr(model, "outputs", ["y"]) if "past.0.key" in inputs else ["y"])
    with torch.no_grad():
        randomize(model)
        if exporter == "script" and sum(each.nbytes for each in model.parameters()) > MAX_INLINE_BYTES:
            return decoders.export_in_little_memory(model, arguments, path, opset or 17, dynamic, options)
        if exporter == "script":
            torch.onnx.export(model, arguments, path, dynamo=False, opset_version=opset or 17, dynamic_axes=dynamic, **options)
            return
        if dynamic:
            # The exporter would specialize a size of 1, or equal sizes.
            arguments = tuple(torch.cat([value, value]) for value in arguments)
            sizes = {axis: torch.export.Dim(axis, min=2, max=4096) for at in dynamic.values() for axis in at.values()}
            sizes.update(height=torch.export.Dim.DYNAMIC, width=torch.export.Dim.DYNAMIC)  # such as multiples of 32
            shapes = tuple({at: sizes[axis] for at, axis in dynamic[key].items()} for key in inputs)
            options["dynamic_shapes"] = (shapes,) if isinstance(model, Wrapped) else shapes
        torch.onnx.export(model, arguments, path, dynamo=True, opset_version=opset, verbose=False, **options)


def dynamic_axes_of(name):
    """Returns the choices of dynamic axes, the largest first."""
    axes = model_of(name)()[2]
    sizes = ("height", "width")
    batch_only = {key: {at: axis for at, axis in of.items() if axis not in sizes} for key, of in axes.items()}
    return [axes] if axes == batch_only else [axes, batch_only]


def axes_of_past(name):
    """Returns the axes that are dynamic in any case, or None: the earlier tokens of a decoder."""
    axes = model_of(name)()[2]
    past = {key: {at: "past" if axis == "past" else "total" for at, axis in of.items() if "past" in axis} for key, of in axes.items()}
    return {key: of for key, of in past.items() if of} or None


def export_most_dynamic(name, path, given):
    """Exports with as many dynamic axes as possible; returns their names."""
    choices = dynamic_axes_of(name) if given.dynamic else [axes_of_past(name)]
    for dynamic in choices:
        try:
            export(name, path, given.exporter, given.opset, dynamic, getattr(torch, given.type))
            return ", ".join(dict.fromkeys(axis for at in (dynamic or {}).values() for axis in at.values()))
        except Exception:
            if dynamic is choices[-1]:
                raise


def model_of(name):
    """Returns a function that makes the model, its inputs and its possible dynamic axes."""
    if name.startswith("timm:"):
        return any_timm_model(name)
    return known_models[name]


def file_name(name):
    return name.removeprefix("timm:").partition("@")[0] + ".onnx"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exporter", choices=["script", "default"], default="script")
    parser.add_argument("--opset", type=int)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--type", choices=["float32", "float16", "bfloat16", "float64"], default="float32")
    parser.add_argument("--fewer-layers", action="store_true", help="two layers of each transformer: the same nodes in a smaller file")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    builders.fewer_layers = given.fewer_layers
    if given.list or given.folder is None:
        print("\n".join(known_models))
        return 0 if given.list else 2
    for name in given.names:
        try:
            model_of(name)
        except (KeyError, ValueError):
            known = ", ".join(known_models)
            print(f"unknown model {name}; known are {known}, and timm:NAME or timm:NAME@SIZE", file=sys.stderr)
            return 2
    os.makedirs(given.folder, exist_ok=True)
    failed = 0
    for name in given.names or models:
        start = time.time()
        try:
            dynamic = export_most_dynamic(name, os.path.join(given.folder, file_name(name)), given)
            print(f"{name}: {time.time() - start:.1f} s{' dynamic: ' if dynamic else ''}{dynamic}", flush=True)
        except Exception as error:  # one model that does not export must not end the others
            failed += 1
            print(f"{name}: not exported, {type(error).__name__}: {str(error).splitlines()[0][:200]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
