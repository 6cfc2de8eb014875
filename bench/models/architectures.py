"""Further models for export.py, in their published sizes: text, speech, images with text, detection, restoration of images.

Vocabularies have 8192 words, so that files stay below 400 MB; Qwen's and Gemma's models have fewer layers for the same reason,
which their names state. Detectors and readers of text end with the outputs of their networks: what follows is no tensor program.
"""

import torch

from builders import Wrapped, hidden, image, small, tokens, transformer, yolo


def part_of(family, kind, outputs, given, config=None, **settings):
    """A module of transformers.models that is no model by itself, such as an encoder. `config`: the configuration's family."""
    def make():
        import importlib

        import transformers

        of = getattr(transformers, (config or family) + "Config")(**settings)
        of._attn_implementation = "eager"
        place = importlib.import_module(f"transformers.models.{family.lower()}.modeling_{family.lower()}")
        wrapped = Wrapped(getattr(place, family + kind)(of), *outputs)
        inputs, axes = given()
        wrapped.names = list(inputs)
        return wrapped, inputs, axes

    return make


def named(**shapes):
    """Inputs of real numbers."""
    def make():
        return {name: torch.randn(shape) for name, shape in shapes.items()}, {name: {0: "batch"} for name in shapes}

    return make


def pixels(size):
    return named(pixel_values=(1, 3, size, size))


def after_encoder(length, rows, width):
    """Inputs of a decoder: words, and what an encoder returned."""
    def make():
        given, axes = tokens(length)
        given["encoder_hidden_states"] = torch.randn(1, rows, width)
        return given, {**axes, "encoder_hidden_states": {0: "batch"}}

    return make


class First(torch.nn.Module):
    """A module, with `change` applied to what it returns."""

    def __init__(self, module, change):
        super().__init__()
        self.module, self.change = module, change

    def forward(self, x):
        return self.change(self.module(x))


def ssdlite():
    import torchvision

    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)

    class Outputs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = model.backbone, model.head

        def forward(self, x):
            found = self.head(list(self.backbone(x).values()))
            return found["bbox_regression"], found["cls_logits"]

    return Outputs(), *image(320, False)


def segmenter(name, encoder, size=256):
    def make():
        import segmentation_models_pytorch

        return getattr(segmentation_models_pytorch, name)(encoder, encoder_weights=None, classes=2), *image(size, False)

    return make


def document_reader(kind, name, height, width):
    """A model of docTR."""
    def make():
        import importlib

        models = importlib.import_module(f"doctr.models.{kind}")
        model = getattr(models, name)(pretrained=False, pretrained_backbone=False, exportable=True)
        return First(model, lambda found: found["logits"]), {"x": torch.randn(1, 3, height, width)}, {"x": {0: "batch"}}

    return make


