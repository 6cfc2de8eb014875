#!/usr/bin/env python3
"""Exports models in the form that their authors write by hand for inference: `by_hand.py FOLDER [NAME…]`.

The weights are those of export.py (same seed, same statistics), so that outputs are comparable. Most models, and all named
`timm:NAME` (see export.py), use timm's `reparameterize_model`. DenseNet's transitions pool before they convolve. SegFormer's
head convolves each branch before resizing it. A classifier's last layer computes only the row that is read. Adapters and
ACNet's branches are merged. Linear attention multiplies keys with values first. CrossViT's cubic resizing is two products with
constant matrices. MViTv2 adds its relative positions instead of writing the sum over all scores, and multiplies matrices instead of
calling einsum. Encoders that normalize behind the residual sum (BERT) write that sum as Sum, which onnxruntime does not fuse with
the normalization. Writes FOLDER/NAME.onnx.
"""

import os
import sys

import onnx
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


class Head(torch.nn.Module):
    """SegFormer's head. Each branch's linear layer is merged with its slice of the 1x1 convolution, before resizing."""

    def __init__(self, head):
        super().__init__()
        scale = head.batch_norm.weight / torch.sqrt(head.batch_norm.running_var + head.batch_norm.eps)
        fuse = head.linear_fuse.weight[:, :, 0, 0] * scale[:, None]
        self.shift = torch.nn.Parameter(head.batch_norm.bias - head.batch_norm.running_mean * scale)
        layers = list(head.linear_projections)
        parts = fuse.split(fuse.shape[0], 1)[::-1]  # the last stage comes first
        self.branches = torch.nn.ModuleList()
        for layer, part in zip(layers, parts):
            branch = torch.nn.Conv2d(layer.proj.in_features, fuse.shape[0], 1)
            branch.weight.copy_((part @ layer.proj.weight)[:, :, None, None])
            branch.bias.copy_(part @ layer.proj.bias)
            self.branches.append(branch)
        self.branches[0].bias.add_(self.shift)
        self.classifier = head.classifier

    def forward(self, stages, **_):
        size = stages[0].shape[2:]
        total = self.branches[0](stages[0])
        for stage, branch in zip(stages[1:], self.branches[1:]):
            total = total + torch.nn.functional.interpolate(branch(stage), size=size, mode="bilinear", align_corners=False)
        return self.classifier(torch.relu(total))


def resized_last(wrapped):
    wrapped.model.decode_head = Head(wrapped.model.decode_head)
    return wrapped


