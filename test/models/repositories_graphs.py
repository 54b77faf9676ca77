# SPDX-License-Identifier: Apache-2.0
"""Repositories on graphs, points, users and agents."""

import copy

import numpy
import torch
from torch import nn
from torch.nn import functional as F

from repository_models import (Namespace, Step, repository, stand_in,
                               with_same_draws, without_dropout)


@repository("DeepGraphLearning/KnowledgeGraphEmbedding",
            "2e440e0f9c687314d5ff67ead68ce985dc446e3a",
            "knowledge graphs", "RotatE, self-adversarial loss")
def rotate(code):
    code.use("codes")
    import model as repository_model
    model = repository_model.KGEModel("RotatE", 30, 6, 8, 12.0,
                                      double_entity_embedding=True)

    def step(model, positive, negative, weight):
        score = model((positive, negative), mode="tail-batch")
        score = (F.softmax(score * 1.0, dim=1).detach()
                 * F.logsigmoid(-score)).sum(dim=1)
        own = F.logsigmoid(model(positive)).squeeze(dim=1)
        return (-(weight * own).sum() / weight.sum()
                - (weight * score).sum() / weight.sum()) / 2

    def data():
        heads, relations, tails = (torch.randint(n, (8,)) for n in (30, 6, 30))
        return (torch.stack([heads, relations, tails], 1),
                torch.randint(30, (8, 5)), torch.rand(8) + 0.1)

    return Step(model, step), data


@repository("vgsatorras/egnn",
            "e9ca6c0c3e1d30a7598efbd66034121b4af8dccc",
            "equivariant networks", "EGNN, n bodies")
def egnn(code):
    code.use()
    from models.egnn_clean.egnn_clean import get_edges_batch
    from n_body_system.model import EGNN_vel
    model = EGNN_vel(in_node_nf=1, in_edge_nf=2, hidden_nf=16, n_layers=2,
                     recurrent=True, norm_diff=True, tanh=False)
    edges, _ = get_edges_batch(5, 3)

    def step(model, loc, vel, edge_attributes, charges, end):
        loc, vel, end = (each.view(-1, each.size(2)) for each in (loc, vel, end))
        edge_attributes = edge_attributes.view(-1, edge_attributes.size(2))
        rows, columns = edges
        distance = torch.sum((loc[rows] - loc[columns])**2, 1).unsqueeze(1)
        edge_attributes = torch.cat([edge_attributes, distance], 1).detach()
        nodes = torch.sqrt(torch.sum(vel ** 2, dim=1)).unsqueeze(1).detach()
        found = model(nodes, loc.detach(), edges, vel, edge_attributes)
        return nn.MSELoss()(found, end)

    return Step(model, step), lambda: tuple(
        torch.randn(3, rows, columns)
        for rows, columns in ((5, 3), (5, 3), (20, 1), (5, 1), (5, 3)))


@repository("dauparas/ProteinMPNN",
            "8907e6671bfbfc92303b5f79c4b5e6ce47cdef57",
            "protein design", "ProteinMPNN", "draws the same numbers")
def protein_mpnn(code):
    code.use("training")
    import model_utils
    with_same_draws(model_utils)
    model = model_utils.ProteinMPNN(
        node_features=16, edge_features=16, hidden_dim=16, num_encoder_layers=2,
        num_decoder_layers=2, k_neighbors=6, dropout=0.0, augment_eps=0.0)

    def step(model, x, s, mask, chain_mask, residues, chain):
        log_probs = model(x, s, mask, chain_mask, residues, chain)
        return model_utils.loss_smoothed(s, log_probs, mask * chain_mask)[1]

    def data():
        mask = torch.ones(2, 12)
        mask[1, 10:] = 0
        return (torch.randn(2, 12, 4, 3) * 3, torch.randint(21, (2, 12)), mask,
                torch.ones(2, 12), torch.arange(12).repeat(2, 1),
                torch.ones(2, 12, dtype=torch.long))

    return Step(model, step), data


@repository("Diego999/pyGAT",
            "3664f2dc90cbf971564c0bf186dc794f12446d0c",
            "graph attention", "GAT")
