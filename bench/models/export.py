#!/usr/bin/env python3
"""Exports models: `export.py FOLDER [NAME…] [--exporter script|default] [--opset N] [--dynamic] [--type TYPE]`.

Weights and the statistics of batch norms are random: no download; default ones would hide errors, and let optimizers remove zeros.
`script` is PyTorch's TorchScript exporter (default opset 17), `default` the default exporter of torch.onnx.export. `--dynamic` makes the batch dynamic,
and the sequence or the image size if the model accepts more than one; if that cannot be exported, only the batch. Needs torch,
torchvision, timm, transformers, peft and onnx; unet_small and taesd_decoder need diffusers, the yolo models ultralytics, documents'
readers doctr (python-doctr) and U-Nets on other networks segmentation_models_pytorch.
Without names: the models of the table below; `--list` prints it, and those of architectures.py. `timm:NAME` or `timm:NAME@SIZE` is any model of timm with images
of SIZE (default: timm's). Writes FOLDER/NAME.onnx.
"""

import argparse
import os
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch  # noqa: E402


class Wrapped(torch.nn.Module):
    """A model of transformers as a function from tensors to one or several tensors."""

    def __init__(self, model, *outputs):
        super().__init__()
        self.model, self.outputs = model, outputs

    def forward(self, *inputs):
        if getattr(self, "names", None):
            result = self.model(**dict(zip(self.names, inputs)))
        else:
            result = self.model(*inputs)
        return tuple(result[key] for key in self.outputs)


def image(size=224, dynamic_size=True):
    """`dynamic_size`: the model accepts images of any size above a minimum."""
    axes = {0: "batch", 2: "height", 3: "width"} if dynamic_size else {0: "batch"}
    return {"x": torch.randn(1, 3, size, size)}, {"x": axes}


def tokens(length=128, mask=True, vocabulary=1000):
    given = {"input_ids": torch.randint(0, vocabulary, (1, length))}
    if mask:
        given["attention_mask"] = torch.ones(1, length, dtype=torch.int64)
    return given, {name: {0: "batch", 1: "sequence"} for name in given}


def timm_model(name, size=224, dynamic_size=True):
    def make():
        import timm

        return timm.create_model(name, pretrained=False), *image(size, dynamic_size)

    return make


def any_timm_model(name):
    """Returns the model `timm:NAME` or `timm:NAME@SIZE`, for images of this size only."""
    import timm

    name, _, size = name.removeprefix("timm:").partition("@")
    if not timm.is_model(name):
        raise KeyError(name)
    return timm_model(name, int(size) if size else timm.create_model(name).default_cfg["input_size"][-1], dynamic_size=False)


def torchvision_model(name, size=224, pick=None):
    def make():
        import torchvision

        kind = torchvision.models.segmentation if pick else torchvision.models
        options = {"weights": None, **({"weights_backbone": None} if pick else {})}
        model = getattr(kind, name)(**options)
        return (Wrapped(model, pick) if pick else model), *image(size, not name.startswith("vgg"))

    return make


def transformer(family, head, outputs, given, **config):
    def make():
        import transformers

        settings = getattr(transformers, family + "Config")(**{**config, **(layers if fewer_layers else {})})
        settings._attn_implementation = "eager"
        model = getattr(transformers, family + head)(settings)
        inputs, axes = given()
        wrapped = Wrapped(model, *outputs)
        wrapped.names = list(inputs)
        return wrapped, inputs, axes

    return make


def with_adapters(make, targets):
    def made():
        import peft

        wrapped, inputs, axes = make()
        settings = peft.LoraConfig(r=8, lora_alpha=16, target_modules=targets, init_lora_weights=False)
        wrapped.model = peft.get_peft_model(wrapped.model, settings)
        return wrapped, inputs, axes

    return made


