"""What export.py builds models from: functions that return a function, which makes a model, its inputs and its possible dynamic axes."""

import torch


fewer_layers = False
layers = {"num_hidden_layers": 2}  # transformers maps it to the name of each family
hidden = ("last_hidden_state",)
small = dict(vocab_size=8192)


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