def pygat(code):
    code.use()
    from models import GAT
    known = torch.LongTensor(range(6))

    def data():
        adjacency = torch.bernoulli(torch.full((10, 10), 0.3)) + torch.eye(10)
        return (torch.rand(10, 12), adjacency / adjacency.sum(1, keepdim=True),
                torch.randint(3, (10,)))

    return Step(GAT(12, 4, 3, 0.0, 0.2, 2), lambda model, x, adjacency, y:
                F.nll_loss(model(x, adjacency)[known], y[known]),
                samples_are_alike=False), data


@repository("PetarV-/DGI",
            "61baf67d7052905c77bdeb28c22926f04e182362",
            "graph representations",
            "deep graph infomax")
def dgi(code):
    code.use()
    from models.dgi import DGI

    def data():
        adjacency = torch.bernoulli(torch.full((2, 10, 10), 0.3)) + torch.eye(10)
        x = torch.rand(2, 10, 12)
        return (x, x[:, torch.randperm(10)],
                adjacency / adjacency.sum(2, keepdim=True),
                torch.cat([torch.ones(2, 10), torch.zeros(2, 10)], 1))

    return Step(DGI(12, 8, "prelu"), lambda model, x, shuffled, adjacency, y:
                nn.BCEWithLogitsLoss()(
                    model(x, shuffled, adjacency, False, None, None, None), y)), data


@repository("nnzhan/Graph-WaveNet",
            "6b162e80c59a1d494809252eca055cff93dc66b1",
            "traffic", "Graph WaveNet", "nn.Conv2d where the model gives "
            "nn.Conv1d four dimensions, which PyTorch once took")
def graph_wavenet(code):
    code.use()
    import model as repository_model
    import util
    repository_model.nn = Namespace(**{**vars(nn), "Conv1d": nn.Conv2d})
    adjacency = torch.softmax(torch.randn(6, 6), 1)
    model = repository_model.gwnet(
        "cpu", 6, dropout=0.0, supports=[adjacency, adjacency.T.contiguous()],
        in_dim=2, out_dim=12, residual_channels=8, dilation_channels=8,
        skip_channels=16, end_channels=16)
    scaler = util.StandardScaler(50.0, 10.0)

    def step(model, x, real):
        output = model(F.pad(x, (1, 0, 0, 0))).transpose(1, 3)
        return util.masked_mae(scaler.inverse_transform(output),
                               torch.unsqueeze(real, dim=1), 0.0)

    def data():
        real = torch.rand(2, 6, 12) * 60
        real[real < 5] = 0
        return torch.randn(2, 2, 6, 12), real

    return Step(model, step), data


@repository("yysijie/st-gcn",
            "221c0e152054b8da593774c0d483e59befdb9061",
            "skeletons", "ST-GCN")
def st_gcn(code):
    code.use()
    from net.st_gcn import Model
    model = Model(3, 5, dict(layout="openpose", strategy="spatial"), True)
    model.st_gcn_networks = model.st_gcn_networks[:3]
    model.edge_importance = model.edge_importance[:3]
    model.fcn = nn.Conv2d(64, 5, 1)
    return (Step(model, lambda model, x, y: nn.CrossEntropyLoss()(model(x), y)),
            lambda: (torch.randn(2, 3, 12, 18, 2), torch.randint(5, (2,))))


@repository("yanx27/Pointnet_Pointnet2_pytorch",
            "eb64fe0b4c24055559cea26299cb485dcb43d8dd",
            "point clouds", "PointNet++", "draws the same numbers")
def pointnet2(code):
    code.use("models")
    import pointnet2_cls_ssg
    import pointnet2_utils
    with_same_draws(pointnet2_utils)
    model = pointnet2_cls_ssg.get_model(5, normal_channel=True)
    layer = pointnet2_utils.PointNetSetAbstraction  # with fewer centroids
    model.sa1 = layer(8, 0.8, 6, 6, [8, 8, 16], False)
    model.sa2 = layer(4, 1.2, 4, 16 + 3, [16, 16, 32], False)
    model.sa3 = layer(None, None, None, 32 + 3, [32, 32, 1024], True)
    criterion = pointnet2_cls_ssg.get_loss()

    def step(model, points, target):
        return criterion(*model(points.transpose(2, 1))[:1], target.long(), None)

    return Step(without_dropout(model), step), lambda: (
        torch.randn(4, 24, 6), torch.randint(5, (4,)))


