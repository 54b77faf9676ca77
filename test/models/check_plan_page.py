#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of `shardc plan --html` in headless Chromium.

    check_plan_page.py --shardc BIN [--chromium BIN] [--screenshots FOLDER]

A page of nanoGPT with auto, and one of a sweep over micro-batches. Each is drawn as it is, with 1,000 and 100,000 events, with every section and with none of the
optional ones. Each time there are no JavaScript errors, the headline numbers are those of the JSON,
every group is in a row, the sections are those with data, and nothing scrolls sideways in windows
of 1,280 and 400 pixels. Exit code 77 if there is no Chromium.
"""

import argparse
import copy
import html.parser
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
UNITS = {"": 1, "%": 0.01, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
COLUMNS = ["begin", "duration", "stream", "name", "module", "kind", "section", "micro_batch"]
MODELS = pathlib.Path(__file__).resolve().parent
WIDTH = """<script>
  document.documentElement.dataset.overflow =
    document.documentElement.scrollWidth - document.documentElement.clientWidth;
</script>"""


class Page(html.parser.HTMLParser):
    """What the checks need of a drawn page."""

    def __init__(self, text):
        super().__init__()
        self.root, self.facts, self.groups, self.ids, self.fact = {}, {}, [], set(), None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.fact = attributes.get("data-fact")
        if tag == "html":
            self.root = attributes
        if "data-groups" in attributes:
            self.groups.append(int(attributes["data-groups"]))

    def handle_data(self, text):
        if self.fact:
            self.facts[self.fact] = text
            self.fact = None


def quantity(text):
    """The value of a number with narrow spaces between thousands, and a unit."""
    number, _, unit = text.replace("\u202f", "").partition("\u00a0")
    return float(number) * UNITS[unit]


def headline_numbers(plan):
    """The numbers that a page starts with, by their paths in the plan."""
    ranks = math.prod(plan["mesh"].values())
    numbers = {"units_per_second_of_rank": plan["time"]["units_per_second"] / ranks}
    for path in ("memory.bytes", "memory.capacity", "time.seconds", "time.units_per_second",
                 "time.mfu", "time.hfu"):
        member, name = path.split(".")
        numbers[path] = plan[member][name]
    return numbers


def folded_groups(groups):
    """How many groups each row stands for."""
    counts, last = [], None
    for group in groups:
        key = {name: value for name, value in group.items() if name != "exposed_seconds"}
        key["name"] = re.sub(r"\d+", "*", key["name"])
        if key == last:
            counts[-1] += 1
        else:
            counts.append(1)
        last = key
    return counts


def expected_sections(data):
    """Which optional sections a page has."""
    return {"usage": bool(data["memory"] and data["memory"]["times"]),
            "timeline": bool(data["timeline"] and data["timeline"]["begin"]),
            "groups": bool(data["plan"]["groups"]),
            "alternatives": bool(data["alternatives"] or "auto" in data["plan"]),
            "sweep": bool(data["sweep"])}


def repeated(data, count):
    """The data with its step repeated until the timeline has `count` events."""
    data = copy.deepcopy(data)
    timeline, memory = data["timeline"], data["memory"]
    events = len(timeline["begin"])
    end = max(map(sum, zip(timeline["begin"], timeline["duration"])))
    times = -(-count // events)

    def columns(table, name, shift):
        table[name] = [value + step * shift for step in range(times) for value in table[name]]

    for name in COLUMNS:
        columns(timeline, name, end if name == "begin" else 0)
        del timeline[name][count:]
    columns(memory, "times", end)
    columns(memory, "modules", 0)
    memory["bytes"] = [values * times for values in memory["bytes"]]
    time = data["plan"]["time"]
    time["seconds"] *= times
    time["parts"] = {name: seconds * times for name, seconds in time["parts"].items()}
    return data


def with_every_section(data):
    """The data with alternatives and a sweep."""
    data = copy.deepcopy(data)
    plan = data["plan"]
    seconds, size = plan["time"]["seconds"], plan["memory"]["bytes"]
    data["alternatives"] = [
        {"plan": f"plan {i}", "seconds": seconds * (1.2 - 0.1 * i),
         "bytes": size * (8 + i) // 10, "fits": i < 3} for i in range(4)]
    axes = [{"option": "world-size", "values": ["8", "16"]},
            {"option": "param-dtype", "values": ["bf16", "f32"]},
            {"option": "recompute", "values": ["none", "full"]}]
    cells = [{"values": [world, dtype, recompute], "seconds": seconds, "bytes": size,
              "fits": dtype == "bf16", "units_per_second_of_rank": 1000 + int(world), "mfu": 0.5}
             for world in axes[0]["values"] for dtype in axes[1]["values"]
             for recompute in axes[2]["values"]]
    cells[-1] = {"values": cells[-1]["values"], "error": "the batch is not divisible <by 16>"}
    data["sweep"] = {"axes": axes, "cells": cells}
    return data


def without_sections(data):
    """The data of a page with none of the optional sections."""
    data = copy.deepcopy(data)
    data["plan"].pop("auto", None)
    data["plan"]["groups"] = []
    for name in COLUMNS:
        data["timeline"][name] = []
    data["memory"].update(times=[], modules=[], bytes=[[] for _ in data["memory"]["purposes"]])
    return {**data, "alternatives": [], "sweep": None}


def run_chromium(options, arguments):
    return subprocess.run(
        [options.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=180, check=True,
        encoding="utf-8").stdout


def check(options, folder, name, page, data):
    """The violations of a page with the data, at two widths."""
    text = json.dumps(data).replace("<", "\\u003c")
    file = folder / f"{name}.html"
    file.write_text(DATA.sub(lambda match: match[1] + text + match[3], page)
                    .replace("</body>", WIDTH + "</body>"), encoding="utf-8")
    found = []
    for width in (1280, 400):
        size = f"--window-size={width},3000"
        drawn = Page(run_chromium(options, [size, "--dump-dom", file.as_uri()]))
        found += [f"{width} pixels: {message}" for message in violations(drawn, data)]
        print(f"{name}, {width} pixels: drawn in {drawn.root.get('data-draw-ms')} ms")
        if options.screenshots:
            image = options.screenshots.resolve() / f"{name}-{width}.png"
            run_chromium(options, [size, f"--screenshot={image}", file.as_uri()])
    return [f"{name}, {message}" for message in found]


def violations(drawn, data):
    if drawn.root.get("data-ready") != "true" or "data-errors" in drawn.root:
        yield f"not drawn: {drawn.root.get('data-errors', 'no error was reported').strip()}"
        return
    for path, number in headline_numbers(data["plan"]).items():
        if path not in drawn.facts:
            yield f"{path} is missing"
        elif not math.isclose(quantity(drawn.facts[path]), number, rel_tol=0.006, abs_tol=1e-6):
            yield f"{path} is {drawn.facts[path]}, expected {number}"
    if drawn.groups != folded_groups(data["plan"]["groups"]):
        yield f"rows of {drawn.groups} groups, expected {folded_groups(data['plan']['groups'])}"
    for section, expected in expected_sections(data).items():
        if (section in drawn.ids) != expected:
            yield f"section {section} is {'missing' if expected else 'not expected'}"
    if int(drawn.root["data-overflow"]) > 0:
        yield f"{drawn.root['data-overflow']} pixels wider than the window"


def write_page(options, folder, model, words):
    """The text of a page, and what else the command prints."""
    path = folder / "plan.html"
    done = subprocess.run(
        [options.shardc, "plan", MODELS / model, "--machine", "h100-sxm", "--world-size", "8",
         "--html", path, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        encoding="utf-8")
    return path.read_text(encoding="utf-8"), done.stdout


def check_all(options, folder, page):
    """The violations of a page with its own data and with others."""
    data = json.loads(DATA.search(page)[2])
    found = []
    for name, case in (
            ("as it is", data), ("1,000 events", repeated(data, 1000)),
            ("100,000 events", repeated(data, 100000)),
            ("every section", with_every_section(data)),
            ("no optional section", without_sections(data))):
        found += check(options, folder, name, page, case)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shardc", type=pathlib.Path, required=True)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for images of the pages")
    options = parser.parse_args()
    if not options.chromium:
        print("skipped: chromium is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page, plan = write_page(options, folder, "nanogpt.pt2", [
            "--reshard", "auto", "--recompute", "auto", "--json"])
        found = check_all(options, folder, page)
        if json.loads(DATA.search(page)[2])["plan"] != json.loads(plan):
            found.append("the plan in the page is not the one of --json")
        page, _ = write_page(options, folder, "dynamic-batch.pt2", [
            "--sweep", "micro-batch=2,64", "recompute=none,full"])
        data = json.loads(DATA.search(page)[2])
        if len(data["sweep"]["cells"]) != 4:
            found.append(f"a sweep of four cells has {len(data['sweep']['cells'])}")
        found += check(options, folder, "sweep", page, data)
    for message in found:
        print(f"error: {message}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