class Residual(torch.nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


def convolution(before, after, side=3):
    return torch.nn.Conv2d(before, after, side, padding=side // 2)


def subpixels():
    """ESPCN (Shi et al., CVPR'16), three times as large."""
    layers = [convolution(1, 64, 5), torch.nn.Tanh(), convolution(64, 32), torch.nn.Tanh(), convolution(32, 9),
              torch.nn.PixelShuffle(3)]
    return torch.nn.Sequential(*layers), {"x": torch.randn(1, 1, 224, 224)}, {"x": {0: "batch"}}


def edsr():
    """The baseline of EDSR (Lim et al., CVPRW'17), twice as large."""
    blocks = [Residual(convolution(64, 64), torch.nn.ReLU(), convolution(64, 64)) for _ in range(16)]
    layers = [convolution(3, 64), Residual(*blocks, convolution(64, 64)), convolution(64, 256), torch.nn.PixelShuffle(2),
              convolution(64, 3)]
    return torch.nn.Sequential(*layers), *image(128, False)


class Compact(torch.nn.Module):
    """The compact network of Real-ESRGAN (Wang et al., ICCVW'21), four times as large."""

    def __init__(self, width=64, depth=16, factor=4):
        super().__init__()
        layers = [convolution(3, width), torch.nn.PReLU(width)]
        for _ in range(depth):
            layers += [convolution(width, width), torch.nn.PReLU(width)]
        self.layers = torch.nn.Sequential(*layers, convolution(width, 3 * factor**2), torch.nn.PixelShuffle(factor))
        self.factor = factor

    def forward(self, x):
        return self.layers(x) + torch.nn.functional.interpolate(x, scale_factor=self.factor, mode="nearest")


def tiny_decoder():
    from diffusers import AutoencoderTiny

    return First(AutoencoderTiny().decoder, lambda y: y), {"x": torch.randn(1, 4, 32, 32)}, {"x": {0: "batch"}}


def text(family, head="Model", outputs=hidden, length=128, mask=True, **config):
    return transformer(family, head, outputs, lambda: tokens(length, mask), **{**small, **config})


def generator(family, head="ForCausalLM", length=64, mask=True, **config):
    return text(family, head, ("logits",), length, mask, use_cache=False, **config)


small_bert = dict(hidden_size=384, intermediate_size=1536, num_attention_heads=12)

models = {
    "bge_small": text("Bert", num_hidden_layers=12, **small_bert),
    "minilm_reranker": text("Bert", "ForSequenceClassification", ("logits",), num_hidden_layers=6, num_labels=1, **small_bert),
    "distilroberta": text("Roberta", num_hidden_layers=6),
    "bert_ner": text("Bert", "ForTokenClassification", ("logits",), num_labels=9),
    "mpnet": text("MPNet"),
    "mobilebert": text("MobileBert"),
    "convbert_small": text("ConvBert", hidden_size=256, embedding_size=128, intermediate_size=1024, num_attention_heads=4),
    "ettin_32m": text("ModernBert", hidden_size=384, intermediate_size=576, num_attention_heads=6, num_hidden_layers=10,
                      pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, reference_compile=False),
    "distilgpt2": generator("GPT2", "LMHeadModel", n_layer=6),
    "gpt2_base": generator("GPT2", "LMHeadModel"),
    "opt_125m": generator("OPT"),
    "pythia_70m": generator("GPTNeoX", hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048),
    "qwen3_4_layers": generator("Qwen3", hidden_size=1024, intermediate_size=3072, num_hidden_layers=4, num_attention_heads=16,
                                num_key_value_heads=8, head_dim=128),
    "gemma3_6_layers": part_of("Gemma3", "ForCausalLM", ("logits",), lambda: tokens(64), config="Gemma3Text", hidden_size=640,
                               intermediate_size=2048, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=1,
                               head_dim=256, use_cache=False, **small),
    "flan_t5_encoder": transformer("T5", "EncoderModel", hidden, tokens, d_model=512, d_ff=1024, num_layers=8, num_heads=6,
                                   feed_forward_proj="gated-gelu", **small),
    "t5_decoder": part_of("T5", "Stack", hidden, after_encoder(64, 128, 512), is_decoder=True, use_cache=False, **small),
    "bart_encoder": part_of("Bart", "Encoder", hidden, tokens, d_model=768, encoder_layers=6, encoder_attention_heads=12,
                            encoder_ffn_dim=3072, **small),
    "marian_encoder": part_of("Marian", "Encoder", hidden, tokens, d_model=512, encoder_layers=6, encoder_attention_heads=8,
                              encoder_ffn_dim=2048, pad_token_id=0, decoder_start_token_id=0, **small),
    "marian_decoder": part_of("Marian", "Decoder", hidden, after_encoder(64, 128, 512), d_model=512, decoder_layers=6,
                              decoder_attention_heads=8, decoder_ffn_dim=2048, pad_token_id=0, decoder_start_token_id=0,
                              use_cache=False, **small),
    "whisper_tiny_decoder": part_of("Whisper", "Decoder", hidden, after_encoder(32, 1500, 384), d_model=384, decoder_layers=4,
                                    decoder_attention_heads=6, decoder_ffn_dim=1536, use_cache=False, pad_token_id=0, **small),
    "wav2vec2": transformer("Wav2Vec2", "ForCTC", ("logits",), named(input_values=(1, 16000))),
    "hubert": transformer("Hubert", "Model", hidden, named(input_values=(1, 16000))),
    "wavlm": transformer("WavLM", "Model", hidden, named(input_values=(1, 16000))),
    "audio_spectrogram": transformer("AST", "ForAudioClassification", ("logits",), named(input_values=(1, 1024, 128)),
                                     num_labels=527),
    "clip_text": transformer("CLIPText", "Model", ("pooler_output",), lambda: tokens(77), **small),
    "clip_vision": transformer("CLIPVision", "Model", ("pooler_output",), pixels(224)),
    "siglip_text": transformer("SiglipText", "Model", ("pooler_output",), lambda: tokens(64, False), hidden_size=768,
                               intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, **small),
    "siglip_vision": transformer("SiglipVision", "Model", hidden, pixels(224), vision_use_head=False),
    "yolos_tiny": transformer("Yolos", "ForObjectDetection", ("logits", "pred_boxes"), pixels(256), hidden_size=192, num_labels=91,
                              intermediate_size=768, num_attention_heads=3, image_size=[256, 256], num_detection_tokens=100),
    "detr_resnet50": transformer("Detr", "ForObjectDetection", ("logits", "pred_boxes"), pixels(320), num_labels=91),
    "depth_anything_small": transformer("DepthAnything", "ForDepthEstimation", ("predicted_depth",), pixels(224)),
    "swin2sr_lightweight": transformer("Swin2SR", "ForImageSuperResolution", ("reconstruction",), pixels(64), embed_dim=60,
                                       depths=[6, 6, 6, 6], num_heads=[6, 6, 6, 6], upsampler="pixelshuffledirect"),
    "trocr_small_encoder": transformer("DeiT", "Model", hidden, pixels(384), hidden_size=384, num_attention_heads=6,
                                       intermediate_size=1536, image_size=384),
    "trocr_small_decoder": part_of("TrOCR", "Decoder", hidden, after_encoder(32, 578, 384), d_model=256, decoder_layers=6,
                                   decoder_attention_heads=8, decoder_ffn_dim=1024, cross_attention_hidden_size=384,
                                   is_decoder=True, activation_function="relu", use_cache=False, **small),
    "ssdlite320": ssdlite,
    "unet_resnet18": segmenter("Unet", "resnet18"),
    "unetplusplus_mobilenet_v2": segmenter("UnetPlusPlus", "mobilenet_v2"),
    "fpn_resnet34": segmenter("FPN", "resnet34"),
    "crnn_mobilenet_v3_small": document_reader("recognition", "crnn_mobilenet_v3_small", 32, 128),
    "crnn_vgg16": document_reader("recognition", "crnn_vgg16_bn", 32, 128),
    "vitstr_small": document_reader("recognition", "vitstr_small", 32, 128),
    "parseq": document_reader("recognition", "parseq", 32, 128),
    "db_mobilenet_v3_large": document_reader("detection", "db_mobilenet_v3_large", 512, 512),
    "fast_tiny": document_reader("detection", "fast_tiny", 512, 512),
    "espcn": subpixels,
    "edsr_baseline": edsr,
    "real_esrgan_compact": lambda: (Compact(), *image(128, False)),
    "taesd_decoder": tiny_decoder,
    "yolov5n": yolo("yolov5n"),
    "yolov8s": yolo("yolov8s"),
    "yolov9t": yolo("yolov9t"),
    "yolo12n": yolo("yolo12n"),
}
