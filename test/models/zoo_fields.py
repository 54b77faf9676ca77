# SPDX-License-Identifier: Apache-2.0
"""Architectures of other fields, written or configured before anyone ran them:
speech, detection, generation, graphs, point clouds, and pairs of images and
text.
"""

import functools
import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from zoo import BATCH, TIME, VOCABULARY, hugging_face, with_loss


class GraphAttention(nn.Module):
    """GAT (Velickovic et al. 2018): softmax over the edges of a node, by
    scatters over an edge list."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, width, bias=False)
        self.source = nn.Parameter(torch.randn(heads, width // heads))
        self.target = nn.Parameter(torch.randn(heads, width // heads))

    def forward(self, x, edges):
        nodes = x.shape[0]
        h = self.project(x).unflatten(-1, (self.heads, -1))
        origin, end = edges
        score = F.leaky_relu((h * self.source).sum(-1)[origin]
                             + (h * self.target).sum(-1)[end], 0.2)
        largest = score.new_full((nodes, self.heads), -math.inf).scatter_reduce(
            0, end[:, None].expand_as(score), score, "amax")
        weight = (score - largest[end]).exp()
        total = weight.new_zeros(nodes, self.heads).index_add(0, end, weight)
        weight = weight / (total[end] + 1e-9)
        return torch.zeros_like(h).index_add(
            0, end, weight.unsqueeze(-1) * h[origin]).flatten(1)


class GraphNetwork(nn.Module):
    def __init__(self, width, nodes, edges, classes):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.layers = nn.ModuleList(GraphAttention(width, 4) for _ in range(2))
        self.head = nn.Linear(width, classes)
        self.register_buffer("edges", torch.randint(nodes, (2, edges)))

    def forward(self, x):
        h = F.elu(self.embed(x))
        batch, nodes, _ = h.shape
        # One graph of all samples.
        shift = nodes * torch.arange(batch, device=x.device)
        edges = (self.edges[:, None] + shift[:, None]).flatten(1)
        h = h.flatten(0, 1)
        for layer in self.layers:
            h = h + F.elu(layer(h, edges))
        return self.head(h.view(batch, nodes, -1).mean(1))


class EdgeConvolution(nn.Module):
    """DGCNN (Wang et al. 2019): the nearest neighbours of each point in the
    space of its features."""

    def __init__(self, inputs, outputs, neighbours):
        super().__init__()
        self.neighbours = neighbours
        self.mix = nn.Sequential(
            nn.Conv2d(2 * inputs, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2))

    def forward(self, x):  # [B, C, N]
        distances = torch.cdist(x.transpose(1, 2), x.transpose(1, 2))
        near = distances.topk(self.neighbours, largest=False).indices
        points = x.shape[2]
        around = torch.gather(
            x.unsqueeze(2).expand(-1, -1, points, -1), 3,
            near.unsqueeze(1).expand(-1, x.shape[1], -1, -1))
        middle = x.unsqueeze(3).expand_as(around)
        return self.mix(torch.cat([around - middle, middle], 1)).amax(-1)


class PointCloud(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first, self.second = EdgeConvolution(3, 16, 5), EdgeConvolution(16, 32, 5)
        self.head = nn.Linear(2 * 48, classes)

    def forward(self, x):
        a = self.first(x)
        h = torch.cat([a, self.second(a)], 1)
        return self.head(torch.cat([h.amax(-1), h.mean(-1)], 1))


class RadianceField(nn.Module):
    """NeRF (Mildenhall et al. 2020): positional encoding, and the integral of
    density and colour along rays."""

    def __init__(self, width=32, samples=12, bands=4):
        super().__init__()
        self.samples, self.bands = samples, bands
        self.trunk = nn.Sequential(
            nn.Linear(3 + 6 * bands, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU())
        self.density, self.colour = nn.Linear(width, 1), nn.Linear(width + 3, 3)

    def encode(self, x):
        turns = x.unsqueeze(-1) * 2.0 ** torch.arange(self.bands)
        return torch.cat([x, turns.sin().flatten(-2), turns.cos().flatten(-2)], -1)

    def forward(self, origin, direction, target):
        depth = torch.linspace(0.5, 3.0, self.samples)
        place = origin[:, None] + depth[:, None] * direction[:, None]
        h = self.trunk(self.encode(place))
        density = F.softplus(self.density(h).squeeze(-1))
        view = F.normalize(direction, dim=-1)[:, None].expand(-1, self.samples, -1)
        colour = torch.sigmoid(self.colour(torch.cat([h, view], -1)))
        step = torch.cat([depth.diff(), depth.new_full((1,), 0.2)])
        opacity = 1 - torch.exp(-density * step)
        clear = torch.cumprod(1 - opacity + 1e-10, -1)
        clear = torch.cat([torch.ones_like(clear[:, :1]), clear[:, :-1]], -1)
        return F.mse_loss(((opacity * clear).unsqueeze(-1) * colour).sum(1), target)


class VectorQuantizer(nn.Module):
    """VQ-VAE (van den Oord et al. 2017), straight through the nearest code."""

    def __init__(self, codes=24, width=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, width, 4, 2, 1))
        self.codes = nn.Embedding(codes, width)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(width, 16, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, 2, 1))

    def forward(self, images):
        z = self.encoder(images).permute(0, 2, 3, 1)
        flat = z.reshape(-1, z.shape[-1])
        distances = (flat.pow(2).sum(1, keepdim=True)
                     - 2 * flat @ self.codes.weight.t()
                     + self.codes.weight.pow(2).sum(1))
        chosen = self.codes(distances.argmin(1)).view_as(z)
        quantized = z + (chosen - z).detach()
        loss = F.mse_loss(chosen, z.detach()) + 0.25 * F.mse_loss(z, chosen.detach())
        return loss + F.mse_loss(self.decoder(quantized.permute(0, 3, 1, 2)), images)


class Coupling(nn.Module):
    """An affine coupling of RealNVP (Dinh et al. 2017) behind a mixing matrix as
    in Glow (Kingma and Dhariwal 2018), by its LU factors."""

    def __init__(self, width):
        super().__init__()
        self.lower = nn.Parameter(0.1 * torch.randn(width, width))
        self.upper = nn.Parameter(0.1 * torch.randn(width, width))
        self.log_scale = nn.Parameter(0.1 * torch.randn(width))
        self.net = nn.Sequential(nn.Linear(width // 2, 32), nn.Tanh(),
                                 nn.Linear(32, width))

    def forward(self, x):
        one = torch.eye(x.shape[1])
        mix = ((self.lower.tril(-1) + one)
               @ (self.upper.triu(1) + torch.diag(self.log_scale.exp())))
        first, second = (x @ mix.t()).chunk(2, -1)
        shift, scale = self.net(first).chunk(2, -1)
        scale = 2 * torch.tanh(scale / 2)
        return (torch.cat([first, second * scale.exp() + shift], -1),
                self.log_scale.sum() + scale.sum(-1))


class Flow(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.steps = nn.ModuleList(Coupling(width) for _ in range(3))
        self.prior = torch.distributions.Normal(0.0, 1.0, validate_args=False)

    def forward(self, x):
        total = 0
        for step in self.steps:
            x, log_determinant = step(x)
            total = total + log_determinant
        return -(self.prior.log_prob(x).sum(-1) + total).mean()


class DetectionHead(nn.Module):
    """FCOS (Tian et al. 2019) over two levels: focal loss, generalized IoU and
    centerness."""

    def __init__(self, width=16, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.SiLU(),
                                  nn.Conv2d(width, width, 3, 2, 1))
        self.down = nn.Conv2d(width, width, 3, 2, 1)
        self.tower = nn.Sequential(nn.Conv2d(width, width, 3, padding=1),
                                   nn.GroupNorm(4, width), nn.ReLU())
        self.classify = nn.Conv2d(width, classes, 3, padding=1)
        self.regress = nn.Conv2d(width, 4, 3, padding=1)
        self.centre = nn.Conv2d(width, 1, 3, padding=1)
        self.scales = nn.Parameter(torch.ones(2))

    def level(self, features, index):
        h = self.tower(features)
        reach = F.relu(self.regress(h) * self.scales[index]) * 2 ** (index + 2)
        outputs = self.classify(h), reach, self.centre(h)
        rows, columns = h.shape[-2:]
        y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns),
                              indexing="ij")
        places = (torch.stack([x, y], -1).flatten(0, 1) + 0.5) * 2 ** (index + 2)
        return [o.flatten(2).transpose(1, 2) for o in outputs] + [places]

    def forward(self, images, boxes, labels):
        c3 = self.stem(images)
        levels = [self.level(c3, 0), self.level(self.down(F.silu(c3)), 1)]
        scores, reach, centre = (
            torch.cat([level[i] for level in levels], 1) for i in range(3))
        places = torch.cat([level[3] for level in levels])
        sides = torch.cat([places - boxes[:, None, :2],
                           boxes[:, None, 2:] - places], -1)
        inside = sides.amin(-1) > 0
        wanted = F.one_hot(labels, scores.shape[-1])[:, None] * inside[..., None]
        focal = torchvision.ops.sigmoid_focal_loss(
            scores, wanted.to(scores.dtype), reduction="sum")
        found = torch.cat([places - reach[..., :2], places + reach[..., 2:]], -1)
        overlap = torchvision.ops.generalized_box_iou_loss(
            found, boxes[:, None].expand_as(found))
        across = sides[..., 0::2].clamp(min=0), sides[..., 1::2].clamp(min=0)
        share = [pair.amin(-1) / pair.amax(-1).clamp(min=1e-6) for pair in across]
        middle = F.binary_cross_entropy_with_logits(
            centre.squeeze(-1), (share[0] * share[1]).sqrt(), reduction="none")
        count = inside.sum().clamp(min=1)
        return (focal + (overlap * inside).sum() + (middle * inside).sum()) / count


class JointBlock(nn.Module):
    """A block of MMDiT (Esser et al. 2024): image and text have weights of their
    own and attend together."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        parts = lambda make: nn.ModuleList(make() for _ in range(2))
        self.modulate = parts(lambda: nn.Linear(width, 6 * width))
        self.qkv = parts(lambda: nn.Linear(width, 3 * width))
        self.q_norm = parts(lambda: nn.RMSNorm(width // heads, eps=1e-6))
        self.k_norm = parts(lambda: nn.RMSNorm(width // heads, eps=1e-6))
        self.out = parts(lambda: nn.Linear(width, width))
        self.mlp = parts(lambda: nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"),
            nn.Linear(2 * width, width)))

    def forward(self, streams, condition):
        width = streams[0].shape[-1]
        norm = lambda x: F.layer_norm(x, (width,), eps=1e-6)
        settings = [m(F.silu(condition))[:, None].chunk(6, -1)
                    for m in self.modulate]
        heads = []
        for i, x in enumerate(streams):
            shift, scale = settings[i][:2]
            q, k, v = self.qkv[i](norm(x) * (1 + scale) + shift).unflatten(
                -1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            heads.append((self.q_norm[i](q), self.k_norm[i](k), v))
        joint = F.scaled_dot_product_attention(
            *(torch.cat(pair, 2) for pair in zip(*heads)))
        parts = joint.transpose(1, 2).flatten(2).split(
            [x.shape[1] for x in streams], 1)
        result = []
        for i, (x, part) in enumerate(zip(streams, parts)):
            _, _, gate, shift, scale, last = settings[i]
            x = x + gate * self.out[i](part)
            result.append(x + last * self.mlp[i](norm(x) * (1 + scale) + shift))
        return result


class RectifiedFlow(nn.Module):
    """Stable Diffusion 3's training in small, on latents and text features."""

    def __init__(self, width=32):
        super().__init__()
        self.patch = nn.Conv2d(4, width, 2, 2)
        self.position = nn.Parameter(torch.randn(1, 16, width))
        self.text = nn.Linear(12, width)
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(),
                                  nn.Linear(width, width))
        self.blocks = nn.ModuleList(JointBlock(width, 4) for _ in range(2))
        self.out = nn.Linear(width, 16)

    def forward(self, latents, text, noise, time):
        moved = torch.lerp(latents, noise, time.view(-1, 1, 1, 1))
        image = self.patch(moved).flatten(2).transpose(1, 2) + self.position
        turns = time[:, None] * 1000 * torch.exp(
            -math.log(1e4) * torch.arange(8) / 8)
        condition = self.time(torch.cat([turns.cos(), turns.sin()], -1))
        streams = [image, self.text(text)]
        for block in self.blocks:
            streams = block(streams, condition)
        pixels = self.out(streams[0]).transpose(1, 2).unflatten(2, (4, 4))
        velocity = F.pixel_shuffle(pixels.flatten(2).unflatten(2, (4, 4)), 2)
        weight = torch.distributions.LogNormal(0.0, 1.0, validate_args=False)
        importance = weight.log_prob(time + 1e-3).exp()
        error = (velocity - (noise - latents)).square().mean((1, 2, 3))
        return (importance * error).mean()


class SpeechDecoder(nn.Module):
    """Tacotron 2's decoder (Shen et al. 2018): LSTM cells with
    location-sensitive attention, one frame after the other."""

    def __init__(self, mel=8, width=16):
        super().__init__()
        self.mel, self.width = mel, width
        self.text = nn.Embedding(VOCABULARY, width)
        self.encoder = nn.LSTM(width, width // 2, batch_first=True,
                               bidirectional=True)
        self.pre = nn.Sequential(nn.Linear(mel, width), nn.ReLU())
        self.cell, self.second = nn.LSTMCell(2 * width, width), nn.LSTMCell(2 * width, width)
        self.query, self.memory = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.location = nn.Conv1d(2, 4, 5, padding=2, bias=False)
        self.place, self.score = nn.Linear(4, width, bias=False), nn.Linear(width, 1)
        self.frame, self.stop = nn.Linear(2 * width, mel), nn.Linear(2 * width, 1)

    def forward(self, tokens, frames, ends):
        memory = self.encoder(self.text(tokens))[0]
        keys = self.memory(memory)
        batch, steps = tokens.shape[0], frames.shape[1]
        zero = memory.new_zeros(batch, self.width)
        state, other, context = (zero, zero), (zero, zero), zero
        weights = memory.new_zeros(batch, tokens.shape[1])
        total, before = weights, frames.new_zeros(batch, self.mel)
        outputs, stops = [], []
        for step in range(steps):
            state = self.cell(torch.cat([self.pre(before), context], -1), state)
            seen = self.location(torch.stack([weights, total], 1)).transpose(1, 2)
            energy = self.score(torch.tanh(
                self.query(state[0])[:, None] + keys + self.place(seen)))
            weights = energy.squeeze(-1).softmax(-1)
            total = total + weights
            context = torch.bmm(weights[:, None], memory).squeeze(1)
            other = self.second(torch.cat([state[0], context], -1), other)
            h = torch.cat([other[0], context], -1)
            outputs.append(self.frame(h))
            stops.append(self.stop(h).squeeze(-1))
            before = frames[:, step]
        return (F.smooth_l1_loss(torch.stack(outputs, 1), frames)
                + F.binary_cross_entropy_with_logits(torch.stack(stops, 1), ends))


def captions():
    return {"input_ids": torch.randint(3, VOCABULARY, (BATCH, TIME)),
            "attention_mask": torch.ones(BATCH, TIME, dtype=torch.long),
            "pixel_values": torch.randn(BATCH, 3, 32, 32), "return_loss": True}


PAIR = dict(
    text_config=dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64,
                     num_hidden_layers=2, num_attention_heads=4,
                     max_position_embeddings=TIME, projection_dim=16),
    vision_config=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                       num_attention_heads=4, image_size=32, patch_size=8))


def own(make, inputs, loss=None):
    return lambda: with_loss(make(), inputs(), loss)


FIELDS = {
    "graph-attention": own(
        lambda: GraphNetwork(16, 10, 30, 3),
        lambda: (torch.randn(4, 10, 8), torch.randint(3, (4,))), "cross_entropy"),
    "dgcnn": own(lambda: PointCloud(4),
                 lambda: (torch.randn(4, 3, 20), torch.randint(4, (4,))),
                 "cross_entropy"),
    "nerf": own(RadianceField, lambda: (
        torch.randn(8, 3), torch.randn(8, 3), torch.rand(8, 3))),
    "vq-vae": own(VectorQuantizer, lambda: (torch.randn(4, 3, 16, 16),)),
    "realnvp": own(Flow, lambda: (torch.randn(16, 6),)),
    "fcos": own(DetectionHead, lambda: (
        torch.randn(2, 3, 32, 32),
        torch.tensor([[3.0, 5.0, 20.0, 25.0], [8.0, 2.0, 30.0, 18.0]]),
        torch.randint(5, (2,)))),
    "mmdit": own(RectifiedFlow, lambda: (
        torch.randn(2, 4, 8, 8), torch.randn(2, 6, 12),
        torch.randn(2, 4, 8, 8), torch.rand(2))),
    "tacotron": own(SpeechDecoder, lambda: (
        torch.randint(VOCABULARY, (2, 7)), torch.randn(2, 5, 8),
        torch.tensor([[0.0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]))),
    "hf-siglip": functools.partial(
        hugging_face, "SiglipModel", "SiglipConfig", captions, **PAIR),
}
