#!/usr/bin/env python3
"""Exports models in the form that their authors write by hand for inference: `by_hand.py FOLDER [NAME…]`.

The weights are those of export.py (same seed, same statistics), so that outputs are comparable. Most models, and all named
`timm:NAME` (see export.py), use timm's `reparameterize_model`. DenseNet's transitions pool before they convolve. SegFormer's
head convolves each branch before resizing it. A classifier's last layer computes only the row that is read. Adapters and
ACNet's branches are merged. Linear attention multiplies keys with values first. CrossViT's cubic resizing is two products with
constant matrices. MViTv2 adds its relative positions instead of writing the sum over all scores, and multiplies matrices instead of
calling einsum. Encoders that normalize behind the residual sum (BERT) write that sum as Sum, which onnxruntime does not fuse with
the normalization. DINOv2, TNT and EVA02 project queries, keys and values by themselves, with the scale in the queries' weights, so
that no tensor of five dimensions is split; EVA02 also turns halves of a head instead of neighbors, by permuting the weights. A
U-Net convolves its images before nearest upsampling, by one 2x2 kernel for each of the four pixels. Writes FOLDER/NAME.onnx.
`by_hand.py --list` prints the names.
"""

import os
import sys

import numpy as np
import onnx
import torch

import builders
import export


def reparameterized(model):
    from timm.utils import reparameterize_model

    return reparameterize_model(model)


def text_detector_reparameterized(model):
    from doctr.models.detection.fast.pytorch import reparameterize

    reparameterize(model.module)
    return model


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
            if not isinstance(child, builders.Branches):
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


def linear(weight, bias, factor=1):
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight.copy_(weight * factor)
    if bias is not None:
        layer.bias.copy_(bias * factor)
    return layer


class SeparateHeads(torch.nn.Module):
    """Attention with three projections. `turned`: sines and cosines of the positions, with the signs of the first half in them."""

    def __init__(self, query, key, value, attention, turned=None):
        super().__init__()
        self.query, self.key, self.value, self.turned = query, key, value, turned
        self.heads, self.proj, self.norm = attention.num_heads, attention.proj, getattr(attention, "norm", torch.nn.Identity())

    def forward(self, x, *_, **__):
        def heads(y):
            return y.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)

        def turn(y):
            if self.turned is None:
                return y
            sine, cosine = self.turned
            half = y.shape[-1] // 2
            return y * cosine + torch.cat([y[..., half:], y[..., :half]], -1) * sine

        query, key, value = turn(heads(self.query(x))), turn(heads(self.key(x))), heads(self.value(x))
        mixed = torch.softmax(query @ key.transpose(-2, -1), -1) @ value
        return self.proj(self.norm(mixed.transpose(1, 2).flatten(2)))


def three_projections(model):
    """Also multiplies the scales of layers into the weights before them."""
    for block in model.blocks:
        attention = block.attn
        weights, biases = attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3)
        query = linear(weights[0], biases[0], attention.scale)
        block.attn = SeparateHeads(query, linear(weights[1], biases[1]), linear(weights[2], biases[2]), attention)
        for layer, scale in ((attention.proj, block.ls1.gamma), (block.mlp.fc2, block.ls2.gamma)):
            layer.weight.mul_(scale[:, None])
            layer.bias.mul_(scale)
        block.ls1 = block.ls2 = torch.nn.Identity()
    return model


def two_projections(model):
    for block in model.blocks:
        for name in ("attn_in", "attn_out"):
            attention = getattr(block, name)
            query, key = attention.qk.weight.chunk(2)
            setattr(block, name, SeparateHeads(linear(query, None, attention.scale), linear(key, None), attention.v, attention))
    return model


def halves_turned(model):
    sine, cosine = model.rope.get_embed(shape=model.patch_embed.grid_size).chunk(2, -1)
    size = sine.shape[-1]
    order = torch.cat([torch.arange(0, size, 2), torch.arange(1, size, 2)])
    sine = sine[:, order] * torch.cat([-torch.ones(size // 2), torch.ones(size // 2)])
    # The first row is the class token, which is not turned.
    turned = torch.cat([torch.zeros(1, size), sine]), torch.cat([torch.ones(1, size), cosine[:, order]])
    for block in model.blocks:
        attention = block.attn
        rows = torch.cat([order + head * size for head in range(attention.num_heads)])
        query, key, value = attention.qkv.weight.chunk(3)
        block.attn = SeparateHeads(linear(query[rows], attention.q_bias[rows], attention.scale), linear(key[rows], None),
                                   linear(value, attention.v_bias), attention, turned)
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


def convolved_first(file):
    """Writes nearest upsampling by 2 and a 3x3 convolution as four 2x2 convolutions and DepthToSpace."""
    model = onnx.load(file)
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    resizes = {node.output[0]: node for node in model.graph.node if node.op_type == "Resize"}
    nodes = []
    for node in model.graph.node:
        if node.op_type != "Conv" or node.input[0] not in resizes:
            nodes.append(node)
            continue
        kernel, parts = weights[node.input[1]], []
        for down in range(2):
            for right in range(2):
                part = np.zeros((*kernel.shape[:2], 2, 2))
                for row in range(3):
                    for column in range(3):  # of the upsampled image; the part's pixel is the one that it comes from
                        at = (down + row - 1) // 2 + 1 - down, (right + column - 1) // 2 + 1 - right
                        part[:, :, at[0], at[1]] += kernel[:, :, row, column]
                parts.append(f"{node.output[0]}_{down}{right}")
                model.graph.initializer.append(onnx.numpy_helper.from_array(part.astype(np.float32), parts[-1] + "_kernel"))
                inputs = [resizes[node.input[0]].input[0], parts[-1] + "_kernel", *node.input[2:]]
                nodes.append(onnx.helper.make_node("Conv", inputs, [parts[-1]], pads=[1 - down, 1 - right, down, right]))
        nodes.append(onnx.helper.make_node("Concat", parts, [node.output[0] + "_parts"], axis=1))
        nodes.append(onnx.helper.make_node("DepthToSpace", [node.output[0] + "_parts"], [node.output[0]], blocksize=2))
    used = {name for node in nodes for name in node.input}
    nodes = [node for node in nodes if node.op_type != "Resize" or node.output[0] in used]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
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
    "dinov2_small": three_projections,
    "timm:tnt_s_patch16_224": two_projections,
    "eva02_small": halves_turned,
    "unet_small": unchanged,
    "fast_tiny": text_detector_reparameterized,
}

in_the_file = {"minilm": sums_not_fused, "bert_base": sums_not_fused, "deberta_v3": sums_not_fused, "unet_small": convolved_first}


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: by_hand.py FOLDER [NAME…] | --list")
    if sys.argv[1] == "--list":
        print("\n".join(by_hand))
        return
    folder, names = sys.argv[1], sys.argv[2:] or list(by_hand)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        change = by_hand[name] if name in by_hand else reparameterized
        model, inputs, _ = export.model_of(name)()
        model = model.eval()
        with torch.no_grad():
            builders.randomize(model)
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
