#!/usr/bin/env python3
"""Exports models in the form that their authors write by hand for inference: `by_hand.py FOLDER [NAME…]`.

The weights are those of export.py (same seed, same statistics), so that outputs are comparable. Most are timm's
`reparameterize_model`; DenseNet's transitions pool before their convolution. Writes FOLDER/NAME.onnx.
"""

import os
import sys

import torch

import export


def reparameterized(model):
    from timm.utils import reparameterize_model

    return reparameterize_model(model)


def pooled_first(model):
    for module in model.modules():
        if hasattr(module, "pool") and hasattr(module, "conv") and isinstance(module, torch.nn.Sequential):
            order = list(module._modules.items())
            names = [name for name, _ in order]
            if names.index("pool") == names.index("conv") + 1:
                at = names.index("conv")
                order[at], order[at + 1] = order[at + 1], order[at]
                module._modules.clear()
                module._modules.update(order)
    return model


by_hand = {
    "repvgg_a0": reparameterized,
    "mobileone_s0": reparameterized,
    "ghostnetv3_100": reparameterized,
    "repghostnet_100": reparameterized,
    "repvit_m0_9": reparameterized,
    "fastvit_t8": reparameterized,
    "levit_128s": reparameterized,
    "densenet121": pooled_first,
}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: by_hand.py FOLDER [NAME…]")
    folder, names = sys.argv[1], sys.argv[2:] or list(by_hand)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        model, inputs, _ = export.models[name]()
        model = model.eval()
        with torch.no_grad():
            export.randomize(model)
            before = model(*inputs.values())
            model = by_hand[name](model).eval()
            after = model(*inputs.values())
            difference = float((after - before).abs().max() / before.abs().max())
            torch.onnx.export(model, tuple(inputs.values()), os.path.join(folder, name + ".onnx"), dynamo=False,
                              opset_version=17, input_names=list(inputs), output_names=["y"])
        print(f"{name}: by hand, differs by {difference:.1e} of the largest value", flush=True)


if __name__ == "__main__":
    main()
