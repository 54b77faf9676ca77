#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the gradients of compiled operators with PyTorch's, in float64.

    export_gradients.py --shardc build/release/bin/shardc
                        --shardrun build/release/bin/shardrun
                        [--work FOLDER] [--pending] [--to-do FILE.txt]
                        [--write] [NAME…]

For every operator of PyTorch's OpInfo database that has a derivative: some of
its sample inputs (opinfo_samples.py), each exported, compiled, and trained for
one step, whose gradients and loss are compared. Prints a line an operator:

    agrees     every element is within 1e-10 of the largest
    WRONG      one is not: the worst follows
    internal   shardc or shardrun ended without a numbered error: a mistake
    refused    a numbered error of shardc, and what it names
    differs    not PyTorch's on purpose (DIFFERENT says why)
    no export  PyTorch does not export or differentiate the call
    random     the call draws numbers, which are not PyTorch's
    empty      no output is differentiable and has elements

Exports stay in --work: a run with newer tools takes minutes and no PyTorch.
--pending leaves out operators that agreed at the last run. --write stores the
samples that agree as fixtures (gradients/*.tar.xz, what check_gradients.py
reads) and the table docs/Derivatives.md. Exits with 1 when something
is WRONG or internal.
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import math
import pathlib
import re
import sys
import tempfile

import derivative_report
import trained_gradients

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

NUMBER = re.compile(r"error (E\d{4}): ")

@dataclasses.dataclass(frozen=True)
class Difference:
    """Calls whose gradients are not PyTorch's on purpose, and why. All other
    calls of the operator, and of these all other numbers, are compared."""
    calls: str  # matches the text of a sample
    why: str
    # {tensor: indices that differ, None for all}; what is not here agrees.
    elements: dict
    tolerance: float = trained_gradients.TOLERANCE  # of all other numbers

    def rest(self, gradients):
        """The numbers of {sample.tensor: numbers} that have to agree."""
        rest = {}
        for name, numbers in gradients.items():
            skipped = self.elements.get(name.partition(".")[2], ())
            if skipped is not None:
                rest[name] = [0.0 if index in skipped else number
                              for index, number in enumerate(numbers)]
        return rest


NAN_PASSES = "PyTorch passes the gradient of NaN on; of clamp it does not, " \
             "and this is one"
RADIUS = "at radius 0 PyTorch takes the sign of 0, which has no direction, " \
         "and an infinite one makes it NaN"
DIFFERENT = (
    Difference(r"as_strided_scatter\(",
               "PyTorch 2.15 passes on to self the gradient of elements that "
               "src replaced", {"p0": None}),
    Difference(r"nn\.functional\.hardsigmoid\(",
               "PyTorch computes with 1/6 in float32", {}, 1e-7),
    Difference(r"nn\.functional\.(hardtanh|relu6)\(\[6\]\) beyond them",
               NAN_PASSES, {"p0": {5}}),
    Difference(r"polar\(\[64\], \[64\]\) at points", RADIUS,
               {"p0": range(8)}),
    Difference(r"polar\(\[36\], \[36\]\) beyond them", RADIUS,
               {"p0": {*range(6), *range(18, 36)}, "p1": {19, 26}}),
    Difference(r"mvlgamma\.mvlgamma_p_\d\(\[16\], \d\) at points",
               "PyTorch adds 0 to -0, and the infinite slope has another sign",
               {"p0": {1}}),
    Difference(r"(digamma|polygamma\.polygamma_n_\d|special\.polygamma\.\S+)\(",
               "PyTorch's trigamma function is exact to 1e-9", {}, 1e-9))


@dataclasses.dataclass
class Outcome:
    """What became of one sample. `error` is relative to its largest gradient;
    `gaps` are the operators that a refusal names."""
    sample: str
    text: str
    outcome: str
    detail: str = ""
    error: float = 0.0
    gaps: list = dataclasses.field(default_factory=list)


#===-----------------------------------------------------------------------===#
# Exports, which need PyTorch
#===-----------------------------------------------------------------------===#


def cache_of(options):
    """The folder of the exports that this version of the samples makes."""
    content = (HERE / "opinfo_samples.py").read_bytes()
    folder = options.work / hashlib.sha256(content).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def export_sample(sample, folder):
    """Writes NAME.pt2 and NAME.json: its text and expected gradients, or why
    there are none."""
    import opinfo_samples

    def call():
        return opinfo_samples.Sum({sample.name: opinfo_samples.Call(sample)})

    record = {"text": sample.text()}
    try:
        loss, expected = opinfo_samples.gradients(call())
        if opinfo_samples.is_random(call):
            record["skipped"] = "random", "draws random numbers"
        else:
            opinfo_samples.export(call(), folder / f"{sample.name}.pt2")
            record["expected"] = {name: value.flatten().tolist()
                                  for name, value in expected.items()}
            record["expected"]["loss"] = [loss.item()]
    except opinfo_samples.Empty as error:
        record["skipped"] = "empty", str(error)
    except Exception as error:  # whatever an operator does under the tracer
        record["skipped"] = "no export", first_line(error)
    (folder / f"{sample.name}.json").write_text(json.dumps(record))


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def export_missing(names, cache):
    """Exports what the cache lacks; its operators.json lists all names."""
    index = cache / "operators.json"
    known = json.loads(index.read_text()) if index.exists() else {}
    if known and all(known.get(name) is not None for name in names or known):
        return known
    import opinfo_samples
    operators = opinfo_samples.operators()
    for name, op in operators.items():
        known.setdefault(name, None)
        if known[name] is not None or (names and name not in names):
            continue
        folder = cache / name
        folder.mkdir(exist_ok=True)
        print(f"exports {name}", file=sys.stderr, flush=True)
        try:
            chosen = opinfo_samples.samples(op)
        except Exception as error:  # a generator that needs more than is there
            print(f"{name} has no samples: {first_line(error)}", file=sys.stderr)
            chosen = []
        for sample in chosen:
            export_sample(sample, folder)
        known[name] = [sample.name for sample in chosen]
        index.write_text(json.dumps(known))
    return known


#===-----------------------------------------------------------------------===#
# Comparison
#===-----------------------------------------------------------------------===#


def refusal(error):
    """(outcome, detail, gaps) of a trained_gradients.Failed."""
    numbered = NUMBER.search(error.text)
    lines = [line.strip() for line in error.text.splitlines()]
    if not numbered or error.program != "shardc" or error.status == 70:
        text = next((line for line in lines if "error" in line.lower()),
                    lines[0] if lines else "")
        return "internal", f"{error.program} ends with {error.status}: {text}", []
    number = numbered[1]
    message = next(line for line in lines if number in line)
    message = message.partition(f"{number}: ")[2]
    if number == "E0130":
        gaps = re.findall(r"note: ([\w.]+): \d+ nodes?, first", error.text)
    elif number in ("E0221", "E0240"):
        gaps = [gap.strip() for gap in re.findall(
            r"(?:error E\d+: |note: )(.*?'aten\.\w+'.*?)"
            r"(?:, but a trainable.*| either.*)?$", error.text, re.MULTILINE)]
        gaps = [re.sub(r", in module '.*?'", "", gap) for gap in gaps]
    else:
        gaps = [message]
    return "refused", f"{number}: {message}", [f"{number} {gap}" for gap in gaps]


def compare(path, record, options):
    """The Outcome of one exported sample."""
    name, text, expected = path.stem, record["text"], record["expected"]
    with tempfile.TemporaryDirectory(prefix="shardc-gradients-") as folder:
        try:
            found = trained_gradients.train(
                options.shardc, options.shardrun, path, pathlib.Path(folder))
        except trained_gradients.Failed as error:
            outcome, detail, gaps = refusal(error)
            return Outcome(name, text, outcome, detail, gaps=gaps)
    return judge(name, text, found, expected)


def judge(name, text, found, expected, tolerance=trained_gradients.TOLERANCE,
          different=DIFFERENT):
    """The Outcome of a sample that was trained. Its loss may be expected, too."""
    (loss,) = expected.pop("loss", [math.nan])
    scale = trained_gradients.scale_of(expected)
    if math.isfinite(loss):
        expected = expected | {"loss": [loss]}
    error, detail = trained_gradients.worst(found, expected, scale)
    if error <= tolerance:
        return Outcome(name, text, "agrees", detail, error)
    for difference in different:
        if re.match(difference.calls, text):
            rest, _ = trained_gradients.worst(
                difference.rest(found), difference.rest(expected), scale)
            if rest <= max(difference.tolerance, tolerance):
                return Outcome(name, text, "differs", difference.why)
    return Outcome(name, text, "WRONG", detail, error)


def check_operator(names, folder, options):
    """The outcomes of an operator's samples; the folder has its name."""
    outcomes = []
    for name in names:
        record = json.loads((folder / f"{name}.json").read_text())
        if "skipped" in record:
            outcomes.append(Outcome(name, record["text"], *record["skipped"]))
        else:
            outcomes.append(compare(folder / f"{name}.pt2", record, options))
    return outcomes


def line_of(name, outcomes):
    counts = collections.Counter(each.outcome for each in outcomes)
    text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    others = [each for each in outcomes if each.outcome != "agrees"]
    detail = f"; {others[0].text}: {others[0].detail}" if others else ""
    return f"{name}: {text}{detail}"


def load(path):
    if not path.exists():
        return {}
    return {name: [Outcome(**each) for each in outcomes]
            for name, outcomes in json.loads(path.read_text()).items()}


def save(path, results):
    path.write_text(json.dumps({
        name: [dataclasses.asdict(each) for each in outcomes]
        for name, outcomes in results.items()}))


def is_settled(outcomes):
    """Whether nothing that shardc could do better is left."""
    return all(each.outcome in ("agrees", "differs", "no export", "random",
                                "empty")
               for each in outcomes)


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="operators, as OpInfo has them (default: all)")
    parser.add_argument("--shardc", required=True, type=pathlib.Path)
    parser.add_argument("--shardrun", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "gradients")
    parser.add_argument("--pending", action="store_true",
                        help="leave out what agreed at the last run")
    parser.add_argument("--to-do", type=pathlib.Path, metavar="FILE",
                        help="write what is wrong and what refuses, as text")
    parser.add_argument("--write", action="store_true",
                        help="write the fixtures and the table")
    options = parser.parse_args()
    for tool in ("shardc", "shardrun", "work"):
        setattr(options, tool, getattr(options, tool).resolve())
    return options


def main():
    options = options_of()
    cache = cache_of(options)
    known = export_missing(options.names, cache)
    if unknown := set(options.names) - set(known):
        sys.exit(f"export_gradients: no operator {', '.join(sorted(unknown))}")
    results = load(cache / "results.json")
    for name in options.names or known:
        if options.pending and name in results and is_settled(results[name]):
            continue
        results[name] = check_operator(known[name], cache / name, options)
        print(line_of(name, results[name]), flush=True)
        save(cache / "results.json", results)
        if options.to_do:
            options.to_do.write_text(derivative_report.to_do(results))
    if options.write:
        import gradient_fixtures
        gradient_fixtures.write(results)
        derivative_report.write(results)
    print(derivative_report.summary(results))
    mistakes = [each for outcomes in results.values() for each in outcomes
                if each.outcome in ("WRONG", "internal")]
    sys.exit(bool(mistakes))


if __name__ == "__main__":
    main()