class Branches(torch.nn.Module):
    """A 3x3 convolution in the training form of ACNet (Ding et al., ICCV'19): 3x3, 1x3 and 3x1, each with a batch norm, added."""

    def __init__(self, before):
        super().__init__()
        ins, outs, stride = before.in_channels, before.out_channels, before.stride
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv2d(ins, outs, kernel, stride, [(side - 1) // 2 for side in kernel], bias=False)
            for kernel in ((3, 3), (1, 3), (3, 1)))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(outs) for _ in range(3))

    def forward(self, x):
        first, *others = [norm(convolution(x)) for convolution, norm in zip(self.convolutions, self.norms)]
        for other in others:
            first = first + other
        return first


def asymmetric_resnet18():
    import torchvision

    model = torchvision.models.resnet18(weights=None)
    for module in list(model.modules()):
        for convolution, norm in (("conv1", "bn1"), ("conv2", "bn2")):
            if getattr(getattr(module, convolution, None), "kernel_size", None) == (3, 3):
                setattr(module, convolution, Branches(getattr(module, convolution)))
                setattr(module, norm, torch.nn.Identity())
    return model, *image()


class LinearAttention(torch.nn.Module):
    """Attention whose weights are products of features (Katharopoulos et al., ICML'20), as it is defined: first the products
    of all pairs of rows, then the product with the values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (torch.nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def combine(self, query, key, value):
        pairs = query @ key.transpose(-1, -2)
        return pairs @ value / (pairs.sum(-1, keepdim=True) + 1e-6)

    def forward(self, x):
        query, key = (torch.relu(self.split(part(x))) for part in (self.query, self.key))
        mixed = self.combine(query, key, self.split(self.value(x)))
        return self.out(mixed.transpose(1, 2).flatten(2))


class LinearTransformer(torch.nn.Module):
    def __init__(self, width=256, heads=4, layers=4):
        super().__init__()
        self.attention = torch.nn.ModuleList(LinearAttention(width, heads) for _ in range(layers))
        self.between = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width))
            for _ in range(layers))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2 * layers))

    def forward(self, x):
        for i, (attention, between) in enumerate(zip(self.attention, self.between)):
            x = x + attention(self.norms[2 * i](x))
            x = x + between(self.norms[2 * i + 1](x))
        return x


def linear_transformer():
    return LinearTransformer(), {"x": torch.randn(1, 1024, 256)}, {"x": {0: "batch"}}


class NasRnn(torch.nn.Module):
    """The recurrent cell found by Zoph and Le (ICLR'17), unrolled."""

    def __init__(self, width=512, steps=10):
        super().__init__()
        self.steps = steps
        self.inputs, self.states = (torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False) for _ in range(8))
                                    for _ in range(2))

    def forward(self, x):
        state, cell = x[0] * 0, x[0] * 0
        for step in range(self.steps):
            both = [a(x[step]) + b(state) for a, b in zip(self.inputs, self.states)]
            one = torch.sigmoid(torch.relu(both[0]) + torch.sigmoid(both[3]))
            two = torch.sigmoid(both[1]) + torch.tanh(both[2])
            three = torch.tanh(both[4]) * torch.sigmoid(both[5])
            four = torch.sigmoid(both[6]) * torch.tanh(both[7])
            cell = one * torch.tanh(two + cell)
            state = torch.tanh(cell * torch.tanh(three + four))
        return state


def nas_rnn():
    return NasRnn(), {"x": torch.randn(10, 1, 512)}, {"x": {1: "batch"}}


def unfused(name, size):
    """A model of timm whose attention is products and a softmax in PyTorch as well: TorchScript does not export the other form."""
    def make():
        import timm

        fused = timm.layers.use_fused_attn()
        timm.layers.set_fused_attn(False)
        model = timm.create_model(name, pretrained=False)
        timm.layers.set_fused_attn(fused)
        return model, *image(size, False)

    return make


def whisper_encoder():
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    settings = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    settings._attn_implementation = "eager"
    wrapped = Wrapped(WhisperEncoder(settings), *hidden)
    wrapped.names = ["input_features"]
    return wrapped, {"input_features": torch.randn(1, 80, 3000)}, {"input_features": {0: "batch"}}


