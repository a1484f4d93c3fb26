"""The CUDA devices for a process without torch: a line with their number and UUIDs, then for each the bytes that are
free and all that it has.

python -m adaptbert.runtime.cuda_memory
"""

from torch import cuda

if __name__ == "__main__":
    devices = range(cuda.device_count())
    print(len(devices), end=" ", flush=True)  # also where a device then says nothing
    print(*(cuda.get_device_properties(number).uuid for number in devices), flush=True)
    for number in devices:
        print(*cuda.mem_get_info(number))
