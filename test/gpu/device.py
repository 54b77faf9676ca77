#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the CUDA driver about the first GPU, and measures how fast it copies.

    device.py          print {"name", "chip", "driver", "memory_bytes"}
    device.py --copy   print {"copy_bytes_per_second"}: read and written bytes of
                       copies of 1 GiB in its memory, the median of 20

A process of its own, so that nobody else has its context. Prints one line of
JSON, or what is missing and exits with 1. Standard library only.
"""

import ctypes
import json
import statistics
import sys

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
COPY_BYTES = 1 << 30
COPIES = 20


class Driver:

    def __init__(self):
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            sys.exit("no driver: libcuda.so.1 cannot be opened")
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)

    def call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(text))
            sys.exit(f"{name}: {(text.value or b'unknown error').decode()} "
                     f"({status})")

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number,
                  self.device)
        return value.value

    def make(self, name, *arguments):
        """A handle or address that a function of the driver returns."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle


def describe(driver):
    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGetName", name, 256, driver.device)
    total = ctypes.c_size_t()
    driver.call("cuDeviceTotalMem_v2", ctypes.byref(total), driver.device)
    version = ctypes.c_int()
    driver.call("cuDriverGetVersion", ctypes.byref(version))
    return {"name": name.value.decode(),
            "chip": f"sm_{driver.attribute(MAJOR)}{driver.attribute(MINOR)}",
            "driver": f"CUDA {version.value // 1000}."
                      f"{version.value % 1000 // 10}",
            "memory_bytes": total.value}


def copy_rate(driver):
    driver.call("cuCtxSetCurrent",
                driver.make("cuDevicePrimaryCtxRetain", driver.device))
    size = ctypes.c_size_t(COPY_BYTES)
    source, target = (driver.make("cuMemAlloc_v2", size) for _ in range(2))
    driver.call("cuMemsetD32_v2", source, 0x3f9df3b6, COPY_BYTES // 4)
    begin, end = (driver.make("cuEventCreate", 0) for _ in range(2))
    milliseconds = []
    for _ in range(COPIES + 3):
        driver.call("cuEventRecord", begin, None)
        driver.call("cuMemcpyDtoDAsync_v2", target, source, size, None)
        driver.call("cuEventRecord", end, None)
        driver.call("cuEventSynchronize", end)
        elapsed = ctypes.c_float()
        driver.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        milliseconds.append(elapsed.value)
    seconds = statistics.median(milliseconds[3:]) / 1e3
    return {"copy_bytes_per_second": 2 * COPY_BYTES / seconds}


def main():
    function = copy_rate if sys.argv[1:] == ["--copy"] else describe
    print(json.dumps(function(Driver())))


if __name__ == "__main__":
    main()
