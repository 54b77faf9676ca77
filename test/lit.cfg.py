# SPDX-License-Identifier: Apache-2.0
"""lit configuration of every *.mlir and *.test file below this folder.

ctest passes the build folder with `--param build=…`; by hand,
`lit-22 -v test/passes/Schedule` uses build/dev. Tools are found on PATH: ours
first, then LLVM 22's (FileCheck, not, split-file).
"""

import os
import shutil

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(root, lit_config.params.get("build", "build/dev"))
search_path = [
    os.path.join(build, "bin"),
    "/usr/lib/llvm-22/bin",
    os.environ["PATH"],
    "/usr/local/cuda/bin",
]

config.name = "shardc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "test", "lit")
config.environment["PATH"] = os.pathsep.join(search_path)

# %root names files of the repository, %models the committed PyTorch exports,
# %bin the folder of our tools.
config.substitutions.append(("%root", root))
config.substitutions.append(("%models", os.path.join(root, "test", "models")))
config.substitutions.append(("%bin", os.path.join(build, "bin")))
config.substitutions.append(("%python", "/usr/bin/python3"))
# "%exits 4 shardc …" wants exactly that exit status.
config.substitutions.append(
    ("%exits", "/usr/bin/python3 " + os.path.join(root, "test", "exits.py")))

# "%fake-cuda shardrun …" finds a driver and libraries of NVIDIA that are fakes,
# where the plug-in for CUDA was built.
fake_folder = os.path.join(build, "test", "fake_cuda", "lib")
config.substitutions.append(("%fake-folder", fake_folder))
config.substitutions.append(
    ("%fake-cuda", f"env LD_LIBRARY_PATH={fake_folder}"))
if os.path.isdir(fake_folder):
    config.available_features.add("fake-cuda")

# "%openmpi -n 2 shardrun …" starts processes, which may be more than cores, and
# root's.
for mpi in ("openmpi", "mpich"):
    plugin = os.path.join(build, "bin", f"libshardc-{mpi}.so")
    if os.path.exists(plugin) and shutil.which(f"mpirun.{mpi}"):
        config.available_features.add(mpi)
    config.substitutions.append((f"%{mpi}", f"mpirun.{mpi}"))
config.environment.update({
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
})

# ptxas assembles kernels, and libdevice has functions, where a CUDA toolkit is installed.
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")

# nvdisasm prints machine code; toolkits have it as a package of its own.
if shutil.which("nvdisasm", path=config.environment["PATH"]):
    config.available_features.add("nvdisasm")
