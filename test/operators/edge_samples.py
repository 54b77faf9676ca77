# SPDX-License-Identifier: Apache-2.0
"""Calls of operators at the edges of their functions, for export_edges.py.

Where functions are flat, clamped, infinite or undefined PyTorch's derivatives
have rules of their own, which no formula repeats by chance: zeros, ties,
saturation, reductions of nothing and of one element, infinities, NaN, both ends
of the dtype's range, broadcasting on every side. OpInfo's samples are elsewhere.

An entry is a function of tensors with its operands. Its samples are in float64
and in float32; values are compared element by element as gradients are.
"""

import dataclasses

import torch

import edge_losses
import edge_matrices
import edge_tables
import edge_training
import opinfo_samples
from edge_points import RANGES

TABLES = {"trained": edge_training.edges, "losses": edge_losses.edges,
          "rows": edge_tables.row_edges, "pairs": edge_tables.pair_edges,
          "points": edge_tables.point_edges,
          "distances": edge_tables.distance_edges,
          "indices": edge_tables.index_edges, "images": edge_tables.image_edges,
          "products": edge_tables.product_edges,
          "matrices": edge_matrices.edges}


@dataclasses.dataclass(frozen=True)
class Operator:
    """What opinfo_samples.Sample reads of an OpInfo."""
    full_name: str
    op: object


def dtype_name(sample):
    """As safetensors has it."""
    is_single = any(leaf.dtype == torch.float32
                    for leaf in sample.parameters())
    return "F32" if is_single else "F64"


def families():
    """{family: samples}: a table in one dtype, `edges_rows` or
    `edges_rows_float32`."""
    found = {}
    for table, edges in TABLES.items():
        for numbers in RANGES:
            family = f"edges_{table}"
            if numbers.dtype != opinfo_samples.DTYPE:
                family += f"_{str(numbers.dtype)[6:]}"
            found[family] = [
                opinfo_samples.Sample(
                    f"{opinfo_samples.module_name(name)}_{index}",
                    Operator(name, function), (tuple(operands), {}), note,
                    compares_values=True)
                for index, (name, note, function, operands)
                in enumerate(edges(numbers))]
    return found