class LastLayer(torch.nn.Module):
    """DistilBERT's last layer, for its first row only."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, attention_mask=None, **_):
        layer, inner = self.layer, self.layer.attention
        row, size = x[:, :1], inner.dim // inner.n_heads

        def heads(y):
            return y.view(y.shape[0], y.shape[1], inner.n_heads, size).transpose(1, 2)

        query, key, value = heads(inner.q_lin(row)), heads(inner.k_lin(x)), heads(inner.v_lin(x))
        pairs = query @ key.transpose(2, 3) / size**0.5
        if attention_mask is not None:
            pairs = pairs + attention_mask[:, :, :1]
        mixed = (torch.softmax(pairs, -1) @ value).transpose(1, 2).flatten(2)
        row = layer.sa_layer_norm(inner.out_lin(mixed) + row)
        return layer.output_layer_norm(layer.ffn(row) + row)


def first_row(wrapped):
    layers = wrapped.model.distilbert.transformer.layer
    layers[-1] = LastLayer(layers[-1])
    return wrapped


def merged(wrapped):
    wrapped.model = wrapped.model.merge_and_unload()
    return wrapped


def one_kernel(model):
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if not isinstance(child, export.Branches):
                continue
            first = child.convolutions[0]
            whole = torch.nn.Conv2d(first.in_channels, first.out_channels, 3, first.stride, 1)
            whole.weight.zero_()
            whole.bias.zero_()
            for convolution, norm in zip(child.convolutions, child.norms):
                scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
                top, left = ((3 - side) // 2 for side in convolution.kernel_size)
                rows, columns = convolution.kernel_size
                whole.weight[:, :, top:top + rows, left:left + columns] += convolution.weight * scale[:, None, None, None]
                whole.bias += norm.bias - norm.running_mean * scale
            setattr(module, name, whole)
    return model


def keys_first(model):
    def combine(query, key, value):
        both = key.transpose(-1, -2) @ value
        return query @ both / (query @ key.sum(-2, keepdim=True).transpose(-1, -2) + 1e-6)

    for attention in model.attention:
        attention.combine = combine
    return model


def resized_by_products(model):
    from timm.models import crossvit

    def matrix(before, after):
        unit = torch.eye(before)[None, None]
        return torch.nn.functional.interpolate(unit, size=(after, before), mode="bicubic", align_corners=False)[0, 0]

    sizes = list(zip(model.img_size, zip(*model.img_size_scaled)))
    matrices = {(before, after): matrix(before, after) for before, scaled in sizes for after in scaled if after != before}

    def scale_image(x, size, _=False):
        for axis, after in zip((-2, -1), size):
            weights = matrices.get((int(x.shape[axis]), after))
            if weights is not None:
                x = weights @ x if axis == -2 else x @ weights.T
        return x

    crossvit.scale_image = scale_image
    return model


def positions_added(model):
    from timm.models import mvitv2

    def rows_of(table, queries, keys):
        step, stride = max(keys / queries, 1), max(queries / keys, 1)
        at = torch.arange(queries)[:, None] * step - torch.arange(keys) * stride + (keys - 1) * stride
        return table[at.long()].transpose(1, 2)

    def scores(attn, q, has_cls_token, q_size, k_size, rel_pos_h, rel_pos_w):
        assert not has_cls_token
        pixels = q.unflatten(2, q_size)
        by_row = pixels @ rows_of(rel_pos_h, q_size[0], k_size[0])
        by_column = (pixels.transpose(2, 3) @ rows_of(rel_pos_w, q_size[1], k_size[1])).transpose(2, 3)
        total = attn.unflatten(3, k_size).unflatten(2, q_size) + by_row[..., None] + by_column[..., None, :]
        return total.flatten(4).flatten(2, 3)

    mvitv2.cal_rel_pos_type = scores
    return model


def unchanged(model):
    return model


def sums_not_fused(file):
    """Writes each Add in front of a LayerNormalization as Sum."""
    model = onnx.load(file)
    normalized = {node.input[0] for node in model.graph.node if node.op_type == "LayerNormalization"}
    for node in model.graph.node:
        if node.op_type == "Add" and node.output[0] in normalized:
            node.op_type = "Sum"
    onnx.save(model, file)


by_hand = {
    "repvgg_a0": reparameterized,
    "mobileone_s0": reparameterized,
    "ghostnetv3_100": reparameterized,
    "repghostnet_100": reparameterized,
    "repvit_m0_9": reparameterized,
    "fastvit_t8": reparameterized,
    "levit_128s": reparameterized,
    "densenet121": pooled_first,
    "timm:densenet169": pooled_first,
    "segformer_b0": resized_last,
    "segformer_b1": resized_last,
    "distilbert": first_row,
    "distilbert_lora": merged,
    "bert_lora": merged,
    "resnet18_acnet": one_kernel,
    "linear_transformer": keys_first,
    "timm:crossvit_9_240": resized_by_products,
    "timm:mvitv2_tiny": positions_added,
    "minilm": unchanged,
    "bert_base": unchanged,
    "deberta_v3": unchanged,
}

in_the_file = {"minilm": sums_not_fused, "bert_base": sums_not_fused, "deberta_v3": sums_not_fused}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: by_hand.py FOLDER [NAME…]")
    folder, names = sys.argv[1], sys.argv[2:] or list(by_hand)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        change = by_hand[name] if name in by_hand else reparameterized
        model, inputs, _ = export.model_of(name)()
        model = model.eval()
        with torch.no_grad():
            export.randomize(model)
            before = model(*inputs.values())
            model = change(model).eval()
            after = model(*inputs.values())
            if isinstance(before, tuple):
                before, after = before[0], after[0]
            difference = float((after - before).abs().max() / before.abs().max())
            torch.onnx.export(model, tuple(inputs.values()), os.path.join(folder, export.file_name(name)), dynamo=False,
                              opset_version=17, input_names=list(inputs), output_names=["y"])
        if name in in_the_file:
            in_the_file[name](os.path.join(folder, export.file_name(name)))
        print(f"{name}: by hand, differs by {difference:.1e} of the largest value", flush=True)


if __name__ == "__main__":
    main()