class Denoiser(torch.nn.Module):
    """A small U-Net of diffusers, at one step."""

    def __init__(self):
        super().__init__()
        from diffusers import UNet2DModel

        self.model = UNet2DModel(sample_size=32, layers_per_block=1, block_out_channels=(64, 128, 128),
                                 down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                                 up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))
        self.register_buffer("step", torch.tensor([10]))

    def forward(self, x):
        return self.model(x, self.step, return_dict=False)[0]


def yolo(name, size=320):
    """A detector of ultralytics, with its batch norms in the convolutions, as that package exports it."""
    def make():
        from ultralytics.nn.tasks import DetectionModel

        model = DetectionModel(name + ".yaml", nc=80, verbose=False).eval()
        with torch.no_grad():
            randomize(model)
            model.fuse(verbose=False)
        model.model[-1].export, model.model[-1].format = True, "onnx"
        for module in model.modules():
            if hasattr(module, "forward_split"):
                module.forward = module.forward_split
        inputs = image(size, False)
        model(*inputs[0].values())  # computes the anchors
        return model, *inputs

    return make


fewer_layers = False
layers = {"num_hidden_layers": 2}  # transformers maps it to the name of each family
hidden = ("last_hidden_state",)
small = dict(vocab_size=8192)
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


def randomize(model):
    """Sets statistics like those of a trained model, and no parameter to a value that hides its effect."""
    for module in model.modules():
        if getattr(module, "running_mean", None) is not None:
            channels = module.running_mean.shape
            module.running_mean.copy_(torch.randn(channels) * 0.1)
            module.running_var.copy_(torch.rand(channels) + 0.5)
        if isinstance(module, torch.nn.LayerNorm) or getattr(module, "running_mean", None) is not None:
            if module.weight is not None:
                module.weight.copy_(torch.rand(module.weight.shape) + 0.5)
            if getattr(module, "bias", None) is not None:
                module.bias.copy_(torch.randn(module.bias.shape) * 0.1)
        if type(module).__name__ == "GlobalResponseNorm":  # begins as the identity
            module.weight.copy_(torch.randn(module.weight.shape))
            module.bias.copy_(torch.randn(module.bias.shape) * 0.1)
    for parameter in model.parameters():  # an optimizer removes the sum with a bias of zeros, and the product with a scale of ones
        first = parameter.flatten()[0].item() if parameter.numel() else None
        if parameter.requires_grad and first is not None and bool((parameter == first).all()):
            random = torch.rand(parameter.shape) + 0.5 if first else torch.randn(parameter.shape) * 0.1
            parameter.copy_(random * (first or 1))


def export(name, path, exporter, opset, dynamic, data_type):
    """`dynamic`: names of dynamic axes, by input. `data_type`: of parameters and of inputs that are real numbers."""
    torch.manual_seed(0)
    model, inputs, _ = model_of(name)()
    model = model.eval().to(data_type)
    inputs = {key: value.to(data_type) if value.is_floating_point() else value for key, value in inputs.items()}
    arguments = tuple(inputs.values())
    options = dict(input_names=list(inputs), output_names=["y"])
    with torch.no_grad():
        randomize(model)
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


def export_most_dynamic(name, path, given):
    """Exports with as many dynamic axes as possible; returns their names."""
    choices = dynamic_axes_of(name) if given.dynamic else [None]
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
    return models[name] if name in models else more_models()[name]


def more_models():
    import architectures

    return architectures.models


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
    global fewer_layers
    fewer_layers = given.fewer_layers
    if given.list or given.folder is None:
        print("\n".join([*models, *more_models()]))
        return 0 if given.list else 2
    for name in given.names:
        try:
            model_of(name)
        except (KeyError, ValueError):
            print(f"unknown model {name}; known are {', '.join([*models, *more_models()])}, and timm:NAME or timm:NAME@SIZE", file=sys.stderr)
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
    import export as module  # architectures.py imports it, too: one module holds the settings

    sys.exit(module.main())