def behaviours():
    lengths = torch.randint(1, 6, (8, 1))
    history = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < lengths)
    return torch.cat([
        torch.randint(6, (8, 1)).float(), torch.randint(1, 9, (8, 1)).float(),
        torch.rand(8, 1), history.float(), lengths.float()],
        1), torch.randint(2, (8,)).float()


def click_loss(model, x, y):
    return (F.binary_cross_entropy(model(x).squeeze(), y, reduction="sum")
            + model.get_regularization_loss()).squeeze()


@repository("shenweichen/DeepCTR-Torch",
            "f6854257b1fc29caab655ce72c6b5528b7432574",
            "recommenders", "deep interest network")
def din(code):
    code.use()
    from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat
    from deepctr_torch.models.din import DIN
    columns = [SparseFeat("user", 6, embedding_dim=4),
               SparseFeat("item", 9, embedding_dim=4), DenseFeat("score", 1),
               VarLenSparseFeat(SparseFeat("hist_item", 9, embedding_dim=4,
                                           embedding_name="item"),
                                maxlen=5, length_name="seq_length")]
    return Step(DIN(columns, ["item"], dnn_hidden_units=(16, 8),
                    att_hidden_size=(8, 4), att_weight_normalization=True,
                    init_std=0.1), click_loss), behaviours


@repository("shenweichen/DeepCTR-Torch",
            "f6854257b1fc29caab655ce72c6b5528b7432574",
            "recommenders", "xDeepFM")
def xdeepfm(code):
    code.use()
    from deepctr_torch.inputs import DenseFeat, SparseFeat
    from deepctr_torch.models.xdeepfm import xDeepFM
    columns = [SparseFeat(f"C{i}", vocabulary_size=5 + i, embedding_dim=4)
               for i in range(3)] + [DenseFeat(f"I{i}", 1) for i in range(2)]

    def data():
        values = [torch.randint(5 + i, (8, 1)).float() for i in range(3)]
        return (torch.cat([*values, torch.rand(8, 2)], 1),
                torch.randint(2, (8,)).float())

    return Step(xDeepFM(columns, columns, dnn_hidden_units=(16, 8),
                        cin_layer_size=(8, 6), l2_reg_dnn=1e-4, l2_reg_cin=1e-4,
                        init_std=0.1, dnn_use_bn=True), click_loss), data


@repository("facebookresearch/dlrm",
            "090956ee2319ddd349a42232958aefccfe3f7b0a",
            "recommenders", "DLRM")
def dlrm(code):
    for name in ("torch.utils.tensorboard", "sklearn", "sklearn.metrics"):
        stand_in(name)
    code.use()
    import dlrm_s_pytorch
    sizes = (5, 7, 9)
    model = dlrm_s_pytorch.DLRM_Net(
        4, numpy.array(sizes), numpy.array([3, 8, 4]), numpy.array([10, 8, 1]),
        arch_interaction_op="dot", sigmoid_top=1, loss_function="bce")

    def step(model, x, offsets, indices, target):
        z = model(x, [offsets[0]] * 3,
                  [each.reshape(-1) for each in indices.transpose(0, 1)])
        return model.loss_fn(z, target)

    return Step(model, step), lambda: (
        torch.rand(4, 3), torch.arange(0, 8, 2).repeat(4, 1),
        torch.stack([torch.randint(size, (4, 2)) for size in sizes], 1),
        torch.randint(2, (4, 1)).float())


@repository("pranz24/pytorch-soft-actor-critic",
            "c1805660b3961694be54079a355155a5cad492f5",
            "reinforcement learning", "soft actor-critic, the policy's loss",
            "draws the same numbers")
