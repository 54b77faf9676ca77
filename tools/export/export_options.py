# SPDX-License-Identifier: Apache-2.0
"""The command line of shardc_export.py. It is parsed before PyTorch is imported,
which takes seconds and may not be installed. Standard library only."""

import argparse

LOSSES = ("cross_entropy", "mse")

def options_of(arguments=None):
    """The options in `arguments`; those of the process for None."""
    parser = argparse.ArgumentParser(
        prog="shardc_export",
        description="Exports a model, with its loss, as the .pt2 file that `shardc compile` "
                    "reads.",
        epilog="FACTORY() returns (module, example inputs).")
    parser.add_argument("factory", metavar="PACKAGE.MODULE:FACTORY",
                        help="function that builds the model and one micro-batch")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.pt2",
                        help="file to write")
    parser.add_argument("--inputs", metavar="FILE",
                        help="write the example inputs as safetensors")
    parser.add_argument("--loss", choices=LOSSES,
                        help="attach a loss; FACTORY then returns (input, targets) as "
                             "example inputs")
    parser.add_argument("--meta", action="store_true",
                        help="export the structure, without weights")
    parser.add_argument("--dynamic-batch", action="store_true",
                        help="make the batch dimension (the first) dynamic, for "
                             "--micro-batch N of shardc")
    parser.add_argument("--config-from-model", metavar="CONFIG.json",
                        help="write the model's fully_shard settings as a shardc "
                             "configuration, and export the unsharded model")
    parser.add_argument("--ranks", type=int, metavar="N",
                        help="call FACTORY as rank 0 of a fake process group of N "
                             "ranks")
    parser.add_argument("--unchecked", action="store_true",
                        help="skip the comparison of the export with the model; "
                             "for models too large to run here")
    parser.add_argument("--traceback", action="store_true",
                        help="show where in the model an export failed")
    options = parser.parse_args(arguments)
    if options.meta and options.inputs:
        parser.error("--inputs cannot be combined with --meta, which has no data")
    if options.ranks is not None and not options.config_from_model:
        parser.error("--ranks is for --config-from-model")
    if options.ranks is not None and options.ranks < 1:
        parser.error("--ranks must be at least 1")
    return options
