# SPDX-License-Identifier: Apache-2.0
"""What `gpu_check pack` compiles for a GPU, and `run` trains there.

A case is one artifact of a fixture: a model, an optimizer, a policy and a number
of virtual ranks. Its kind says what its numbers are held against:

    golden    PyTorch's numbers of test/models/golden, as check_parity.py does
    trained   PyTorch's numbers of test/models/regressions, as check_trained.py
    bits      none of its own: it must have the bits of other cases

Standard library only.
"""

import dataclasses
import json
import pathlib
import sys

TEST = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TEST / "parity"), str(TEST / "models")]
import check_trained  # noqa: E402
import golden  # noqa: E402
import run_parity  # noqa: E402

MODELS = TEST / "models"
DTYPES = ("f32", "bf16")
RANKS = (1, 2, 4, 8)
GOLDEN_MODELS = ("nanogpt", "resnet")
# The optimizers that N ranks are held with against one rank.
OPTIMIZERS = ("sgd", "adamw")


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    model: str
    param_dtype: str
    optimizer: str
    ranks: int

    @property
    def name(self):
        return f"{self.model}.{self.param_dtype}.{self.optimizer}.{self.ranks}"

    @property
    def artifact(self):
        return f"artifacts/{self.name}.shardc"

    def alone(self):
        """The name of the case that is the same on one rank."""
        return dataclasses.replace(self, ranks=1).name

    def archive(self):
        """The export that the case is compiled from."""
        folder = check_trained.FOLDER if self.kind == "trained" else MODELS
        return folder / f"{self.model}.pt2"

    def compile_flags(self):
        if self.kind == "trained":
            return [*check_trained.training(
                self.ranks, self.param_dtype, self.optimizer).compile_flags(),
                *self.document().get("flags", ())]
        return run_parity.compile_flags(self.golden(), self.optimizer,
                                        self.param_dtype)

    def document(self):
        """What regressions/MODEL.json holds."""
        return json.loads(
            (check_trained.FOLDER / f"{self.model}.json").read_text())

    def golden(self):
        return golden.Golden(MODELS / "golden" / f"{self.model}.json")


@dataclasses.dataclass(frozen=True)
class Benchmark:
    name: str
    unit: str  # tokens or images
    units: int  # of a step
    flops: float  # of a step: three times what forward's products take

    @property
    def artifact(self):
        return f"benchmarks/{self.name}.shardc"


def golden_cases():
    for model in GOLDEN_MODELS:
        runs = golden.Golden(
            MODELS / "golden" / f"{model}.json").document["runs"]
        for optimizer in OPTIMIZERS:
            for ranks in RANKS:
                kind = ("golden" if f"{optimizer}.{ranks}" in runs else "bits")
                for dtype in DTYPES:
                    yield Case(kind, model, dtype, optimizer, ranks)


def trained_cases():
    for path in sorted(check_trained.FOLDER.glob("*.json")):
        optimizer = json.loads(path.read_text()).get("optimizer", "sgd")
        for dtype in DTYPES:
            for ranks in check_trained.RANKS:
                yield Case("trained", path.stem, dtype, optimizer, ranks)


def all_cases():
    return [*golden_cases(), *trained_cases()]


def write_manifest(path, chips, cases, benchmarks):
    path.write_text(json.dumps({
        "chips": chips,
        "cases": [dataclasses.asdict(case) for case in cases],
        "benchmarks": [dataclasses.asdict(each) for each in benchmarks],
    }, indent=1) + "\n")


def read_manifest(path):
    """Returns (chips, cases, benchmarks)."""
    document = json.loads(path.read_text())
    return (document["chips"],
            [Case(**each) for each in document["cases"]],
            [Benchmark(**each) for each in document["benchmarks"]])