def sac(code):
    code.use()
    from model import GaussianPolicy, QNetwork
    with_same_draws()
    model = nn.Module()
    model.policy, model.critic = GaussianPolicy(5, 2, 16), QNetwork(5, 2, 16)

    def step(model, state):
        action, log_probability, _ = model.policy.sample(state)
        q1, q2 = model.critic(state, action)
        return ((0.2 * log_probability) - torch.min(q1, q2)).mean()

    return Step(model, step), lambda: (torch.randn(8, 5),)


def agents_values(agent, observations):
    samples, steps = observations.shape[:2]
    hidden = agent.init_hidden().unsqueeze(0).expand(samples, 3, -1)
    values = []
    for step in range(steps):
        value, hidden = agent(
            observations[:, step].reshape(samples * 3, -1), hidden)
        values.append(value.view(samples, 3, -1))
    return torch.stack(values, dim=1)


def q_learning(m, observations, state, actions, available, reward, terminated,
               filled):
    """q_learner.py: double Q-learning over an episode."""
    actions, terminated = actions[:, :-1], terminated[:, :-1].float()
    mask = filled[:, :-1].float()
    mask[:, 1:] = mask[:, 1:] * (1 - terminated[:, :-1])
    values = agents_values(m.agent, observations)
    chosen = torch.gather(values[:, :-1], dim=3, index=actions).squeeze(3)
    target = agents_values(m.target_agent, observations)[:, 1:]
    target[available[:, 1:] == 0] = -9999999
    detached = values.clone().detach()
    detached[available == 0] = -9999999
    best = detached[:, 1:].max(dim=3, keepdim=True)[1]
    target = torch.gather(target, 3, best).squeeze(3)
    chosen = m.mixer(chosen, state[:, :-1])
    target = m.target_mixer(target, state[:, 1:])
    target = reward[:, :-1] + 0.99 * (1 - terminated) * target
    error = chosen - target.detach()
    mask = mask.expand_as(error)
    return ((error * mask) ** 2).sum() / mask.sum()


@repository("oxwhirl/pymarl",
            "c971afdceb34635d31b778021b0ef90d7af51e86",
            "reinforcement learning", "QMIX")
def qmix(code):
    code.use("src")
    code.package("modules", "src/modules")
    from modules.agents.rnn_agent import RNNAgent
    from modules.mixers.qmix import QMixer
    options = Namespace(n_agents=3, state_shape=6, mixing_embed_dim=8, n_actions=4,
                        hypernet_layers=2, hypernet_embed=8, rnn_hidden_dim=12)
    model = nn.Module()
    model.agent, model.mixer = RNNAgent(7, options), QMixer(options)
    model.target_agent = copy.deepcopy(model.agent).requires_grad_(False)
    model.target_mixer = copy.deepcopy(model.mixer).requires_grad_(False)

    def data():
        available = torch.randint(2, (2, 4, 3, 4))
        available[..., 0] = 1
        filled = torch.ones(2, 4, 1, dtype=torch.long)
        filled[1, 3:] = 0
        return (torch.randn(2, 4, 3, 7), torch.randn(2, 4, 6),
                torch.randint(4, (2, 4, 3, 1)), available, torch.randn(2, 4, 1),
                torch.randint(2, (2, 4, 1), dtype=torch.uint8), filled)

    return Step(model, q_learning), data


@repository("Kaixhin/Rainbow",
            "1745b184c3dfc03d4ffa3ce2342ced9996b39a60",
            "reinforcement learning",
            "Rainbow, distributional loss",
            "noise of the target network is drawn before the step")
def rainbow(code):
    networks = code.module("model.py")
    options = Namespace(atoms=11, architecture="data-efficient", history_length=4,
                        hidden_size=16, noisy_std=0.1)
    model = nn.Module()
    model.online = networks.DQN(options, 3)
    model.target = networks.DQN(options, 3).requires_grad_(False)
    low, high, atoms, samples = -10, 10, 11, 3
    support = torch.linspace(low, high, atoms)

    def projection(model, states, actions, returns, next_states, nonterminals):
        """agent.py: the target distribution on the support."""
        best = (support.expand(samples, 3, atoms)
                * model.online(next_states)).sum(2).argmax(1)
        p = model.target(next_states)[range(samples), best]
        z = (returns.unsqueeze(1)
             + nonterminals * (0.99 ** 3) * support.unsqueeze(0)).clamp(low, high)
        b = (z - low) / ((high - low) / (atoms - 1))
        lower, upper = b.floor().to(torch.int64), b.ceil().to(torch.int64)
        lower[(upper > 0) * (lower == upper)] -= 1
        upper[(lower < (atoms - 1)) * (lower == upper)] += 1
        m = states.new_zeros(samples, atoms)
        offset = torch.linspace(0, (samples - 1) * atoms, samples).unsqueeze(
            1).expand(samples, atoms).to(actions)
        m.view(-1).index_add_(0, (lower + offset).view(-1),
                              (p * (upper.float() - b)).view(-1))
        m.view(-1).index_add_(0, (upper + offset).view(-1),
                              (p * (b - lower.float())).view(-1))
        return m

    def step(model, states, actions, returns, next_states, nonterminals, weights):
        log_p = model.online(states, log=True)[range(samples), actions]
        with torch.no_grad():
            m = projection(model, states, actions, returns, next_states,
                           nonterminals)
        return (weights * -torch.sum(m * log_p, 1)).mean()

    return Step(model, step), lambda: (
        torch.rand(samples, 4, 84, 84), torch.randint(3, (samples,)),
        torch.randn(samples) * 4, torch.rand(samples, 4, 84, 84),
        torch.randint(2, (samples, 1)).float(), torch.rand(samples) + 0.1)


@repository("tkipf/c-swm",
            "e944b24bcaa42d9ee847f30163437a50f0237aa0",
            "world models",
            "contrastive structured world model",
            "a permutation that is always the same; the list of edges made before")
def c_swm(code):
    code.use()
    import modules
    modules.np = Namespace(
        array=numpy.array, prod=numpy.prod,
        random=Namespace(permutation=lambda n: numpy.arange(1, n + 1) % n))
    model = modules.ContrastiveSWM(2, (3, 10, 10), 16, 4, 3, encoder="medium")

    def data():
        return (torch.rand(4, 3, 10, 10), torch.randint(12, (4,)),
                torch.rand(4, 3, 10, 10))

    with torch.no_grad():
        model.contrastive_loss(*data())
    return Step(model, lambda model, *inputs: model.contrastive_loss(*inputs)), data


@repository("wouterkool/attention-learn-to-route",
            "c9abf41ac2f878a55b20dc7e829bc942bb999631",
            "combinatorial optimization", "attention model for travelling salesmen")
def learn_to_route(code):
    code.use()
    from nets.attention_model import AttentionModel
    from problems.tsp.problem_tsp import TSP
    model = AttentionModel(16, 16, TSP, n_encode_layers=1, n_heads=2)
    model.set_decode_type("greedy")

    def step(model, nodes, baseline):
        cost, log_likelihood = model(nodes)
        return ((cost - baseline) * log_likelihood).mean()

    return Step(model, step), lambda: (torch.rand(3, 6, 2), torch.rand(3))


@repository("huangtinglin/NGCF-PyTorch",
            "f4e7f6960cd8cd443d5537261d30b89cf52ed52d",
            "recommenders", "neural graph collaborative filtering")
def ngcf(code):
    code.use("NGCF")
    from NGCF import NGCF
    from scipy import sparse
    ratings = (numpy.random.default_rng(0).random((6, 8)) < 0.4).astype(numpy.float32)
    adjacency = numpy.eye(14)
    adjacency[:6, 6:], adjacency[6:, :6] = ratings, ratings.T
    adjacency /= adjacency.sum(1, keepdims=True)
    model = NGCF(6, 8, sparse.coo_matrix(adjacency), Namespace(
        device="cpu", embed_size=8, batch_size=4, node_dropout=[0.0],
        mess_dropout=[0.0, 0.0], layer_size="[8,8]", regs="[1e-5]"))
    return (Step(model, lambda model, *triples: model.create_bpr_loss(
        *model(*triples, drop_flag=False))[0]),
        lambda: tuple(torch.randint(n, (4,)) for n in (6, 8, 8)))
